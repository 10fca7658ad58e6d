"""Cut the work of an entry into slices, one for each thread that calls it.

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
        attributes {linalg_ext.status} {
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
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, memref, scf
from linalg_ext.rewriting import Report, module_pass

from ._slices import Access, Work, find_work
from ._status import entry_with_status

NAME = "linalg-ext-share-work"

_ALIGNED = 16
"""Slices of long loops are a multiple of this: each starts in a cache line of its own."""


@module_pass(NAME)
def share_work(module: ir.Operation, *, threads: int = 2) -> Report:
    """Have the entry do one slice of its work, as many as `threads` in all.

    Leaves the entry as it is where its loops cannot be cut into that many.
    """
    report = Report(NAME)
    entry = entry_with_status(module)
    if entry is None or threads < 2:
        return report
    report.matched[entry.name] += 1
    work = find_work(entry)
    if isinstance(work, str):
        report.leave(entry.name, work)
    elif work.most_slices < threads:
        report.leave(entry.name, f"its loops cannot be cut into {threads}")
    else:
        report.changed[entry.name] += 1
        _cut(entry, work, threads)
    return report


@dataclass(frozen=True)
class _Cut:
    """A loop of `extent` steps, cut: slices of `size`, the last one of `last`."""

    size: int
    last: int


def _cut_of(extent: int, threads: int) -> _Cut:
    size = -(-extent // threads)
    if extent >= 32 * threads * _ALIGNED:
        size = -(-size // _ALIGNED) * _ALIGNED
    # Of 9 steps for 4 threads: 3, 3, 3 and none; of which 3, 2, 2, 2 is no cut of one size.
    while size * (threads - 1) >= extent:
        size -= 1
    return _Cut(size, extent - size * (threads - 1))


def _cut(entry: ir.Operation, work: Work, threads: int) -> None:
    block = entry.regions[0].blocks[0]
    originals = list(block.operations)
    end = originals[-1]
    cuts = [
        _cut_of(step.extents[loop], threads)
        for step, loop in zip(work.steps, work.loops, strict=True)
    ]
    with entry.location, ir.InsertionPoint(end):
        number = _number_of_slice(block.arguments[len(block.arguments) - 1])
        index = ir.IndexType.get()
        sizes = [cut.size for cut in cuts]
        starts = {
            size: arith.muli(number, arith.constant(index, size)) for size in dict.fromkeys(sizes)
        }
        firsts = [starts[size] for size in sizes]
        copier = _Copier(work, originals[:-1], firsts)
        if all(cut.size == cut.last for cut in cuts):
            copier.copy(sizes)
        else:
            is_last = arith.cmpi(arith.CmpIPredicate.eq, number, arith.constant(index, threads - 1))
            branch = scf.IfOp(is_last, has_else=True)
            lasts = [cut.last for cut in cuts]
            for region, extents in zip(branch.regions, (lasts, sizes), strict=True):
                with ir.InsertionPoint(region.blocks[0]):
                    copier.copy(extents)
                    scf.YieldOp([])
    copier.erase_originals()


def _number_of_slice(status: Any) -> Any:
    zero = arith.constant(ir.IndexType.get(), 0)
    given = memref.load(status, [zero])
    memref.store(arith.constant(ir.IntegerType.get_signless(64), 0), status, [zero])
    return arith.index_cast(ir.IndexType.get(), given)


class _Copier:
    """Writes the work of one slice at the insertion point, as often as it is asked."""

    def __init__(self, work: Work, operations: Sequence[Any], firsts: Sequence[Any]) -> None:
        self._work = work
        self._operations = [op.operation for op in operations]
        self._firsts = firsts

    def copy(self, sizes: Sequence[int]) -> None:
        """Write every step, with `sizes` steps of the loop that is cut."""
        local: dict[int, Any] = {}
        for at, (step, loop) in enumerate(zip(self._work.steps, self._work.loops, strict=True)):
            for access in step.accesses:
                value = self._work.buffers[access.buffer]
                if self._is_local(access.buffer) and access.buffer not in local:
                    axis = self._work.axes[access.buffer]
                    local[access.buffer] = _allocate(value, axis, sizes[at])
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
                    new.append(
                        _slice(
                            operand, access, loop, step.extents[loop], sizes[at], self._firsts[at]
                        )
                    )
            clone = step.op.clone()
            for position, value in enumerate(new):
                clone.operands[position] = value
        for value in local.values():
            memref.DeallocOp(value)

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


def _slice(operand: Any, access: Access, loop: int, extent: int, size: int, first: Any) -> Any:
    """The part of an operand that a slice reaches: all of it where the loop does not step."""
    found = [
        (axis, index[loop])
        for axis, index in enumerate(access.indices)
        if index is not None and loop in index
    ]
    if not found:
        return operand
    ((axis, factor),) = found
    type_ = operand.type
    strides, _ = type_.get_strides_and_offset()
    shape = list(type_.shape)
    # What a window reaches beyond its first step stays.
    shape[axis] -= factor * (extent - size)
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(dynamic, strides)
    result = ir.MemRefType.get(shape, type_.element_type, layout)
    start = first if factor == 1 else arith.muli(first, arith.constant(ir.IndexType.get(), factor))
    offsets = [0] * len(shape)
    offsets[axis] = ir.ShapedType.get_dynamic_size()
    return memref.SubViewOp(
        result, operand, [start], [], [], offsets, shape, [1] * len(shape)
    ).result
