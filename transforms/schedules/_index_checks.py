"""Refusals of ops whose operands are indexed in ways that upstream gets wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
)
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.transforms.ir_utils.walking import element_type, select

from ._checks import refusal
from ._facts import DYNAMIC, has_maps, loops_of

_MOST_TRIED = 1 << 20
"""Iterations of a tile."""

_DIVISIONS = (AffineKind.FLOORDIV, AffineKind.CEILDIV, AffineKind.MOD)


def check_separable(op: ir.Operation, step: str) -> None:
    """An op whose iterations may be renumbered, as new dimensions of its operands renumber them.

    Upstream leaves invalid IR, or ends the process, where this is not so.

    Raises:
        ScheduleError: it asks for its place in the loops, or indexes by more than dimensions.
    """
    if select(op, lambda each: each.name == "linalg.index"):
        raise refusal(op, f"{step} would change what linalg.index says in the body of this op")
    for number, map_ in enumerate(indexing_maps(op)):
        if number >= len(op.operands) - len(op.results) and not map_.is_projected_permutation:
            raise refusal(
                op,
                f"{step} is for results that list dimensions; operand {number} has {map_}",
                hint="fold_unit_extents() takes constants out of maps",
            )


def check_blocks(op: ir.Operation, step: str, sizes: Sequence[int], ranges: Sequence[int]) -> None:
    """An op that can be computed on blocks: the last ones are filled with zeros.

    Raises:
        ScheduleError: a loop that is to be blocked is part of a sum in an index, or it is blocked
            by what does not divide it and its elements have no plain zero.
    """
    for number, map_ in enumerate(indexing_maps(op)):
        for index in map_.results:
            for loop, size in enumerate(sizes):
                if size and map_.dims[loop] in index.dims and not isinstance(index, AffineDim):
                    raise refusal(
                        op,
                        f"{step} cannot block loop {loop}: operand {number} is indexed by {index}",
                        expected="0 there",
                    )
    uneven = [loop for loop, size in enumerate(sizes) if size and ranges[loop] % size]
    for operand in op.operands if uneven else ():
        element = element_type(operand.type)
        if not isinstance(element, ir.IntegerType | ir.IndexType | ir.FloatType):
            raise refusal(
                op,
                f"sizes[{uneven[0]}] is {sizes[uneven[0]]}; loop {uneven[0]} runs "
                f"{ranges[uneven[0]]} times, and there is no padding for {element}",
                expected="a number that divides it",
            )


def check_plain(op: ir.Operation, step: str) -> None:
    """Raise `ScheduleError` where an operand is indexed by more than a loop.

    Upstream takes any other index for one of a loop, and which one is what memory happens to hold.
    """
    for number, map_ in enumerate(indexing_maps(op)):
        for index in map_.results:
            if not isinstance(index, AffineDim):
                raise refusal(
                    op,
                    f"{step} is for operands that list loops; operand {number} is indexed by "
                    f"{index}",
                    hint="tile_reduction(...) takes others",
                )


def check_linear(op: ir.Operation, step: str, loop: int) -> None:
    """Raise `ScheduleError` where an operand is indexed by a quotient or remainder of a loop.

    Upstream would take the wrong part of it, or end the process.
    """
    for number, map_ in enumerate(indexing_maps(op)):
        for index in map_.results:
            divides = any(each.kind in _DIVISIONS for each in _parts(index))
            if divides and map_.dims[loop] in index.dims:
                raise refusal(
                    op,
                    f"{step} cannot split loop {loop}: operand {number} is indexed by {index}",
                    hint="tile(...) it, by sizes that its divisor divides",
                )


def check_parts(op: ir.Operation, step: str, sizes: Sequence[int] = ()) -> None:
    """Check that upstream takes the right part of each operand for a tile: first place to last.

    Args:
        op: the op that is cut.
        step: the step that cuts it.
        sizes: the sizes of the tiles; 0 for a loop that stays whole, `DYNAMIC` where unknown.

    Raises:
        ScheduleError: an operand is read backwards, or its last place is not the highest, as a
            remainder begins again.
    """
    if not has_maps(op):
        return
    ranges = loops_of(op).ranges
    for number, map_ in enumerate(indexing_maps(op)):
        for index in map_.results:
            if any(each.kind is AffineKind.MUL and _is_negative(each) for each in _parts(index)):
                raise refusal(
                    op,
                    f"{step} cannot cut operand {number}, which is read backwards, at {index}",
                    hint="tile_subsets(...) can, by a size that divides the loop",
                )
            has_remainder = any(each.kind is AffineKind.MOD for each in _parts(index))
            if has_remainder and not _ends_highest(index, map_.dims, sizes, ranges):
                raise refusal(
                    op,
                    f"{step} cannot cut operand {number}, whose places at {index} begin again "
                    "within a tile",
                    hint="tile it by sizes of which the divisor is a multiple, or copy the operand "
                    "into that order first",
                )


def _ends_highest(
    index: AffineExpr, dims: Sequence[str], sizes: Sequence[int], ranges: Sequence[int]
) -> bool:
    """Return whether the last iteration of every tile reads the highest position.

    The result is False where a size is unknown, or a tile has more than `_MOST_TRIED` positions.
    """
    own = [(loop, AffineDim(dim)) for loop, dim in enumerate(dims) if dim in index.dims]
    extents = []
    for loop, _ in own:
        size, range_ = sizes[loop] if loop < len(sizes) else 0, ranges[loop]
        if DYNAMIC in (range_, size):
            return False
        extents.append({size, range_ % size} - {0} if 0 < size < range_ else {range_} - {0})
    for tile in itertools.product(*extents):
        if math.prod(tile) > _MOST_TRIED:
            return False
        places = np.indices(tile)
        found = index.evaluate({dim: place for (_, dim), place in zip(own, places, strict=True)})
        if np.max(found) > np.ravel(found)[-1]:
            return False
    return True


def _parts(index: AffineExpr) -> Iterator[AffineBinary]:
    if isinstance(index, AffineBinary):
        yield index
        yield from _parts(index.lhs)
        yield from _parts(index.rhs)


def _is_negative(product: AffineBinary) -> bool:
    return any(
        isinstance(each, AffineConst) and each.value < 0 for each in (product.lhs, product.rhs)
    )
