"""Long sums of floats: blocks added up one after another, and their sums with compensation.

    for block of BLOCK rounds:
        part = the sum of the block's rounds alone
        total, error = total + (part + error), and the rounding error of that

A structured op on buffers:

before:
    linalg.generic ... ins(%a : memref<9000x7xf32>) outs(%c : memref<7xf32>)      d0 is summed
after, in blocks of 512:
    %parts, %errors = memref.alloc()                                             as %c
    %errors = -0.0
    scf.for %low = 0 to 8704 step 512 {
      %parts = -0.0
      linalg.generic ... ins(%a[%low, 0] [512, 7]) outs(%parts)
      %c, %errors = %c + (%parts + %errors), and the rounding error of that
    }
    the same for the last 296

Added up one after another, n numbers lose up to n / 2 units in the last place of their sum; in
blocks, no more than the numbers of one block do. A block costs nine operations more for each of its
sums. All sums of floats are built on this: loops over vectors, rows added to a row, inner products,
contractions, attention, running sums, and loops over scalars.

Source: W. Kahan, Further Remarks on Reducing Truncation Errors, Communications of the ACM 8 (1965);
D. E. Knuth, The Art of Computer Programming 2, 4.2.2, theorem B (the rounding error of a sum of two
floats is a float, whichever of them is larger).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from linalg_ext.bindings import arith, complex, ir, memref
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.structured.views import tile_view
from linalg_ext.symbolic.affine import factor_of
from linalg_ext.transforms.ir_utils.arithmetic import constant, dim, part_along, size_of
from linalg_ext.transforms.ir_utils.generics import (
    extents_of,
    input_count,
    loop_of,
    maps_of,
    parallel_loops,
)
from linalg_ext.transforms.ir_utils.tensor_loops import elementwise
from linalg_ext.transforms.ir_utils.walking import copied_on, operations

from .payload import combination_of
from .problem import product_of
from .writer import Writer

BLOCK = 64
"""Rounds that are added up one after another."""

LONG = 1 << 16
"""The length above which blocks that exist for another reason are added with compensation."""

FLOATS = ("f32", "f64")
"""Types that are added up in blocks. Narrower floats keep their order, as they round too much."""

ADDITIONS = ("arith.addf", "complex.add")
"""The ops that add such floats, or complex numbers of them."""

T = TypeVar("T")


def two_sum(a: T, b: T, add: Callable[[T, T], T], subtract: Callable[[T, T], T]) -> tuple[T, T]:
    """Return the sum of two floats and its rounding error, which is exact without an overflow."""
    total = add(a, b)
    second = subtract(total, a)
    first = subtract(total, second)
    return total, add(subtract(a, first), subtract(b, second))


def is_added_in_blocks(type_: Any) -> bool:
    """Return whether sums of such elements, real or complex, are added up in blocks."""
    element = ir.ComplexType(type_).element_type if isinstance(type_, ir.ComplexType) else type_
    return str(element) in FLOATS


def negative_zero(type_: Any) -> Any:
    """Return the start of a sum and of its error: -0.0 leaves every number unchanged."""
    if isinstance(type_, ir.ComplexType):
        part = constant(type_.element_type, -0.0)
        return complex.CreateOp(type_, part, part).result
    return constant(type_, -0.0)


def add_compensated(total: Any, error: Any, part: Any) -> tuple[Any, Any]:
    """Return a sum and its error after one part more: floats, vectors, or complex numbers.

    The sum is rounded to nearest: the error is less than would change it.
    """
    if isinstance(total.type, ir.ComplexType):
        real, imaginary = (
            add_compensated(*(half(number).result for number in (total, error, part)))
            for half in (complex.ReOp, complex.ImOp)
        )
        new, lost = (
            complex.CreateOp(total.type, *halves).result
            for halves in zip(real, imaginary, strict=True)
        )
        return new, lost
    new, lost = two_sum(total, arith.addf(part, error), arith.addf, arith.subf)
    # NaN where the sum is not finite: no more is lost then.
    has_lost = arith.cmpf(arith.CmpFPredicate.ONE, lost, constant(lost.type, 0))
    return new, arith.select(has_lost, lost, negative_zero(lost.type))


class PartialSums:
    """Buffers for the sums of a block, and for the rounding errors of the sums of all blocks.

    Each method builds a structured op on buffers at the insertion point, and returns it.

    Attributes:
        totals: the sums: a buffer, or a part of one.
        parts: the sums of a block.
        errors: the rounding errors of the totals.
    """

    def __init__(self, totals: Any, parts: Any, errors: Any) -> None:
        self.totals, self.parts, self.errors = totals, parts, errors

    def clear_errors(self) -> Any:
        """Have no rounding errors."""
        return elementwise([], [self.errors], lambda old: [negative_zero(old.type)])

    def clear_parts(self, *, with_zeros: bool = False) -> Any:
        """Begin a block; with zeros, sums that begin at 0 need not read its parts."""
        return elementwise(
            [],
            [self.parts],
            lambda old: [constant(old.type, 0) if with_zeros else negative_zero(old.type)],
        )

    def add_parts(self) -> Any:
        """Add the sums of a block to the totals."""
        return elementwise(
            [self.parts],
            [self.totals, self.errors],
            lambda part, total, error: add_compensated(total, error, part),
        )


def subview_at(buffer: Any, offsets: Mapping[int, Any]) -> Any:
    """Return the part of a buffer at one position along some axes, without these axes."""
    if not offsets:
        return buffer
    axes = range(buffer.type.rank)
    return tile_view(
        buffer,
        [offsets.get(axis, 0) for axis in axes],
        [1 if axis in offsets else size_of(buffer, axis) for axis in axes],
        dims=[axis for axis in axes if axis not in offsets],
    )


def write_compensated(w: Writer, type_: str, total: str, error: str, part: str) -> tuple[str, str]:
    """Write `add_compensated` on floats or vectors of a type."""

    def operation(name: str) -> Callable[[str, str], str]:
        return lambda a, b: w.op(f"arith.{name} {a}, {b} : {type_}")

    add, subtract = operation("addf"), operation("subf")
    new, lost = two_sum(total, add(part, error), add, subtract)
    has_lost = w.op(f"arith.cmpf one, {lost}, {w.splat('0.0', type_)} : {type_}")
    is_vector = type_.startswith("vector")
    types = f"{type_[: type_.rindex('x') + 1]}i1>, {type_}" if is_vector else type_
    return new, w.op(f"arith.select {has_lost}, {lost}, {w.splat('-0.0', type_)} : {types}")


def summed_outputs(op: Any) -> list[int]:
    """Return the numbers of the operands of a `linalg.generic` that floats are added to."""
    body, first = op.regions[0].blocks[0], input_count(op)
    return [
        number
        for number in range(first, len(op.operands))
        if is_added_in_blocks(body.arguments[number].type)
        and (combination := combination_of(op, number - first)) is not None
        and combination[0].name in ADDITIONS
    ]


def summed_loops(op: Any) -> list[int]:
    """Return the loops of a `linalg.generic` that are not parallel."""
    return [loop for loop, is_parallel in enumerate(parallel_loops(op)) if not is_parallel]


def can_be_split(op: Any) -> bool:
    """Return whether the sums of a `linalg.generic` on buffers can be added up in blocks."""
    summed = summed_loops(op)
    factors = [
        [factor_of(index, f"d{loop}") for index in map_.results for loop in summed]
        for map_ in indexing_maps(op)
    ]
    extents = extents_of(op)
    return (
        bool(summed)
        and bool(summed_outputs(op))
        and all(loop in extents for loop in summed)
        and not any(None in operand_factors for operand_factors in factors)
        and not any(map(any, factors[input_count(op) :]))
    )


def length_of_sums(op: Any) -> int | None:
    """Return how many numbers are added to each element; None for a dynamic number."""
    extents = extents_of(op)
    return product_of(extents[loop] for loop in summed_loops(op))


def dynamic_length(op: Any) -> Any:
    """Emit the number of numbers that are added to each element, as an index."""
    total: Any = index(1)
    for loop in summed_loops(op):
        total = arith.muli(total, _extent(op, loop))
    return total


_Blocks: TypeAlias = "Mapping[int, tuple[Any, Any]]"
"""For each loop that is cut, the start and the length of its block."""


def split_sums(op: Any, block: int, *, with_zeros: bool = False) -> list[Any]:
    """Write a `linalg.generic` in blocks at the insertion point; return the ops of the blocks.

    Args:
        op: an op that `can_be_split`; it stays in place.
        block: about how many numbers are added up before a block ends.
        with_zeros: whether its sums begin at 0.
    """
    outputs = {number: op.operands[number] for number in summed_outputs(op)}
    sums = {
        number: PartialSums(output, *buffers_like(output, range(output.type.rank)))
        for number, output in outputs.items()
    }
    for partial in sums.values():
        partial.clear_errors()
    written: list[Any] = []

    def cut(loops: Sequence[int], room: Any, blocks: _Blocks) -> None:
        """Write the loops over blocks of some loops, the first ones in whole if they fit.

        Args:
            loops: loops of the op, the last to be cut first.
            room: how many rounds of them together are a block: a number, or an index.
            blocks: the blocks of the loops before.
        """
        if not loops:
            for partial in sums.values():
                partial.clear_parts(with_zeros=with_zeros)
            parts = {number: partial.parts for number, partial in sums.items()}
            written.append(_slice(op, blocks, parts))
            for partial in sums.values():
                partial.add_parts()
            return
        loop, *inner_loops = loops
        extent = extents_of(op)[loop]
        if not isinstance(room, int) or extent is None:
            length, most = _extent(op, loop), index(room)
            inner_room = arith.maxui(arith.divui(most, arith.maxui(length, index(1))), index(1))
            write_loop(loops, index(0), length, arith.minui(length, most), inner_room, blocks)
        elif extent <= room:
            cut(inner_loops, max(1, room // max(1, extent)), blocks)
        else:
            whole = extent - extent % room
            for low, high, size in ((0, whole, room), (whole, extent, extent - whole)):
                if size:
                    write_loop(loops, index(low), index(high), size, 1, blocks)

    def write_loop(
        loops: Sequence[int], low: Any, high: Any, size: Any, room: Any, blocks: _Blocks
    ) -> None:
        step: Any = index(size) if isinstance(size, int) else arith.maxui(size, index(1))

        def body(start: Any, _: list[Any]) -> list[Any]:
            length = size
            if not isinstance(size, int):
                length = arith.minui(size, arith.subi(high, start))
            cut(loops[1:], room, {**blocks, loops[0]: (start, length)})
            return []

        counted(low, high, [], body, step)

    cut(_loops_to_cut(op), block, {})
    for partial in sums.values():
        memref.dealloc(partial.parts)
        memref.dealloc(partial.errors)
    return written


def _loops_to_cut(op: Any) -> list[int]:
    """Return the summed loops, the last to be cut first: those along memory, then the innermost."""

    def order(loop: int) -> tuple[int, int]:
        strides = [
            operand.type.get_strides_and_offset()[0][axis]
            for operand, map_ in zip(op.operands, indexing_maps(op), strict=True)
            if isinstance(operand.type, ir.MemRefType)
            for axis, expression in enumerate(map_.results)
            if factor_of(expression, f"d{loop}")
        ]
        static = [stride for stride in strides if stride >= 0]
        return min(static, default=sys.maxsize), -loop

    return sorted(summed_loops(op), key=order)


def buffers_like(total: Any, axes: Sequence[int]) -> tuple[Any, Any]:
    """Allocate two buffers with some axes of another: for the sums of a block, and the errors."""
    type_ = total.type
    shape = [type_.shape[axis] for axis in axes]
    part = ir.MemRefType.get(shape, type_.element_type, None, type_.memory_space)
    sizes = [dim(total, axis) for axis in axes if type_.is_dynamic_dim(axis)]
    parts, errors = (memref.alloc(part, sizes, [], alignment=64) for _ in range(2))
    return parts, errors


def _slice(op: Any, blocks: _Blocks, outputs: Mapping[int, Any]) -> Any:
    """Clone an op for blocks of its loops, with other outputs."""
    operands = list(op.operands)
    for number, map_ in enumerate(indexing_maps(op)):
        if number in outputs:
            operands[number] = outputs[number]
            continue
        for axis, expression in enumerate(map_.results):
            for loop, (low, size) in blocks.items():
                factor = factor_of(expression, f"d{loop}")
                if factor:
                    operands[number] = _part(op, operands[number], axis, loop, factor, low, size)
    clone = copied_on(op, operands)
    for position in operations(clone, {"linalg.index"}):
        if loop_of(position) in blocks:
            with ir.InsertionPoint.after(position):
                low, _ = blocks[loop_of(position)]
                moved = arith.AddIOp(position.results[0], low)
            position.results[0].replace_all_uses_except(moved.result, moved.operation)
    return clone


def _part(op: Any, operand: Any, axis: int, loop: int, factor: int, low: Any, size: Any) -> Any:
    extent = extents_of(op)[loop]
    length: Any
    if extent is not None and isinstance(size, int) and not operand.type.is_dynamic_dim(axis):
        length = operand.type.get_dim_size(axis) - factor * (extent - size)
    else:
        excess = arith.muli(arith.subi(_extent(op, loop), index(size)), index(factor))
        length = arith.subi(dim(operand, axis), excess)
    first = low if factor == 1 else arith.muli(low, index(factor))
    return part_along(operand, axis, first, length)


def _extent(op: Any, loop: int) -> Any:
    for operand, map_ in zip(op.operands, maps_of(op), strict=True):
        if not isinstance(operand.type, ir.MemRefType):
            continue
        for axis, expression in enumerate(map_.results):
            if isinstance(expression, ir.AffineDimExpr) and expression.position == loop:
                return dim(operand, axis)
    raise AssertionError("a loop without a length")
