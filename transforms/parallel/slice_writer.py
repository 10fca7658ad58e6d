"""The work of one slice, written from the steps that are cut."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, memref
from linalg_ext.transforms.ir_utils.arithmetic import dim, index, times

from ._partition import Work
from ._work_steps import Access


class SliceWriter:
    """Writes the work of one slice at the insertion point, as often as it is asked."""

    def __init__(self, work: Work) -> None:
        """
        Args:
            work: what is cut, and how.
        """
        self._work = work
        self._local = [buffer for buffer in work.axes if _is_used_by_these_alone(buffer, work)]

    def write(self, first: Any, size: Any) -> None:
        """Write every step from step `first` of the loop that is cut on.

        Args:
            first: an index.
            size: how many steps: a number, or an index.
        """
        views: list[tuple[Any, int, int, Any]] = []
        local = {buffer: _allocate(buffer, self._work.axes[buffer], size) for buffer in self._local}
        for step, loop in zip(self._work.steps, self._work.loops, strict=True):
            accesses = iter(step.accesses)
            operands = list(step.op.operands)
            for position, operand in enumerate(operands):
                if not isinstance(operand.type, ir.MemRefType):
                    continue
                access = next(accesses)
                if access.buffer in local:
                    operands[position] = local[access.buffer]
                else:
                    operands[position] = self._part(access, loop, first, size, views)
            clone = step.op.clone()
            for position, operand in enumerate(operands):
                clone.operands[position] = operand
        for value in local.values():
            memref.DeallocOp(value)

    def erase_originals(self) -> None:
        """Erase what was written."""
        for step in self._work.steps:
            step.op.erase()
        for buffer in self._local:
            for use in list(buffer.uses):
                use.owner.erase()
            buffer.owner.erase()

    def _part(
        self,
        access: Access,
        loop: int,
        first: Any,
        size: Any,
        views: list[tuple[Any, int, int, Any]],
    ) -> Any:
        """The part of an operand that a slice reaches: all of it where the loop does not step."""
        operand = access.value
        found = [
            (axis, sum_[loop])
            for axis, sum_ in enumerate(access.indices)
            if sum_ is not None and loop in sum_
        ]
        if not found:
            return operand
        ((axis, factor),) = found
        # One view for all ops: what one fills and another adds to is seen to be the same.
        for whole, known_axis, known_factor, part in views:
            if whole == operand and (known_axis, known_factor) == (axis, factor):
                return part
        # What a window reaches beyond its first step stays.
        extent = self._work.extent
        if isinstance(size, int) and extent is not None:
            left_out: Any = factor * (extent - size)
        else:
            left_out = times(arith.subi(extent_of(self._work), size), factor)
        if operand.type.is_dynamic_dim(axis) or not isinstance(left_out, int):
            length: Any = arith.subi(dim(operand, axis), index(left_out))
        else:
            length = operand.type.get_dim_size(axis) - left_out
        part = part_along(operand, axis, times(first, factor), length)
        views.append((operand, axis, factor, part))
        return part


def extent_of(work: Work) -> Any:
    """Return the number of steps of the loop that is cut, as an index."""
    if work.extent is not None:
        return index(work.extent)
    return dim(*work.steps[0].measures[work.loops[0]])


def _is_used_by_these_alone(buffer: Any, work: Work) -> bool:
    if isinstance(buffer.owner, ir.Block) or buffer.owner.name != "memref.alloc":
        return False
    steps = [step.op for step in work.steps]
    users = [use.owner.operation for use in buffer.uses]
    return all(user.name == "memref.dealloc" or user in steps for user in users)


def _allocate(original: Any, axis: int, size: Any) -> Any:
    type_ = original.type
    shape, dynamic = list(type_.shape), list(original.owner.operands)
    # Where the size of an axis is open, an operand is: which one it is.
    place = sum(type_.is_dynamic_dim(before) for before in range(axis))
    if type_.is_dynamic_dim(axis):
        del dynamic[place]
    if isinstance(size, int):
        shape[axis] = size
    else:
        shape[axis] = ir.ShapedType.get_dynamic_size()
        dynamic.insert(place, size)
    result = ir.MemRefType.get(shape, type_.element_type)
    alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 64)
    return memref.AllocOp(result, dynamic, [], alignment=alignment).result


def part_along(operand: Any, axis: int, first: Any, length: Any) -> Any:
    """An operand from `first` on along an axis, so long."""
    type_ = operand.type
    open_size = ir.ShapedType.get_dynamic_size()
    strides, _ = type_.get_strides_and_offset()
    shape: list[int] = list(type_.shape)
    sizes: list[Any] = []
    for at in range(len(shape)):
        if at == axis:
            shape[at] = length if isinstance(length, int) else open_size
            sizes += [] if isinstance(length, int) else [length]
        elif type_.is_dynamic_dim(at):
            sizes.append(dim(operand, at))
    layout = ir.StridedLayoutAttr.get(ir.ShapedType.get_dynamic_stride_or_offset(), strides)
    result = ir.MemRefType.get(shape, type_.element_type, layout)
    offsets = [0] * len(shape)
    offsets[axis] = open_size
    return memref.SubViewOp(
        result, operand, [first], sizes, [], offsets, shape, [1] * len(shape)
    ).result
