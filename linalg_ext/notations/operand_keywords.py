"""The keywords of a call that say how operands are given: `broadcast_x=[1]`, `map_b=...`.

An operand is meant by its own name (`lhs`, `A`, in any case) or by its position among the inputs,
then the outputs, as a letter: a, b, c, ... or x, y, z.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.calls import Shape, resolve_shapes
from linalg_ext.definition.model import OpDefinition, Operand
from linalg_ext.definition.operand_maps import (
    Indices,
    Sugar,
    apply_map,
    apply_sugar,
    fits,
    natural_indices,
    with_indices_of,
)
from linalg_ext.definition.shapes import Shapes, Symbols
from linalg_ext.definition.specialization import at_rank
from linalg_ext.errors import ArgumentError, ArityError, ShapeError, counted
from linalg_ext.notations.affine_text import affine_map
from linalg_ext.symbolic.affine import AffineMap

MAP_WORDS: Mapping[str, str] = {
    "broadcast": "broadcast",
    "permutation": "permutation",
    "permute": "permutation",
    "transpose": "transpose",
    "map": "map",
}
"""The prefix of a keyword, before `_` and the operand, and the mapping that it stands for."""

_EXCLUSIVE = (
    ("map", "permutation"),
    ("map", "broadcast"),
    ("map", "transpose"),
    ("permutation", "transpose"),
)

OperandMaps = dict[str, dict[str, Any]]
"""The mappings that a call gives for each operand, by name: `{"A": {"permutation": [1, 0]}}`."""


def take_operand_maps(definition: OpDefinition, keywords: dict[str, Any]) -> OperandMaps:
    """Take the maps of its operands out of a call's keywords.

    Raises:
        ArityError: it names an operand that the op does not have.
        ArgumentError: it says one thing twice, or a map and sugar of one operand.
    """
    attributes = {operand.name for operand in definition.attributes}
    operand_maps: OperandMaps = {}
    for keyword in list(keywords):
        word, _, name = keyword.partition("_")
        if word not in MAP_WORDS or not name or keyword in attributes:
            continue
        value = keywords.pop(keyword)
        if value is None:
            continue
        operand = _operand(definition, keyword, name)
        of_operand = operand_maps.setdefault(operand.name, {})
        meaning = MAP_WORDS[word]
        if meaning in of_operand:
            raise ArgumentError(
                f"{definition.name}: the {meaning} of {operand.name} is given twice"
            )
        of_operand[meaning] = value
    for name, maps in operand_maps.items():
        for first, second in _EXCLUSIVE:
            if first in maps and second in maps:
                raise ArgumentError(
                    f"{definition.name}: both the {first} and the {second} of {name} are given",
                    expected="one of them",
                )
    return operand_maps


def with_operand_maps(
    definition: OpDefinition, operand_maps: OperandMaps, ranks: Mapping[str, int]
) -> OpDefinition:
    """The definition of an op whose operands are given as a call says.

    Args:
        operand_maps: the maps that `take_operand_maps` found.
        ranks: the rank of each tensor that the call gives.

    Raises:
        ArgumentError: a permutation, a broadcast or a map does not fit its operand.
    """
    if not operand_maps:
        return definition
    plain: dict[str, Indices] = {}
    if definition.is_rank_polymorphic:
        definition = at_rank(definition, _iteration_rank(definition, operand_maps, ranks))
        # Tensors of rank 0 are read at every point, as they are without maps.
        plain = {
            o.name: ()
            for o in definition.inputs
            if o.kind.is_tensor and ranks.get(o.name) == 0 and o.name not in operand_maps
        }
    indices = {
        name: _indices(definition, definition.operand(name), maps)
        for name, maps in operand_maps.items()
    }
    return with_indices_of(definition, {**plain, **indices})


@contextmanager
def inverses_named(
    definition: OpDefinition, operand_maps: OperandMaps, shapes: Shapes, symbols: Symbols
) -> Iterator[None]:
    """Suggest an inverse in a `ShapeError` where the shapes fit the inverse of a given map.

    Args:
        definition: the op without those maps.
        operand_maps: the mappings that the call gives.
    """
    try:
        yield
    except ShapeError as error:
        if operand_maps:
            error.hint = _inverse(definition, operand_maps, shapes, symbols) or error.hint
        raise


def mapped_shapes(
    definition: OpDefinition,
    operand_maps: OperandMaps,
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    attributes: CallAttributes,
) -> tuple[OpDefinition, dict[str, Shape]]:
    """Return the definition of a call with its maps, and the shape of each tensor operand.

    Args:
        operand_maps: the maps that `take_operand_maps` found.
        inputs, outputs, attributes: as of `resolve_shapes`.

    Raises:
        ArgumentError: as of `with_operand_maps` and `resolve_shapes`.
    """
    shapes = {**inputs, **outputs}
    ranks = {name: len(shape) for name, shape in shapes.items()}
    mapped = with_operand_maps(definition, operand_maps, ranks)
    with inverses_named(definition, operand_maps, shapes, attributes.symbols):
        return mapped, resolve_shapes(mapped, inputs, outputs, attributes)


def _inverse(
    definition: OpDefinition, operand_maps: OperandMaps, shapes: Shapes, symbols: Symbols
) -> str | None:
    if definition.is_rank_polymorphic:
        ranks = {name: len(shape) for name, shape in shapes.items()}
        definition = at_rank(definition, _iteration_rank(definition, operand_maps, ranks))
    indices = {
        name: _indices(definition, definition.operand(name), maps)
        for name, maps in operand_maps.items()
    }
    for name, maps in operand_maps.items():
        natural = natural_indices(definition, definition.operand(name))
        if sorted(map(str, indices[name])) != sorted(map(str, natural)):
            continue
        places = [natural.index(index) for index in indices[name]]
        inverse = tuple(natural[places.index(dim)] for dim in range(len(places)))
        if inverse != indices[name] and fits(
            definition, {**indices, name: inverse}, shapes, symbols
        ):
            word = "map" if "map" in maps else "permutation"
            if word == "map":
                value = str(AffineMap(definition.dims, (), inverse)).removeprefix("affine_map")[
                    1:-1
                ]
            else:
                value = str([inverse.index(index) for index in natural])
            return (
                f"{word}_{name} is the inverse of the permutation that fits: say "
                f"{word}_{name} = {value}"
            )
    return None


def operand_maps_key(definition: OpDefinition) -> tuple[object, ...]:
    """Return a hashable key of a definition that `with_operand_maps` made of an op."""
    return tuple(definition.accesses.values())


def _indices(definition: OpDefinition, operand: Operand, maps: Mapping[str, Any]) -> Indices:
    natural = natural_indices(definition, operand)
    subject = f"{definition.name}: {operand.name}"
    if "map" in maps:
        return apply_map(definition.dims, natural, _map(maps["map"], subject), subject)
    broadcast = _integers(maps.get("broadcast", ()), f"{subject}: broadcast")
    if "transpose" in maps:
        permutation = _reversed(maps["transpose"], len(natural) - len(broadcast), subject)
    else:
        permutation = _integers(maps.get("permutation", ()), f"{subject}: permutation")
        if "permutation" in maps and not permutation and len(natural) > len(broadcast):
            raise ArgumentError(
                f"{subject}: permutation = [] is not a permutation of its "
                f"{counted(len(natural) - len(broadcast), 'dimension')}",
                hint=f"leave it out where nothing is transposed: no permutation_{operand.name}",
            )
    return apply_sugar(natural, Sugar(permutation, broadcast), subject)


def _reversed(transpose: object, rank: int, subject: str) -> tuple[int, ...]:
    if not isinstance(transpose, bool):
        raise ArgumentError(f"{subject}: transpose = {transpose!r}", expected="True or False")
    if not transpose:
        return ()
    if rank != 2:
        raise ArgumentError(
            f"{subject}: transpose says nothing of {counted(rank, 'dimension')}",
            expected="a matrix",
            hint=f"say the permutation, as in permutation = {list(reversed(range(rank)))}",
        )
    return (1, 0)


def _map(value: object, subject: str) -> AffineMap:
    if isinstance(value, (list, tuple)) and all(isinstance(dim, int) for dim in value):
        raise ArgumentError(
            f"{subject}: map = {list(value)!r}",
            expected="an affine map, as in '(d0, d1) -> (d1)'",
            hint=f"for a transpose say permutation = {list(value)}",
        )
    return affine_map(value)


def _integers(value: object, subject: str) -> tuple[int, ...]:
    items: list[Any] = list(value) if isinstance(value, Iterable) else [value]
    if not all(hasattr(item, "__index__") and not isinstance(item, bool) for item in items):
        raise ArgumentError(f"{subject} = {value!r}", expected="a list of integers, as in [1, 0]")
    return tuple(item.__index__() for item in items)


def _iteration_rank(
    definition: OpDefinition, operand_maps: OperandMaps, ranks: Mapping[str, int]
) -> int:
    """The rank of the iteration space of an element-wise op, from its operands and their maps."""
    loop_ranks: dict[str, int] = {}
    for operand in (*definition.outputs, *definition.inputs):
        maps = operand_maps.get(operand.name, {})
        if "map" in maps:
            loop_ranks[operand.name] = len(_map(maps["map"], operand.name).dims)
        elif operand.name in ranks and (ranks[operand.name] or "broadcast" in maps):
            added = _integers(maps.get("broadcast", ()), "broadcast")
            loop_ranks[operand.name] = ranks[operand.name] + len(added)
    if not loop_ranks:
        return 0
    (first, rank), *rest = loop_ranks.items()
    for name, other in rest:
        if other != rank:
            narrow = first if rank < other else name
            raise ArgumentError(
                f"{definition.name}: as they are given, {first} spans "
                f"{counted(rank, 'dimension')}, but "
                f"{name} spans {other}",
                expected="operands of one rank: nothing is broadcast unless said",
                hint=f"say which {counted(abs(other - rank), 'dimension')} {narrow} lacks: "
                f"broadcast_{narrow}=[...]",
            )
    return rank


def _operand(definition: OpDefinition, keyword: str, name: str) -> Operand:
    operands = [*definition.inputs, *definition.outputs]
    for operand in operands:
        if operand.name == name:
            return operand
    for operand in operands:
        if operand.name.lower() == name.lower():
            return operand
    for letters in ("abcdefghijklmnopqrstuvwxyz", "xyz"):
        if len(name) == 1 and name in letters and letters.index(name) < len(operands):
            return operands[letters.index(name)]
    names = [operand.name for operand in operands]
    near = difflib.get_close_matches(name, names, 1)
    raise ArityError(
        f"{definition.name} has no operand {name!r}, which {keyword}= is about",
        expected=f"one of {', '.join(names)}, or a letter for its position",
        hint=f"did you mean {near[0]}?" if near else None,
    )
