"""The loops of a structured op, and what is known of their order.

Upstream's iterator types are two: parallel and reduction. The documents name more kinds: window,
sequential, partition, permutable, and the distance of dependences. Those are derived here from the
maps and the payload:

    window      a reduction that slides: an input is indexed by it together with a parallel loop,
                as the height of a kernel is in `oh * 2 + kh`
    sequential  a reduction whose iterations cannot be reordered: what it folds is not known to be
                a sum, product, maximum, ... As everywhere in this field, sums of floats are
                reordered.
    partition   a parallel loop that parts the work: no two of its iterations touch one element of
                any tensor, as those of a batch. The rows of a matmul read all of B: they are none
    permutable  it may be moved to any place in the order of the loops
    distance    the least number of iterations between two that depend on each other while the
                outer loops stand still: 0 for none, None where it is not known

Iterator types are trusted, as MLIR's documents define them: the author of the op guarantees that a
parallel loop is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import (
    AffineDim,
    AffineExpr,
    AffineMap,
    linear_terms,
)
from linalg_ext.definition.model import Assignment, IteratorType
from linalg_ext.definition.scalar import Access
from linalg_ext.errors import LinalgExtError
from linalg_ext.structured.interfaces.invariants import is_shaped
from linalg_ext.structured.interfaces.payload import reaches_outside_memory
from linalg_ext.structured.recognition import definition_of


@dataclass(frozen=True)
class Loop:
    """One dimension of the iteration space of an op; see this module for what the words mean.

    Attributes:
        dim: its number, which is its place in the order of the loops.
        iterator_type: what the op says of it.
        size: how many iterations it has; None where a size is dynamic.
        is_window, is_sequential, is_partition, is_permutable: its kinds besides.
        distance: of the dependences that it carries.
    """

    dim: int
    iterator_type: IteratorType
    size: int | None
    is_window: bool
    is_sequential: bool
    is_partition: bool
    is_permutable: bool
    distance: int | None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The words for it: `("reduction", "window", "permutable")`."""
        words = ("window", "sequential", "partition", "permutable")
        return (self.iterator_type.value, *(w for w in words if getattr(self, f"is_{w}")))


def loops_of(
    op: ir.Operation,
    maps: Sequence[AffineMap],
    iterator_types: Sequence[IteratorType],
    sizes: Sequence[int | None],
    inits: Sequence[int],
) -> tuple[Loop, ...]:
    """The loops of a structured op.

    Args:
        op: the op.
        maps: one for each operand, of dimensions d0, d1, ...
        iterator_types, sizes: one for each loop.
        inits: the positions of the destinations.
    """
    dims = [AffineDim(name) for name in maps[0].dims]
    parallel = {d for d, kind in zip(dims, iterator_types, strict=True) if kind is _PARALLEL}
    reductions = [dim for dim in dims if dim not in parallel]
    is_ordered = bool(reductions) and not _is_reorderable(op)
    reaches_outside = reaches_outside_memory(op)
    inputs = [map for position, map in enumerate(maps) if position not in inits]
    outputs = [maps[position] for position in inits]
    shaped = [map for map, each in zip(maps, op.operands, strict=True) if is_shaped(each.type)]
    spans = {d: None if n is None else max(n - 1, 0) for d, n in zip(dims, sizes, strict=True)}
    found = []
    for number, dim in enumerate(dims):
        is_parallel = dim in parallel
        is_sequential = is_ordered and not is_parallel
        found.append(
            Loop(
                dim=number,
                iterator_type=iterator_types[number],
                size=sizes[number],
                is_window=not is_parallel and any(_slides(map, dim, parallel) for map in inputs),
                is_sequential=is_sequential,
                is_partition=is_parallel
                and not reaches_outside
                and all(_separates(map, dim, spans) for map in shaped),
                is_permutable=not is_sequential or len(reductions) == 1,
                distance=0 if is_parallel else None if reaches_outside else _distance(outputs, dim),
            )
        )
    return tuple(found)


_PARALLEL = IteratorType.PARALLEL


def _is_reorderable(op: ir.Operation) -> bool:
    """Return whether every output combines by a function whose order does not matter."""
    try:
        definition = definition_of(op)
    except LinalgExtError:
        return False  # what the body does is not known
    running = {each.target.operand for each in definition.assignments if _reduces(each)}
    for each in definition.assignments:
        if _reduces(each) and (each.reduction is None or each.reduction.function is None):
            return False
        read = {expr.operand for expr in each.value.walk() if isinstance(expr, Access)}
        if read & running - {each.target.operand}:
            return False  # it uses what another one has come to so far, as a scan does
    return True


def _reduces(assignment: Assignment) -> bool:
    return assignment.reduction is not None and len(assignment.reduction.dims) > 0


def _slides(map: AffineMap, dim: AffineDim, parallel: set[AffineDim]) -> bool:
    """Return whether some index has a dimension and a parallel one in it."""
    names = {each.name for each in parallel}
    return any(dim.name in index.dims and not names.isdisjoint(index.dims) for index in map.results)


def _separates(map: AffineMap, dim: AffineDim, spans: dict[AffineDim, int | None]) -> bool:
    """Return whether no two iterations of a loop touch one element.

    One index of the map must suffice to show it.
    """
    return spans[dim] == 0 or any(_steps_over(index, dim, spans) for index in map.results)


def _steps_over(index: AffineExpr, dim: AffineDim, spans: dict[AffineDim, int | None]) -> bool:
    """Return whether a step of a dimension moves an index farther than all others together can."""
    linear = linear_terms(index)
    if linear is None:
        return False
    factors, _ = linear
    step = abs(factors.pop(dim.name, 0))
    reach = 0
    for other, factor in factors.items():
        span = spans[AffineDim(other)]
        if span is None:
            return False
        reach += abs(factor) * span
    return step > reach


def _distance(outputs: Sequence[AffineMap], dim: AffineDim) -> int | None:
    """Return the distance of a loop, as the module defines it, from the outputs' indexing maps."""
    distances = [_distance_in(map, dim) for map in outputs]
    if 1 in distances:
        return 1
    return None if None in distances else 0


def _distance_in(map: AffineMap, dim: AffineDim) -> int | None:
    indices = [index for index in map.results if dim.name in index.dims]
    if not indices:
        return 1  # every iteration writes the element that the one before wrote
    is_alone = any(
        index.dims == (dim.name,) and linear_terms(index) is not None for index in indices
    )
    return 0 if is_alone else None
