"""Conditions on accesses to single elements, to slices, and to views of other shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, memref, tensor
from linalg_ext.transforms.analysis.memory_sizes import element_bytes
from linalg_ext.transforms.ir_utils.arithmetic import constant, index
from linalg_ext.transforms.ir_utils.tensor_loops import add, compare, sub

from ._assertions import Bounds, mixed, operand_groups


def check_insertion(op: Any, bounds: Bounds) -> None:
    """`tensor.insert_slice`: all of it is within the whole, and of the size that it says."""
    (source,), (whole,), *dynamic = operand_groups(op)
    offsets, sizes, strides = _slice_of(op, dynamic, bounds)
    _check_slice(whole, offsets, sizes, strides, bounds)
    for step in strides:
        bounds.at_most(1, step)
    _check_sizes(source, sizes, bounds)


def check_extraction(op: Any, bounds: Bounds) -> None:
    """`tensor.extract_slice` and `memref.subview`: all of it is within the whole."""
    (whole,), *dynamic = operand_groups(op)
    offsets, sizes, strides = _slice_of(op, dynamic, bounds)
    _check_slice(whole, offsets, sizes, strides, bounds)


def _slice_of(op: Any, dynamic: Sequence[Any], bounds: Bounds) -> list[list[Any]]:
    """Offsets, sizes and strides of a slice."""
    names = ("static_offsets", "static_sizes", "static_strides")
    return [
        [bounds.number(each) for each in mixed(op, name, group)]
        for name, group in zip(names, dynamic, strict=True)
    ]


def _check_slice(
    whole: Any, offsets: Sequence[Any], sizes: Sequence[Any], strides: Sequence[Any], bounds: Bounds
) -> None:
    for axis, (start, count, step) in enumerate(zip(offsets, sizes, strides, strict=True)):
        limit = bounds.size(whole, axis)
        if step == 1:
            bounds.within(start, count, limit)
        else:
            _check_steps(start, count, step, limit, bounds)


def _check_steps(start: Any, count: Any, step: Any, limit: Any, bounds: Bounds) -> None:
    """Require that the first and the last of strided elements are within the limit."""
    if all(isinstance(each, int) for each in (start, count, step, limit)):
        ends = (start, start + (count - 1) * step) if count else (start, max(start - 1, 0))
        bounds.holds(count >= 0 and all(0 <= end < limit or not count for end in ends))
        if not count:
            bounds.within(start, 0, limit)
        return
    bounds.at_most(0, count)
    far, inside = _product(sub(count, 1), step)
    for end in (start, add(start, far)):
        both = arith.andi(compare("sle", 0, end), compare("slt", end, limit))
        inside = arith.andi(inside, both)
    none = arith.andi(compare("sle", 0, start), compare("sle", start, limit))
    bounds.holds(arith.ori(inside, arith.andi(none, compare("eq", count, 0))))


def _product(left: Any, right: Any) -> tuple[Any, Any]:
    """A signed product, and whether 64 bits hold it."""
    i64 = ir.IntegerType.get_signless(64)
    product = arith.MulSIExtendedOp(*(arith.index_cast(i64, index(x)) for x in (left, right)))
    sign = arith.shrsi(product.low, constant(i64, 63))
    fits = arith.cmpi(arith.CmpIPredicate.eq, product.high, sign)
    return arith.index_cast(ir.IndexType.get(), product.low), fits


def _check_sizes(source: Any, sizes: Sequence[Any], bounds: Bounds) -> None:
    """A slice is as large as it is said to be; dimensions of size one may have been dropped."""
    axis, spare = 0, len(sizes) - source.type.rank
    for count in sizes:
        if spare and count == 1 and not _is_one(source, axis):
            spare -= 1
            continue
        if axis == source.type.rank:
            return
        # An assertion of its own: where the slice is may be known before what is put there.
        bounds.equal(bounds.size(source, axis), count, _OTHER_SIZE)
        axis += 1


_OTHER_SIZE = "the inserted value is larger, or smaller, than the slice"


def _is_one(source: Any, axis: int) -> bool:
    return bool(axis < source.type.rank and source.type.get_dim_size(axis) == 1)


def check_read(op: Any, bounds: Bounds) -> None:
    """One element that is read: `memref.load`, `tensor.extract`."""
    base, *at = op.operands
    check_element(base, at, bounds)


def check_written(op: Any, bounds: Bounds) -> None:
    """One element that is written: `memref.store`, `tensor.insert`, `memref.atomic_rmw`."""
    _, base, *at = op.operands
    check_element(base, at, bounds)


def check_element(base: Any, at: Sequence[Any], bounds: Bounds) -> None:
    """The place of one element."""
    for axis, place in enumerate(at):
        bounds.within(bounds.number(place), 1, bounds.size(base, axis))


def check_dimension(op: Any, bounds: Bounds) -> None:
    """`tensor.dim` and `memref.dim`: there is such a dimension."""
    source, axis = op.operands
    if isinstance(source.type, ir.MemRefType | ir.RankedTensorType):
        rank: Any = source.type.rank
    else:
        of_tensor = isinstance(source.type, ir.UnrankedTensorType)
        rank = (tensor.rank if of_tensor else memref.rank)(source)
    bounds.within(bounds.number(axis), 1, rank)


def check_reinterpretation(op: Any, bounds: Bounds) -> None:
    """`memref.reinterpret_cast`: what it shows, its source shows."""
    (source,), *dynamic = operand_groups(op)
    if not isinstance(source.type, ir.MemRefType):
        return
    names = ("static_offsets", "static_sizes", "static_strides")
    (offset,), sizes, strides = (
        mixed(op, name, group) for name, group in zip(names, dynamic, strict=True)
    )
    rank = source.type.rank
    _, first, *rest = memref.ExtractStridedMetadataOp(source).results
    least = most = first
    for count, step in zip(rest[:rank], rest[rank:], strict=True):
        far = arith.muli(index(sub(count, 1)), step)  # of a buffer that exists
        least = arith.addi(least, arith.minsi(far, index(0)))
        most = arith.addi(most, arith.maxsi(far, index(0)))
    span = arith.subi(most, least)
    # No sum of what is near can leave 64 bits.
    low = high = index(offset)
    inside = _is_between(least, offset, most)
    for count, step in zip(sizes, strides, strict=True):
        bounds.at_most(0, count)
        far, fits = _product(sub(count, 1), step)
        near = arith.andi(fits, _is_between(arith.subi(index(0), span), far, span))
        inside = arith.andi(inside, near)
        low = arith.addi(low, arith.minsi(far, index(0)))
        high = arith.addi(high, arith.maxsi(far, index(0)))
    inside = arith.andi(inside, _is_between(least, low, high))
    inside = arith.andi(inside, compare("sle", high, most))
    for count in sizes:
        inside = arith.ori(inside, compare("eq", count, 0))
    bounds.holds(inside)


def _is_between(low: Any, value: Any, high: Any) -> Any:
    return arith.andi(compare("sle", low, value), compare("sle", value, high))


def check_view(op: Any, bounds: Bounds) -> None:
    """`memref.view`: its bytes are those of the buffer."""
    source, shift, *dynamic = op.operands
    type_ = op.results[0].type
    left = iter(dynamic)
    sizes = [
        next(left) if type_.is_dynamic_dim(at) else type_.get_dim_size(at)
        for at in range(type_.rank)
    ]
    room = bounds.size(source, 0)
    bounds.within(shift, 0, room)
    for count in sizes:
        bounds.at_most(0, count)
    taken = bounds.product([element_bytes(type_.element_type), *sizes])
    bounds.at_most(taken, sub(room, shift))
