"""Refusals of requests on which upstream would crash, leave invalid IR, or name no location."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linalg_ext.bindings import ir, linalg
from linalg_ext.errors import ScheduleError
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.structured.operands import static_sizes
from linalg_ext.structured.payload import reaches_outside_memory
from linalg_ext.structured.sizes import as_number
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineMap,
)
from linalg_ext.transforms.ir_utils.walking import element_type, place, select


def refusal(
    op: ir.Operation, message: str, *, expected: str | None = None, hint: str | None = None
) -> ScheduleError:
    """Return the error of a step that cannot be taken on `op`."""
    return ScheduleError(message, where=place(op), expected=expected, hint=hint)


def structured_loops(op: ir.Operation, step: str) -> Loops:
    """Return the loops of an op; raise `ScheduleError` for one that is not structured."""
    if op.name not in _SHAPED_AS and not has_maps(op):
        is_elementwise = op.name.startswith(("math.", "arith."))
        raise refusal(
            op,
            f"{step} is for structured ops; {op.name} is not one",
            expected="an op of linalg, or tensor.pad",
            hint='run("convert-elementwise-to-linalg") makes one of it' if is_elementwise else None,
        )
    return loops_of(op)


def check_maps(op: ir.Operation, step: str) -> Loops:
    """Return the loops of an op; raise `ScheduleError` for one without indexing maps."""
    if not has_maps(op):
        raise refusal(
            op,
            f"{step} is for ops with indexing maps; {op.name} has none",
            hint="decompose() may turn it into ops that have",
        )
    return loops_of(op)


def check_tensors(op: ir.Operation, step: str) -> None:
    """Raise `ScheduleError` for an op on buffers."""
    if not on_tensors(op):
        raise refusal(
            op,
            f"{step} is for ops on tensors; this {op.name} writes to buffers",
            hint="take this step before those that bufferize",
        )


def check_repeatable(op: ir.Operation, step: str, *, by: str = "") -> None:
    """Raise `ScheduleError` where an iteration that is repeated would write memory once more."""
    if reaches_outside_memory(op):
        raise refusal(
            op,
            f"{step} may repeat iterations of this {op.name}{by}, whose body reaches memory that "
            "is not an operand",
            expected="a body that computes its results, and does nothing else",
            hint="take another op, or make the memory an operand",
        )


def check_buffers(op: ir.Operation, step: str) -> None:
    """Raise `ScheduleError` for an op on tensors."""
    if on_tensors(op):
        raise refusal(
            op,
            f"{step} is for ops on buffers; this {op.name} makes tensors",
            hint="take the step bufferize() first, and match again",
        )


def check_sizes(
    op: ir.Operation,
    name: str,
    sizes: Sequence[int],
    loops: Loops,
    *,
    whole: bool = False,
    zeros: bool = True,
) -> None:
    """Raise `ScheduleError` where sizes cannot be those of loops, outermost first.

    Args:
        sizes: one for each loop, or for the first ones.
        whole: True where every loop must have one.
        zeros: True where 0, which leaves a loop alone, may be one; not all may be 0.
    """
    if len(sizes) > loops.count or (whole and len(sizes) != loops.count):
        raise refusal(
            op,
            f"{name} has {len(sizes)} numbers; {op.name} has {loops.count} loops",
            expected=f"{'' if whole else 'at most '}{loops.count}, for {loops}",
        )
    for position, size in enumerate(sizes):
        if size < 0 or (size == 0 and not zeros):
            least = "0 (leave this loop alone) or more" if zeros else "1 or more"
            raise refusal(op, f"{name}[{position}] is {size}", expected=least)
    if not any(sizes):
        raise refusal(op, f"{name} leaves every loop alone", expected=f"sizes for {loops}")
    check_not_empty(op, loops)


def check_not_empty(op: ir.Operation, loops: Loops) -> None:
    """Raise `ScheduleError` for an op on empty operands, which upstream crashes on."""
    if 0 in loops.ranges:
        raise refusal(
            op,
            f"loop {loops.ranges.index(0)} of this op runs 0 times: there is nothing to schedule",
            hint="leave it out: match(..., where=...) or position=...",
        )


def check_rows(op: ir.Operation, name: str, sizes: Sequence[int]) -> None:
    """Raise `ScheduleError` where rows of a softmax are cut: upstream makes one of each piece."""
    for loop in softmax_dims(op):
        if loop < len(sizes) and sizes[loop]:
            raise refusal(
                op,
                f"{name}[{loop}] is {sizes[loop]}, but each sum of this softmax is over all of it",
                expected="0 there",
                hint="decompose() first makes loops of it that can be cut",
            )


def check_parallel(
    op: ir.Operation, name: str, sizes: Sequence[int], loops: Loops, hint: str
) -> None:
    """Raise `ScheduleError` where a reduction is cut."""
    for loop in loops.reductions:
        if loop < len(sizes) and sizes[loop]:
            raise refusal(
                op,
                f"{name}[{loop}] is {sizes[loop]}, but loop {loop} is a reduction",
                expected="0 there",
                hint=hint,
            )


def check_permutation(op: ir.Operation, name: str, order: Sequence[int], count: int) -> None:
    """Raise `ScheduleError` unless `order` has each of 0 to count - 1 once."""
    if sorted(order) != list(range(count)):
        raise refusal(
            op,
            f"{name} {list(order)} is not an order of {count} loops",
            expected=f"each of 0 to {count - 1} once",
        )


def check_least(op: ir.Operation, name: str, value: int, least: int) -> None:
    """Raise `ScheduleError` for a number below `least`."""
    if value < least:
        raise refusal(op, f"{name} is {value}", expected=f"{least} or more")


def check_loop(op: ir.Operation, name: str, loop: int, loops: Loops) -> None:
    """Raise `ScheduleError` for the number of a loop that the op does not have."""
    if not 0 <= loop < loops.count:
        raise refusal(
            op, f"{name} is {loop}; {op.name} has {loops.count} loops", expected=f"{loops}"
        )
    check_not_empty(op, loops)


def check_choice(op: ir.Operation, name: str, value: str, choices: Sequence[str]) -> None:
    """Raise `ScheduleError` for a word that is none of `choices`."""
    if value not in choices:
        raise refusal(op, f"{name} is {value!r}", expected=" or ".join(choices))


def check_factor(op: ir.Operation, factor: int, loop: ir.Operation) -> None:
    """Raise `ScheduleError` for a loop that cannot be unrolled so often."""
    check_least(op, "factor", factor, 2)
    first, last, step = map(as_number, list(loop.operands)[:3])
    most = _MOST_COPIES
    if isinstance(first, int) and isinstance(last, int) and isinstance(step, int):
        most = min(most, max(1, -((first - last) // max(1, step))))
    if factor > most:
        raise refusal(op, f"factor is {factor}", expected=f"at most {most} for this loop")


_MOST_COPIES = 1024


def enclosing_loop(op: ir.Operation, step: str, loop: int) -> ir.Operation:
    """Return the loop around `op`, counted outwards from 0; raise `ScheduleError` if absent."""
    check_least(op, "loop", loop, 0)
    around = []
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        if parent.operation.name == "scf.for":
            around.append(parent.operation)
        parent = parent.operation.parent
    if loop >= len(around):
        raise refusal(
            op,
            f"{step} needs a loop; {len(around)} of scf.for stand around {op.name}",
            hint="tile it first, or give loop= a number that is there",
        )
    return around[loop]


_OF_BODIES = frozenset({"linalg.index", "linalg.yield"})
_SHAPED_AS: Mapping[str, Callable[[ir.Operation], ir.Value]] = {
    "tensor.pad": lambda op: op.results[0],
    "linalg.pack": lambda op: op.operands[0],
    "linalg.softmax": lambda op: op.operands[1],
    "linalg.unpack": lambda op: op.operands[1],
}
"""The value whose sizes are the loops of an op without indexing maps."""

DYNAMIC = -1


@dataclass(frozen=True)
class Loops:
    """The iteration space of an op.

    Attributes:
        ranges: the trip counts; `DYNAMIC` where one is known only at run time.
        reductions: the loops that are reductions, by number.
    """

    ranges: tuple[int, ...]
    reductions: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of loops."""
        return len(self.ranges)

    def __str__(self) -> str:
        kinds = ["reduction" if d in self.reductions else "parallel" for d in range(self.count)]
        sizes = ["?" if size == DYNAMIC else str(size) for size in self.ranges]
        return ", ".join(f"{d}: {k} {s}" for d, (k, s) in enumerate(zip(kinds, sizes, strict=True)))


def has_maps(op: ir.Operation) -> bool:
    """Return whether an op of linalg says how its operands are indexed."""
    if not op.name.startswith("linalg.") or op.name in _OF_BODIES:
        return False
    return bool(linalg.get_indexing_maps(op))


def loops_of(op: ir.Operation) -> Loops:
    """Return the loops of an op that `has_maps`, or whose loops are the sizes of a value."""
    if op.name in _SHAPED_AS:
        sizes = static_sizes(_SHAPED_AS[op.name](op))
        extents = (DYNAMIC if size is None else size for size in sizes)
        return Loops(tuple(extents), softmax_dims(op))
    maps = indexing_maps(op)
    ranges = dict.fromkeys(maps[0].dims, DYNAMIC)
    for map_, value in zip(maps, op.operands, strict=False):
        if not isinstance(value.type, ir.ShapedType):
            continue
        for index, size in zip(map_.results, static_sizes(value), strict=True):
            if isinstance(index, AffineDim) and size is not None:
                ranges[index.name] = size
    return Loops(tuple(ranges.values()), _reductions(op, len(ranges)))


def softmax_dims(op: ir.Operation) -> tuple[int, ...]:
    """Return the dimension that a softmax divides its rows by the sums of; none of any other op."""
    if op.name != "linalg.softmax":
        return ()
    return (ir.IntegerAttr(op.attributes["dimension"]).value,)


def on_tensors(op: ir.Operation) -> bool:
    """Return whether an op makes new tensors; else it writes to buffers."""
    return len(op.results) > 0


def _reductions(op: ir.Operation, count: int) -> tuple[int, ...]:
    if "iterator_types" in op.attributes:
        kinds = [str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]
        return tuple(d for d, kind in enumerate(kinds) if "reduction" in kind)
    maps = indexing_maps(op)
    written = {dim for index in maps[-1].results for dim in index.dims}
    return tuple(d for d in range(count) if maps[-1].dims[d] not in written)


_MOST_TRIED = 1 << 20
"""Iterations of a tile."""

_DIVISIONS = (AffineKind.FLOORDIV, AffineKind.CEILDIV, AffineKind.MOD)


def check_separable(op: ir.Operation, step: str) -> None:
    """Check that iterations of an op may be renumbered by new dimensions of its operands.

    Upstream leaves invalid IR, or ends the process, where this is not so.

    Raises:
        ScheduleError: it asks for its place in the loops, or indexes by more than dimensions.
    """
    if select(op, lambda inner: inner.name == "linalg.index"):
        raise refusal(op, f"{step} would change the results of linalg.index in the body of this op")
    for number, map_ in enumerate(indexing_maps(op)):
        if number >= len(op.operands) - len(op.results) and not map_.is_projected_permutation:
            raise refusal(
                op,
                f"{step} is for results that list dimensions; operand {number} has {map_}",
                hint="fold_unit_extents() takes constants out of maps",
            )


def check_blocks(op: ir.Operation, step: str, sizes: Sequence[int], ranges: Sequence[int]) -> None:
    """Check that an op can be computed on blocks, the last ones filled with zeros.

    Raises:
        ScheduleError: a loop that is to be blocked is part of a sum in an index, or its size is not
            a multiple of the block and its elements have no plain zero.
    """
    for number, map_, index in _indices(op):
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

    Upstream takes any other index for one of a loop, and reads the loop's number from uninitialized
    memory.
    """
    for number, _, index in _indices(op):
        if not isinstance(index, AffineDim):
            raise refusal(
                op,
                f"{step} is for operands that list loops; operand {number} is indexed by {index}",
                hint="tile_reduction(...) takes others",
            )


def check_linear(op: ir.Operation, step: str, loop: int) -> None:
    """Raise `ScheduleError` where an operand is indexed by a quotient or remainder of a loop.

    Upstream would take the wrong part of it, or end the process.
    """
    for number, map_, index in _indices(op):
        divides = any(part.kind in _DIVISIONS for part in _parts(index))
        if divides and map_.dims[loop] in index.dims:
            raise refusal(
                op,
                f"{step} cannot split loop {loop}: operand {number} is indexed by {index}",
                hint="tile(...) it, by sizes that its divisor divides",
            )


def check_parts(op: ir.Operation, step: str, sizes: Sequence[int] = ()) -> None:
    """Check that upstream takes the right part of each operand for a tile: first place to last.

    Args:
        sizes: those of the tiles; 0 for a loop that stays whole, `DYNAMIC` where unknown.

    Raises:
        ScheduleError: an operand is read backwards, or its last place is not the highest, as a
            remainder begins again.
    """
    if not has_maps(op):
        return
    ranges = loops_of(op).ranges
    for number, map_, index in _indices(op):
        if any(_is_negative(part) for part in _parts(index) if part.kind is AffineKind.MUL):
            raise refusal(
                op,
                f"{step} cannot cut operand {number}, which is read backwards, at {index}",
                hint="tile_subsets(...) can, by a size that divides the loop",
            )
        has_remainder = any(part.kind is AffineKind.MOD for part in _parts(index))
        if has_remainder and not _ends_highest(index, map_.dims, sizes, ranges):
            raise refusal(
                op,
                f"{step} cannot cut operand {number}, whose places at {index} begin again "
                "within a tile",
                hint="tile it by sizes of which the divisor is a multiple, or copy the operand "
                "into that order first",
            )


def _indices(op: ir.Operation) -> Iterator[tuple[int, AffineMap, AffineExpr]]:
    """Yield the index of each axis of each operand, with the operand's number and its map."""
    for number, map_ in enumerate(indexing_maps(op)):
        for index in map_.results:
            yield number, map_, index


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
        indices = np.indices(tile)
        positions = index.evaluate(
            {dim: numbers for (_, dim), numbers in zip(own, indices, strict=True)}
        )
        if np.max(positions) > np.ravel(positions)[-1]:
            return False
    return True


def _parts(index: AffineExpr) -> Iterator[AffineBinary]:
    if isinstance(index, AffineBinary):
        yield index
        yield from _parts(index.lhs)
        yield from _parts(index.rhs)


def _is_negative(product: AffineBinary) -> bool:
    return any(
        isinstance(side, AffineConst) and side.value < 0 for side in (product.lhs, product.rhs)
    )
