"""What must hold of slices that are put in, of pads, and of views of other shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, memref, tensor

from ._access_bounds import Bounds, mixed, operand_groups, range_of, size
from ._elementwise import index, negated
from ._sizes import element_bytes
from ._tensor_loops import add, as_index, compare, mul, sub


def check_insertion(op: Any, bounds: Bounds) -> None:
    """`tensor.insert_slice`: all of it is within the whole, and of the size that it says."""
    (source,), (whole,), *dynamic = operand_groups(op)
    names = ("static_offsets", "static_sizes", "static_strides")
    offsets, sizes, strides = (
        mixed(op, name, group) for name, group in zip(names, dynamic, strict=True)
    )
    for axis, (start, count, step) in enumerate(zip(offsets, sizes, strides, strict=True)):
        limit = size(whole, axis)
        bounds.within(start, count if step == 1 else 0, limit)
        if step != 1:
            _check_steps(start, count, step, limit, bounds)
    _check_sizes(source, sizes, bounds)


def _check_steps(start: Any, count: Any, step: Any, limit: Any, bounds: Bounds) -> None:
    """Elements that are apart: the last of them is below the limit."""
    bounds.at_most(0, count)
    bounds.at_most(count, limit)
    bounds.at_most(1, step)
    known = [each for each in (start, count, step, limit) if isinstance(each, int)]
    if len(known) == 4 and start + (count - 1) * step < limit:
        return
    many = compare("sgt", count, 1)
    far = compare("sle", step, limit)
    last = add(start, arith.muli(index(sub(count, 1)), index(step)))
    inside = arith.andi(far, compare("slt", last, limit))
    # One element, or none, is where the start is, or nowhere.
    alone = arith.andi(negated(many), compare("sle", add(start, count), limit))
    bounds.holds(arith.ori(inside, alone))


def _check_sizes(source: Any, sizes: Sequence[Any], bounds: Bounds) -> None:
    """A slice is as large as it is said to be; dimensions of size one may have been dropped."""
    axis, spare = 0, len(sizes) - source.type.rank
    for count in sizes:
        if spare and count == 1 and not _is_one(source, axis):
            spare -= 1
            continue
        if axis == source.type.rank:
            return
        given = size(source, axis)
        if given is not count and not (isinstance(given, int) and isinstance(count, int)):
            bounds.holds(compare("eq", given, count))
        axis += 1


def _is_one(source: Any, axis: int) -> bool:
    return bool(axis < source.type.rank and source.type.get_dim_size(axis) == 1)


def check_pad(op: Any, bounds: Bounds) -> None:
    """`tensor.pad` by amounts that are computed: they are not negative."""
    _, *dynamic = operand_groups(op)
    for amount in (each for group in dynamic for each in group):
        if range_of(amount)[0] < 0:
            bounds.at_most(0, amount)


def check_reshape(op: Any, bounds: Bounds) -> None:
    """A shape that is computed has as many elements as there are."""
    source, shape = op.operands
    result = op.results[0].type
    kinds = ir.RankedTensorType, ir.MemRefType
    if not (isinstance(source.type, kinds) and isinstance(result, kinds)):
        return
    static = [result.get_dim_size(at) for at in range(result.rank) if not result.is_dynamic_dim(at)]
    count: Any = math.prod(static)
    given: Any = 1
    for axis in range(result.rank):
        if result.is_dynamic_dim(axis):
            load = tensor.extract if isinstance(result, ir.RankedTensorType) else memref.load
            found = as_index(load(shape, [index(axis)]))
            bounds.at_most(0, found)
            count = arith.muli(index(count), found)
    for axis in range(source.type.rank):
        given = mul(given, size(source, axis))
    if not (isinstance(count, int) and isinstance(given, int)):
        bounds.holds(compare("eq", count, given))


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
    least, most = _reach(first, rest[:rank], rest[rank:])
    for count in sizes:
        bounds.at_most(0, count)
    span = arith.subi(most, least)
    for count, step in zip(sizes, strides, strict=True):
        # Of a step of zero any count shows the same element.
        near = compare("sle", sub(count, 1), span)
        bounds.holds(arith.ori(near, compare("eq", step, 0)))
        bounds.at_most(arith.subi(index(0), span), step)
        bounds.at_most(step, span)
    low, high = _reach(offset, sizes, strides)
    inside = arith.andi(compare("sle", least, low), compare("sle", high, most))
    for count in sizes:
        inside = arith.ori(inside, compare("eq", count, 0))
    bounds.holds(inside)


def _reach(offset: Any, sizes: Sequence[Any], strides: Sequence[Any]) -> tuple[Any, Any]:
    """The first and the last element of a view."""
    low = high = index(offset)
    for count, step in zip(sizes, strides, strict=True):
        far = arith.muli(index(sub(count, 1)), index(step))
        low = arith.addi(low, arith.minsi(far, index(0)))
        high = arith.addi(high, arith.maxsi(far, index(0)))
    return low, high


def check_view(op: Any, bounds: Bounds) -> None:
    """`memref.view`: its bytes are those of the buffer."""
    source, shift, *dynamic = op.operands
    type_ = op.results[0].type
    left = iter(dynamic)
    sizes = [
        next(left) if type_.is_dynamic_dim(at) else type_.get_dim_size(at)
        for at in range(type_.rank)
    ]
    room = size(source, 0)
    bounds.within(shift, 0, room)
    taken: Any = element_bytes(type_.element_type)
    for count in sizes:
        bounds.at_most(0, count)
        bounds.at_most(count, room)
        taken = mul(taken, count)
        bounds.at_most(taken, room)
    bounds.at_most(taken, sub(room, shift))
