"""Explicit transposes and broadcasts of operands: the sugar, the maps, and definitions with them.

An operand of an op has the indices that the definition gives it: `B[k, n]` of a matrix product. A
call may state that an operand it passes is a transposed or a narrower one. With the words of
`linalg.transpose` and `linalg.broadcast`, transpose first, then broadcast:

    permutation = [1, 0]    B is given as (n, k): dimension i of B is dimension permutation[i] of it
    broadcast = [0]         B is given as (n): dimension 0 of B is added to it

or, with the same meaning, a whole map from the iteration space to the passed operand, as in
`linalg.matmul`'s `indexing_maps`: `(m, n, k) -> (n, k)`.

Source: the "Linalg Dialect Wish list" (Renato Golin, 2024), explicit broadcast and transpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product

from linalg_ext.definition.model import Assignment, OpDefinition, Operand, domain_of
from linalg_ext.definition.renaming import with_values
from linalg_ext.definition.scalar import Access, ScalarExpr
from linalg_ext.definition.shapes import Shapes, Symbols, check_shapes, infer_extents
from linalg_ext.definition.specialization import at_rank
from linalg_ext.errors import ArgumentError, counted
from linalg_ext.symbolic.affine import AffineExpr, AffineMap

Indices = tuple[AffineExpr, ...]


@dataclass(frozen=True, slots=True)
class Sugar:
    """The permutation and broadcast of an operand: it is transposed, then broadcast.

    Attributes:
        permutation: dimension `i` of the transposed operand is `permutation[i]` of the passed
            operand; empty for none.
        broadcast: the dimensions that are then added, by their positions in the result.
    """

    permutation: tuple[int, ...] = ()
    broadcast: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.permutation or self.broadcast)


def apply_sugar(natural: Indices, sugar: Sugar, subject: str) -> Indices:
    """The indices of the passed operand, for an operand that an op reads by the indices `natural`.

    Args:
        natural: the operand's own indices, one for each of its dimensions.
        subject: the op and the operand, for errors: `"matmul: B"`.

    Raises:
        ArgumentError: a dimension is out of range or said twice, or the permutation is none.
    """
    rank = len(natural)
    for dim in sugar.broadcast:
        if not 0 <= dim < rank:
            raise ArgumentError(
                f"{subject}: broadcast = {list(sugar.broadcast)} adds dimension {dim}",
                expected=f"dimensions of the operand that the op reads: 0 to {rank - 1}"
                if rank
                else "none: the op reads it at rank 0",
            )
    if len(set(sugar.broadcast)) != len(sugar.broadcast):
        raise ArgumentError(
            f"{subject}: broadcast = {list(sugar.broadcast)} adds a dimension twice",
            expected="each dimension once",
        )
    kept_indices = [index for dim, index in enumerate(natural) if dim not in sugar.broadcast]
    if not sugar.permutation:
        return tuple(kept_indices)
    if sorted(sugar.permutation) != list(range(len(kept_indices))):
        order = ", ".join(map(str, range(len(kept_indices))))
        after = " that are left by the broadcast" if sugar.broadcast else ""
        raise ArgumentError(
            f"{subject}: permutation = {list(sugar.permutation)} is not a permutation of its "
            f"{counted(len(kept_indices), 'dimension')}{after}",
            expected=f"each of {order} once" if kept_indices else "an empty permutation",
        )
    permuted = list(kept_indices)
    for position, source in enumerate(sugar.permutation):
        permuted[source] = kept_indices[position]
    return tuple(permuted)


def find_sugar(natural: Indices, indices: Indices) -> Sugar | None:
    """The sugar that says `indices`, the shortest; None if absent.

    There is none where an index is none of the operand's own, or occurs twice.
    """
    if len(set(indices)) != len(indices) or any(index not in natural for index in indices):
        return None
    broadcast = tuple(dim for dim, index in enumerate(natural) if index not in indices)
    kept_indices = [index for index in natural if index in indices]
    permutation = tuple(indices.index(index) for index in kept_indices)
    if permutation == tuple(range(len(kept_indices))):
        permutation = ()
    return Sugar(permutation, broadcast)


def apply_map(dims: Sequence[str], natural: Indices, map: AffineMap, subject: str) -> Indices:
    """The indices that a whole map says, in the names of an op's own dimensions.

    Args:
        dims: the iteration space of the op.
        map: from the iteration space to the passed operand.
        subject: the op and the operand, for errors.

    Raises:
        ArgumentError: the map is of another iteration space, or indexes the operand by other
            expressions than the op.
    """
    if map.symbols:
        raise ArgumentError(
            f"{subject}: its map {map} has symbols", expected="dimensions of the op alone"
        )
    if len(map.dims) != len(dims):
        raise ArgumentError(
            f"{subject}: its map {map} is of {counted(len(map.dims), 'dimension')}",
            expected=f"{len(dims)}, the iteration space of the op: ({', '.join(dims)})",
        )
    positional = AffineMap(tuple(dims), (), natural)
    indices = map.results_over(dims)
    if len(set(indices)) < len(indices):
        raise ArgumentError(
            f"{subject}: its map {map} has one index twice", expected=f"each of {positional} once"
        )
    for result, index in zip(map.results, indices, strict=True):
        if index not in natural:
            raise ArgumentError(
                f"{subject}: its map {map} has the index {result}",
                expected=f"indices of its own map {positional}, transposed or left out",
            )
    return indices


def with_indices_of(definition: OpDefinition, operands: Mapping[str, Indices]) -> OpDefinition:
    """The definition with some operands read, or written, by other indices.

    Each new index is one of those that the operand has; its shape follows.

    Raises:
        ArgumentError: the operands no longer say how far each dimension runs, or an output lacks a
            dimension over which nothing is reduced.
    """

    def moved(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, Access) and expr.operand in operands:
            return replace(expr, indices=operands[expr.operand])
        return expr

    changed = with_values(definition, moved)
    changed = replace(
        changed,
        operands=tuple(
            _reshaped(definition, o, operands[o.name]) if o.name in operands else o
            for o in definition.operands
        ),
        assignments=tuple(
            _to_target(definition, a, operands.get(a.target.operand, a.target.indices))
            for a in changed.assignments
        ),
    )
    _check_covered(changed)
    return changed


def _to_target(definition: OpDefinition, assignment: Assignment, indices: Indices) -> Assignment:
    """An assignment to another target: it reduces over the dimensions that the target lacks."""
    target = assignment.target
    if indices == target.indices:
        return assignment
    written = {dim for index in indices for dim in index.dims}
    domain = domain_of(assignment) | written
    missing = tuple(dim for dim in definition.dims if dim in domain - written)
    reduction = assignment.reduction
    if missing and reduction is None:
        raise ArgumentError(
            f"{definition.name}: {target.operand} is not indexed by dimension {missing[0]}, and "
            "nothing combines the values along it",
            expected=f"a destination of all dimensions: ({', '.join(definition.dims)})",
        )
    if reduction is not None:
        reduction = replace(reduction, dims=missing)
    return replace(assignment, target=replace(target, indices=indices), reduction=reduction)


def natural_indices(definition: OpDefinition, operand: Operand) -> Indices:
    """The indices by which a definition reads or writes a tensor.

    Raises:
        ArgumentError: it is not a tensor, or is read in several ways.
    """
    if not operand.kind.is_tensor:
        raise ArgumentError(
            f"{definition.name}: {operand.name} is not a tensor: it has no dimensions to map"
        )
    accesses = definition.accesses[operand.name]
    if operand.name in {lookup.operand for lookup in definition.lookups}:
        raise ArgumentError(
            f"{definition.name}: {operand.name} is looked up at computed indices",
            hint="transpose or broadcast it before the op",
        )
    if any(a.recurrence and a.target.operand == operand.name for a in definition.assignments):
        raise ArgumentError(
            f"{definition.name}: {operand.name} is the output of a recurrence",
            hint="transpose it after the op",
        )
    if len(accesses) != 1:
        raise ArgumentError(
            f"{definition.name}: {operand.name} is read in {len(accesses)} ways at once",
            hint="transpose or broadcast it before the op",
        )
    return accesses[0]


def _reshaped(definition: OpDefinition, operand: Operand, indices: Indices) -> Operand:
    natural = definition.accesses[operand.name][0]
    by_index = dict(zip(natural, operand.shape, strict=False))
    shape = tuple(by_index.get(index, index) for index in indices)
    index_dims = None if operand.index_dims is None else indices
    return replace(operand, shape=shape, index_dims=index_dims)


def _check_covered(definition: OpDefinition) -> None:
    missing = [dim for dim in definition.dims if dim not in definition.indexed_dims]
    if missing:
        position = definition.dims.index(missing[0])
        raise ArgumentError(
            f"{definition.name}: no operand is indexed by dimension {missing[0]} (d{position}) of "
            f"the iteration space ({', '.join(definition.dims)}) any more",
            expected="maps that together cover the iteration space",
            hint=f"leave {missing[0]} in the map of one operand",
        )


def readings(definition: OpDefinition, shapes: Shapes, symbols: Symbols) -> list[str]:
    """Return the keywords that the author of a call may have meant, where its shapes do not fit.

    Each entry names keywords for one input, or for two, with which the shapes fit:
    `"broadcast_x=[1]"`. There are at most 4 of them.
    """
    ranked = at_rank(definition, max((len(shape) for shape in shapes.values()), default=0))
    keywords: list[str] = []
    if len(ranked.dims) > _MOST_DIMS or any(len(a) != 1 for a in ranked.accesses.values()):
        return []
    inputs = [operand.name for operand in ranked.inputs if operand.name in shapes]
    # One operand otherwise, or else two of them.
    for changed in (*((name,) for name in inputs), *combinations(inputs, 2)):
        if len(changed) > 1 and (keywords or len(ranked.dims) > _MOST_DIMS_OF_PAIRS):
            break
        keywords += _fitting_keywords(ranked, changed, shapes, symbols)
    return (keywords or _without_units(ranked, inputs, shapes, symbols))[:_MOST_READINGS]


_MOST_DIMS = 5
_MOST_DIMS_OF_PAIRS = 3
_MOST_READINGS = 4


def _fitting_keywords(
    definition: OpDefinition, operands: Sequence[str], shapes: Shapes, symbols: Symbols
) -> list[str]:
    """The keywords for some operands, all of them given otherwise, with which shapes fit."""
    keywords = []
    natural = [definition.accesses[name][0] for name in operands]
    sugars_of_operands = [
        list(_sugars(len(own), len(shapes[name])))
        for name, own in zip(operands, natural, strict=True)
    ]
    for sugars in product(*sugars_of_operands):
        indices = {
            name: apply_sugar(own, sugar, name)
            for name, own, sugar in zip(operands, natural, sugars, strict=True)
        }
        if fits(definition, indices, shapes, symbols):
            words = [_keywords(*pair) for pair in zip(operands, sugars, strict=True)]
            keywords.append(" with ".join(words) if len(words) > 1 else words[0])
    return keywords


def _without_units(
    definition: OpDefinition, operands: Sequence[str], shapes: Shapes, symbols: Symbols
) -> list[str]:
    """Return keywords that fit once dimensions of size 1 are dropped, as NumPy does implicitly."""
    keywords = []
    for name in operands:
        natural, shape = definition.accesses[name][0], shapes[name]
        units = [axis for axis, size in enumerate(shape) if size == 1]
        if not units or len(shape) != len(natural):
            continue
        narrow = {**shapes, name: [size for size in shape if size != 1]}
        sugar = Sugar(broadcast=tuple(units))
        if fits(definition, {name: apply_sugar(natural, sugar, name)}, narrow, symbols):
            keywords.append(f"{_keywords(name, sugar)}, of {name} without its dimensions of size 1")
    return keywords


def _sugars(natural: int, rank: int) -> Iterator[Sugar]:
    if rank > natural:
        return
    for broadcast in combinations(range(natural), natural - rank):
        for permutation in permutations(range(rank)):
            moved = permutation if permutation != tuple(range(rank)) else ()
            if moved or broadcast:
                yield Sugar(moved, broadcast)


def fits(
    definition: OpDefinition, changed: Mapping[str, Indices], shapes: Shapes, symbols: Symbols
) -> bool:
    """Return whether shapes fit together, with some operands read by other indices.

    Args:
        definition: the op, at its rank.
        changed: the other indices, by operand.
    """
    try:
        mapped = with_indices_of(definition, changed)
        ranks = {name: len(accesses[0]) for name, accesses in mapped.accesses.items()}
        if any(len(shape) != ranks[name] for name, shape in shapes.items()):
            return False
        extents = infer_extents(mapped, shapes, symbols)
        check_shapes(mapped, shapes, symbols, extents)
    except ArgumentError:
        return False
    return True


def _keywords(operand: str, sugar: Sugar) -> str:
    words = []
    if sugar.permutation:
        words.append(f"permutation_{operand}={list(sugar.permutation)}")
    if sugar.broadcast:
        words.append(f"broadcast_{operand}={list(sugar.broadcast)}")
    return ", ".join(words)


def add_readings(
    error: ArgumentError, definition: OpDefinition, shapes: Shapes, symbols: Symbols
) -> ArgumentError:
    """An error about shapes that do not fit, with the ways in which they would."""
    fitting = readings(definition, shapes, symbols)
    if fitting:
        error.hint = f"say how to broadcast or transpose: {' or '.join(fitting)}"
    return error
