"""Indexing maps of live ops: read, judged, and changed.

Some of upstream's structured ops carry their maps as an attribute. Which maps each of them takes is
said here, because asking its verifier is not safe: for some maps it ends the process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.model import IteratorType
from linalg_ext.ir.diagnostics import collected
from linalg_ext.notations.affine_text import parse_affine_map
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured.operands import copy_regions, to_ir_map
from linalg_ext.symbolic.affine import AffineDim, AffineMap

INDEXING_MAPS = "indexing_maps"


def has_payload(op: ir.Operation) -> bool:
    """Return whether an op is one of linalg's with a body that computes an element."""
    if not op.name.startswith("linalg.") or len(op.regions) != 1 or not len(op.regions[0].blocks):
        return False
    body = op.regions[0].blocks[0].operations
    return len(body) > 0 and body[len(body) - 1].operation.name == "linalg.yield"


def split_operands(op: ir.Operation) -> tuple[list[ir.Value], list[ir.Value]]:
    """The inputs and the destinations of a structured op."""
    values = list(op.operands)
    if op.name in extension_ops.NAMES:
        return values[:-1], values[-1:]
    body = op.regions[0].blocks[0].operations
    inputs = len(values) - len(body[len(body) - 1].operation.operands)
    return values[:inputs], values[inputs:]


def indexing_maps(op: ir.Operation) -> list[AffineMap]:
    """The map from the iteration space to each operand of a structured op, dimensions d0, d1, ...

    Raises:
        ArgumentError: an op of ours has attributes that say no maps.
    """
    if op.name in extension_ops.NAMES:
        return extension_ops.indexing_maps(op)
    return [parse_affine_map(str(map)) for map in linalg.get_indexing_maps(op) or ()]


def iterator_types(
    op: ir.Operation, maps: Sequence[AffineMap], outputs: Sequence[AffineMap]
) -> tuple[IteratorType, ...]:
    """The type of each loop, as a generic states it; else loops in no map of an output reduce."""
    if "iterator_types" in op.attributes:
        return tuple(
            IteratorType.PARALLEL if "<parallel>" in str(kind) else IteratorType.REDUCTION
            for kind in ir.ArrayAttr(op.attributes["iterator_types"])
        )
    written = {dim for map in outputs for index in map.results for dim in index.dims}
    return tuple(
        IteratorType.PARALLEL if dim in written else IteratorType.REDUCTION for dim in maps[0].dims
    )


def iterators_attribute(kinds: Iterable[str]) -> ir.ArrayAttr:
    """`iterator_types` of a generic."""
    return ir.ArrayAttr.get(
        [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]
    )


def holds_maps(op_name: str) -> bool:
    """Return whether ops of this name say their maps by an attribute."""
    return op_name in _REFUSALS


def refusal(op_name: str, maps: Sequence[AffineMap]) -> str | None:
    """Why an op cannot hold maps; None where it can.

    Args:
        op_name: `"linalg.matmul"`, ...
        maps: one for each operand, the destinations last, all of one iteration space.
    """
    if op_name not in _REFUSALS:
        return f"{op_name} has no maps of its own"
    return _REFUSALS[op_name](maps)


def rebuilt(
    op: ir.Operation,
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    maps: Sequence[AffineMap],
    changed: Mapping[str, ir.Attribute] | None = None,
) -> ir.Operation | None:
    """The same op on other operands and with other maps, at the current insertion point.

    Attributes (the discardable ones too) but those that are `changed`, location and body stay; the
    results are of the types of the destinations. The old op is left as it is, for the caller to
    replace.

    Returns:
        The new op; None, and nothing built, where `refusal` or the op's verifier says no.
    """
    if refusal(op.name, maps) is not None:
        return None
    attributes = {
        name: attribute
        for name, attribute in op.attributes.items()
        if name not in extension_ops.sugar_attributes(op) or op.name not in extension_ops.NAMES
    }
    attributes[INDEXING_MAPS] = maps_attribute(maps)
    attributes.update(changed or {})
    new = ir.Operation.create(
        op.name,
        results=[v.type for v in outputs if isinstance(v.type, ir.RankedTensorType)],
        operands=[*inputs, *outputs],
        attributes=attributes,
        regions=len(op.regions),
        loc=op.location,
    )
    copy_regions(op, new)
    return new if is_valid_or_erased(new) else None


def maps_attribute(maps: Sequence[AffineMap]) -> ir.ArrayAttr:
    """`indexing_maps` of an op."""
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(to_ir_map(map)) for map in maps])


def is_valid(op: ir.Operation) -> bool:
    """Return whether an op keeps its own rules; its diagnostics about them are not shown."""
    with collected(op.context):
        try:
            return bool(op.verify())
        except ir.MLIRError:
            return False


def is_valid_or_erased(op: ir.Operation) -> bool:
    """Return whether an op that was just built keeps its rules; erase it where it does not."""
    if is_valid(op):
        return True
    op.erase()
    return False


def _positions(map: AffineMap) -> tuple[int, ...] | None:
    """The positions of the dimensions that a map lists; None if it has other indices."""
    positions = []
    for result in map.results:
        if not isinstance(result, AffineDim):
            return None
        positions.append(map.dims.index(result.name))
    return tuple(positions)


def _generic(maps: Sequence[AffineMap]) -> str | None:
    covered = {dim for map in maps for index in map.results for dim in index.dims}
    missing = [dim for dim in maps[0].dims if dim not in covered]
    return f"dimension {missing[0]} would index no operand" if missing else None


def _elementwise(maps: Sequence[AffineMap]) -> str | None:
    if not all(map.is_projected_permutation for map in maps):
        return "the maps of linalg.elementwise list dimensions, each once"
    if len(maps[-1].results) != len(maps[-1].dims):
        return "linalg.elementwise has no reductions"
    return None


def _contract(maps: Sequence[AffineMap]) -> str | None:
    if not all(map.is_projected_permutation for map in maps):
        return "the maps of linalg.contract list dimensions, each once"
    lhs, rhs, result = (frozenset(map.results) for map in maps)
    if not (lhs & rhs) - result:
        return "linalg.contract needs a dimension that both inputs have and the result has not"
    if (lhs ^ rhs) - result:
        return "linalg.contract has no dimension of one input alone"
    if result - (lhs | rhs):
        return "linalg.contract has no dimension of the result alone"
    return None


def _one_of(*allowed: str) -> Callable[[Sequence[AffineMap]], str | None]:
    """A rule from the maps that each operand may have, over dimensions 0, 1, ...: `"02 20"`."""
    choices = [{tuple(map(int, word)) for word in words.split()} for words in allowed]

    def rule(maps: Sequence[AffineMap]) -> str | None:
        for position, (map, choice) in enumerate(zip(maps, choices, strict=True)):
            if _positions(map) not in choice:
                return f"the op allows no map {map} for operand {position}"
        return _generic(maps)

    return rule


def _extension(maps: Sequence[AffineMap]) -> str | None:
    if not maps[-1].is_projected_permutation:
        return "the map of the destination lists dimensions, each once"
    return _generic(maps)


_REFUSALS: Mapping[str, Callable[[Sequence[AffineMap]], str | None]] = {
    "linalg.generic": _generic,
    "linalg.elementwise": _elementwise,
    "linalg.contract": _contract,
    "linalg.matmul": _one_of("02 20 2", "21 12 2", "01 10"),
    "linalg.batch_matmul": _one_of("013 031 13 3 03", "032 023 32 3 03", "012"),
    "linalg.batch_reduce_matmul": _one_of("013 031 13 3 03", "032 023 32 3 03", "12"),
    "linalg_ext.contract": _extension,
    "linalg_ext.elementwise": _extension,
}
"""For each op that carries its maps, its function that refuses wrong ones."""


def groups_of(reshape: ir.Operation) -> list[list[int]]:
    """The axes of each group of an op such as `tensor.collapse_shape`, outermost first."""
    groups = ir.ArrayAttr(reshape.attributes["reassociation"])
    return [[ir.IntegerAttr(axis).value for axis in ir.ArrayAttr(group)] for group in groups]


def collapsed_shape(type_: ir.Type, groups: Sequence[Sequence[int]]) -> list[int]:
    """The sizes of a shaped type with one axis for each group; open where one of its axes is."""
    shape, dynamic = ir.ShapedType(type_), ir.ShapedType.get_dynamic_size()
    return [
        dynamic
        if any(shape.is_dynamic_dim(axis) for axis in group)
        else math.prod(shape.get_dim_size(axis) for axis in group)
        for group in groups
    ]


def collapsed_tensor(type_: ir.Type, groups: Sequence[Sequence[int]]) -> ir.RankedTensorType:
    """The type of a tensor with one axis for each group."""
    element = ir.ShapedType(type_).element_type
    return ir.RankedTensorType.get(collapsed_shape(type_, groups), element)


def place_of(op: ir.Operation) -> str:
    """The location of an op, and its line of IR without its regions."""
    location = str(op.location).removeprefix("loc(").removesuffix(")")
    return f"{location}:   {line_of(op, large=16).strip()}"


def line_of(op: ir.Operation, *, large: int) -> str:
    """The text of an op without its regions.

    Before MLIR prints one op it verifies all of the function around it, the rules of this library
    in Python too. For one line it does to verify the op.

    Args:
        large: constants of more elements, or resources of more characters, are elided.
    """
    text: str = op.get_asm(
        use_local_scope=True,
        skip_regions=True,
        large_elements_limit=large,
        large_resource_limit=large,
        assume_verified=is_valid(op),
    )
    return text
