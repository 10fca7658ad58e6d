"""Cut the work of an entry into slices, any of which any thread may do.

before:
    func.func @entry(%a: memref<8x4xf32>, %b: memref<8x4xf32>, %status: memref<1xi64>)
        attributes {linalg_ext.status} {
      linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                      iterator_types = ["parallel", "parallel"]}
          ins(%a : memref<8x4xf32>) outs(%b : memref<8x4xf32>) {
      ^bb0(%x: f32, %y: f32):
        %z = math.exp %x : f32
        linalg.yield %z : f32
      }
      return
    }
after:
    func.func @entry(%a: memref<8x4xf32>, %b: memref<8x4xf32>, %status: memref<1xi64>)
        attributes {linalg_ext.slices = 2 : i64, linalg_ext.status} {
      %c0 = arith.constant 0 : index
      %given = memref.load %status[%c0] : memref<1xi64>
      %none = arith.constant 0 : i64
      memref.store %none, %status[%c0] : memref<1xi64>
      %slice = arith.index_cast %given : i64 to index
      %c4 = arith.constant 4 : index
      %first = arith.muli %slice, %c4 : index
      %as = memref.subview %a[%first, 0] [4, 4] [1, 1]
          : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1], offset: ?>>
      %bs = memref.subview %b[%first, 0] [4, 4] [1, 1]
          : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1], offset: ?>>
      linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                      iterator_types = ["parallel", "parallel"]}
          ins(%as : memref<4x4xf32, strided<[4, 1], offset: ?>>)
          outs(%bs : memref<4x4xf32, strided<[4, 1], offset: ?>>) {
      ^bb0(%x: f32, %y: f32):
        %z = math.exp %x : f32
        linalg.yield %z : f32
      }
      return
    }

The number of the slice comes in where the status goes out. All shapes stay static; where the slices
are not all of one size, the last has a copy of the code. A buffer that the entry allocates becomes
one of the slice alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, memref, scf
from linalg_ext.rewriting import Report, module_pass

from ._slices import Cut, Work, find_work
from ._status import entry_with_status
from ._steps import Access

NAME = "linalg-ext-share-work"

SLICES = "linalg_ext.slices"
"""The attribute of the entry that says how many slices there are."""


@module_pass(NAME)
def share_work(module: ir.Operation, *, slices: int = 2) -> Report:
    """Have the entry do one slice of its work, of so many in all, or of fewer if as good.

    Leaves the entry as it is where its loops cannot be cut.
    """
    report = Report(NAME)
    entry = entry_with_status(module)
    if entry is None or slices < 2:
        return report
    report.matched[entry.name] += 1
    work = find_work(entry, slices)
    if isinstance(work, str):
        report.leave(entry.name, work)
        return report
    cut = work.cuts.into(slices)
    if cut.slices < 2:
        report.leave(entry.name, "its loops are too short")
        return report
    report.changed[entry.name] += 1
    _cut(entry, work, cut)
    count = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, entry.context), cut.slices)
    entry.attributes[SLICES] = count
    return report


def slices_of(module: ir.Operation) -> int:
    """How many slices the work of the entry was cut into; 1 where it was not."""
    entry = entry_with_status(module)
    if entry is None or SLICES not in entry.attributes:
        return 1
    return ir.IntegerAttr(entry.attributes[SLICES]).value


def _cut(entry: ir.Operation, work: Work, cut: Cut) -> None:
    block = entry.regions[0].blocks[0]
    originals = list(block.operations)
    with entry.location, ir.InsertionPoint(originals[-1]):
        number = _number_of_slice(block.arguments[len(block.arguments) - 1])
        index = ir.IndexType.get()
        first = arith.muli(number, arith.constant(index, cut.size))
        copier = _Copier(work, originals[:-1], first)
        if cut.size == cut.last:
            copier.copy(cut.size)
        else:
            last = arith.constant(index, cut.slices - 1)
            is_last = arith.cmpi(arith.CmpIPredicate.eq, number, last)
            branch = scf.IfOp(is_last, has_else=True)
            for region, size in zip(branch.regions, (cut.last, cut.size), strict=True):
                with ir.InsertionPoint(region.blocks[0]):
                    copier.copy(size)
                    scf.YieldOp([])
    copier.erase_originals()


def _number_of_slice(status: Any) -> Any:
    zero = arith.constant(ir.IndexType.get(), 0)
    given = memref.load(status, [zero])
    memref.store(arith.constant(ir.IntegerType.get_signless(64), 0), status, [zero])
    return arith.index_cast(ir.IndexType.get(), given)


class _Copier:
    """Writes the work of one slice at the insertion point, as often as it is asked."""

    def __init__(self, work: Work, operations: Sequence[Any], first: Any) -> None:
        self._work = work
        self._operations = [op.operation for op in operations]
        self._first = first
        self._slices: list[tuple[Any, int, int, Any]] = []

    def copy(self, size: int) -> None:
        """Write every step, with `size` steps of the loop that is cut."""
        local: dict[int, Any] = {}
        self._slices.clear()
        for step, loop in zip(self._work.steps, self._work.loops, strict=True):
            for access in step.accesses:
                value = self._work.buffers[access.buffer]
                if self._is_local(access.buffer) and access.buffer not in local:
                    axis = self._work.axes[access.buffer]
                    local[access.buffer] = _allocate(value, axis, size)
            operands = list(step.op.operands)
            accesses = iter(step.accesses)
            new = []
            for operand in operands:
                if not isinstance(operand.type, ir.MemRefType):
                    new.append(operand)
                    continue
                access = next(accesses)
                if access.buffer in local:
                    new.append(local[access.buffer])
                else:
                    new.append(self._slice(operand, access, loop, size))
            clone = step.op.clone()
            for position, value in enumerate(new):
                clone.operands[position] = value
        for value in local.values():
            memref.DeallocOp(value)

    def _slice(self, operand: Any, access: Access, loop: int, size: int) -> Any:
        """The part of an operand that a slice reaches: all of it where the loop does not step."""
        found = [
            (axis, index[loop])
            for axis, index in enumerate(access.indices)
            if index is not None and loop in index
        ]
        if not found:
            return operand
        ((axis, factor),) = found
        # One view for all ops: what one fills and another adds to is seen to be the same.
        for whole, known_axis, known_factor, part in self._slices:
            if whole == operand and (known_axis, known_factor) == (axis, factor):
                return part
        first = self._first
        if factor != 1:
            first = arith.muli(first, arith.constant(ir.IndexType.get(), factor))
        # What a window reaches beyond its first step stays.
        part = _part(operand, axis, first, factor * (self._work.extent - size))
        self._slices.append((operand, axis, factor, part))
        return part

    def erase_originals(self) -> None:
        """Erase what was copied."""
        for op in reversed(self._operations):
            if op.name in ("memref.dealloc", "linalg.generic", "memref.copy"):
                op.erase()
        for number, value in enumerate(self._work.buffers):
            if self._is_local(number):
                value.owner.erase()

    def _is_local(self, buffer: int) -> bool:
        return buffer in self._work.axes and not isinstance(
            self._work.buffers[buffer].owner, ir.Block
        )


def _allocate(original: Any, axis: int, size: int) -> Any:
    shape = list(original.type.shape)
    shape[axis] = size
    type_ = ir.MemRefType.get(shape, original.type.element_type)
    alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 64)
    return memref.AllocOp(type_, [], [], alignment=alignment).result


def _part(operand: Any, axis: int, first: Any, left_out: int) -> Any:
    """An operand from `first` on along an axis, shorter by so many."""
    type_ = operand.type
    strides, _ = type_.get_strides_and_offset()
    shape = list(type_.shape)
    shape[axis] -= left_out
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(dynamic, strides)
    result = ir.MemRefType.get(shape, type_.element_type, layout)
    offsets = [0] * len(shape)
    offsets[axis] = ir.ShapedType.get_dynamic_size()
    return memref.SubViewOp(
        result, operand, [first], [], [], offsets, shape, [1] * len(shape)
    ).result
