"""Structured ops on buffers that add up floats, in blocks whose sums are added with compensation.

before:
    linalg.generic ... ins(%a : memref<9000x7xf32>) outs(%c : memref<7xf32>)      d0 is summed
after, in blocks of 512:
    %parts, %errors = memref.alloc()                                             as %c
    %errors = -0.0
    scf.for %low = 0 to 8704 step 512 {
      %parts = -0.0
      linalg.generic ... ins(%a[%low, 0] [512, 7]) outs(%parts)
      %c, %errors = %c + (%parts + %errors), and what that rounds away
    }
    the same for the 296 that are left
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, memref, scf
from linalg_ext.definition.affine import factor_of
from linalg_ext.structured.utils.maps import indexing_maps
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.buffer_sizes import dim
from linalg_ext.transforms.ir_utils.generics import (
    extents_of,
    input_count,
    loop_of,
    maps_of,
    parallel_loops,
)
from linalg_ext.transforms.ir_utils.walking import operations
from linalg_ext.transforms.parallel.slice_writer import part_along

from .long_sums import ADDITIONS, PartialSums, is_added_in_blocks


def summed_outputs(op: Any) -> list[int]:
    """The operands of a `linalg.generic` that floats, or complex numbers, are added to."""
    body = op.regions[0].blocks[0]
    first = input_count(op)
    yielded = body.operations[len(body.operations) - 1].operation.operands
    return [
        at
        for at, value in enumerate(yielded, start=first)
        if is_added_in_blocks(value.type) and _adds(body.arguments[at], value)
    ]


def summed_loops(op: Any) -> list[int]:
    """The loops of a `linalg.generic` that are not parallel."""
    return [loop for loop, is_parallel in enumerate(parallel_loops(op)) if not is_parallel]


def _adds(old: Any, value: Any) -> bool:
    """Return whether a value is the old element of an output with something added."""
    if isinstance(value.owner, ir.Block) or len(list(old.uses)) != 1:
        return False
    op = value.owner.operation
    return op.name in ADDITIONS and old in list(op.operands)


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
        and not any(None in each for each in factors)
        and not any(map(any, factors[input_count(op) :]))
    )


def length_of_sums(op: Any) -> int | None:
    """Return how many numbers are added to each element; None where only the run tells."""
    extents = extents_of(op)
    sizes = [extents[loop] for loop in summed_loops(op)]
    known = [size for size in sizes if size is not None]
    return math.prod(known) if len(known) == len(sizes) else None


def length_at_run_time(op: Any) -> Any:
    """The same, as an index."""
    total: Any = index(1)
    for loop in summed_loops(op):
        total = arith.muli(total, _extent(op, loop))
    return total


def split_sums(op: Any, block: int, *, with_zeros: bool = False) -> list[Any]:
    """Write a `linalg.generic` in blocks at the insertion point; those that add up a block.

    Args:
        op: that `can_be_split`; it stays where it is.
        block: about how many numbers are added up before a block ends.
        with_zeros: whether its sums begin at 0.
    """
    sums = {at: _partial_sums(op.operands[at]) for at in summed_outputs(op)}
    for each in sums.values():
        each.forget()
    written: list[Any] = []

    def write(places: Mapping[int, tuple[Any, Any]]) -> None:
        for each in sums.values():
            each.begin(with_zeros=with_zeros)
        written.append(_slice(op, places, {at: each.parts for at, each in sums.items()}))
        for each in sums.values():
            each.add()

    _in_blocks(op, _loops_to_cut(op), block, {}, write)
    for each in sums.values():
        memref.dealloc(each.parts)
        memref.dealloc(each.errors)
    return written


def _loops_to_cut(op: Any) -> list[int]:
    """The summed loops, the last to be cut first: those along memory, then the innermost."""

    def stride(loop: int) -> tuple[int, int]:
        strides = [
            operand.type.get_strides_and_offset()[0][axis]
            for operand, map_ in zip(op.operands, indexing_maps(op), strict=True)
            if isinstance(operand.type, ir.MemRefType)
            for axis, expression in enumerate(map_.results)
            if factor_of(expression, f"d{loop}")
        ]
        known = [each for each in strides if each >= 0]
        return min(known, default=sys.maxsize), -loop

    return sorted(summed_loops(op), key=stride)


def _partial_sums(total: Any) -> PartialSums:
    type_ = total.type
    part = ir.MemRefType.get(type_.shape, type_.element_type, None, type_.memory_space)
    sizes = [dim(total, axis) for axis in range(type_.rank) if type_.is_dynamic_dim(axis)]
    buffers = [memref.alloc(part, sizes, [], alignment=64) for _ in range(2)]
    return PartialSums(total, *buffers)


def _in_blocks(
    op: Any,
    loops: Sequence[int],
    room: Any,
    places: dict[int, tuple[Any, Any]],
    write: Callable[[Mapping[int, tuple[Any, Any]]], None],
) -> None:
    """Write the loops over blocks of some loops of an op, the first ones in whole if they fit.

    Args:
        loops: of the op, the last to be cut first.
        room: how many rounds of them together are a block: a number, or an index.
        places: where the blocks of the loops before begin, and how long they are.
        write: what is done with a block.
    """
    if not loops:
        write(places)
        return
    loop, *others = loops
    extent = extents_of(op)[loop]
    if isinstance(room, int) and extent is not None:
        if extent <= room:
            _in_blocks(op, others, max(1, room // max(1, extent)), places, write)
            return
        whole = extent - extent % room
        for low, high, size in ((0, whole, room), (whole, extent, extent - whole)):
            if size:
                _block_loop(op, others, 1, loop, (index(low), index(high), size), places, write)
        return
    length, most = _extent(op, loop), index(room)
    left = arith.maxui(arith.divui(most, arith.maxui(length, index(1))), index(1))
    bounds = index(0), length, arith.minui(length, most)
    _block_loop(op, others, left, loop, bounds, places, write)


def _block_loop(
    op: Any,
    others: Sequence[int],
    room: Any,
    loop: int,
    bounds: tuple[Any, Any, Any],
    places: dict[int, tuple[Any, Any]],
    write: Callable[[Mapping[int, tuple[Any, Any]]], None],
) -> None:
    low, high, size = bounds
    step: Any = index(size) if isinstance(size, int) else arith.maxui(size, index(1))
    outer = scf.ForOp(low, high, step)
    with ir.InsertionPoint(outer.body):
        at = outer.induction_variable
        here: Any = size if isinstance(size, int) else arith.minui(size, arith.subi(high, at))
        _in_blocks(op, others, room, {**places, loop: (at, here)}, write)
        scf.YieldOp([])


def _slice(op: Any, places: Mapping[int, tuple[Any, Any]], outputs: Mapping[int, Any]) -> Any:
    """An op on a part of its loops, with other outputs."""
    operands = list(op.operands)
    for number, map_ in enumerate(indexing_maps(op)):
        if number in outputs:
            operands[number] = outputs[number]
            continue
        for axis, expression in enumerate(map_.results):
            for loop, (low, size) in places.items():
                factor = factor_of(expression, f"d{loop}")
                if factor:
                    operands[number] = _part(op, operands[number], axis, loop, factor, low, size)
    clone = op.clone().operation
    for number, operand in enumerate(operands):
        clone.operands[number] = operand
    for position in operations(clone, {"linalg.index"}):
        if loop_of(position) in places:
            with ir.InsertionPoint.after(position):
                low, _ = places[loop_of(position)]
                moved = arith.AddIOp(position.results[0], low)
            position.results[0].replace_all_uses_except(moved.result, moved.operation)
    return clone


def _part(op: Any, operand: Any, axis: int, loop: int, factor: int, low: Any, size: Any) -> Any:
    """The part of an operand that a block of a loop reaches."""
    extent = extents_of(op)[loop]
    length: Any
    if extent is not None and isinstance(size, int) and not operand.type.is_dynamic_dim(axis):
        length = operand.type.get_dim_size(axis) - factor * (extent - size)
    else:
        left_out = arith.muli(arith.subi(_extent(op, loop), index(size)), index(factor))
        length = arith.subi(dim(operand, axis), left_out)
    first = low if factor == 1 else arith.muli(low, index(factor))
    return part_along(operand, axis, first, length)


def _extent(op: Any, loop: int) -> Any:
    """The length of a loop, as an index."""
    for operand, map_ in zip(op.operands, maps_of(op), strict=True):
        if not isinstance(operand.type, ir.MemRefType):
            continue
        for axis, expression in enumerate(map_.results):
            if isinstance(expression, ir.AffineDimExpr) and expression.position == loop:
                return dim(operand, axis)
    raise AssertionError("a loop without a length")
