"""Cut the work of an entry into slices, each of which any thread may run.

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
        attributes {linalg_ext.status, linalg_ext.threads = 2 : i64} {
      scf.forall (%slice) in (2) {
        %c4 = arith.constant 4 : index
        %first = arith.muli %slice, %c4 : index
        %as = memref.subview %a[%first, 0] [4, 4] [1, 1]
            : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1], offset: ?>>
        %bs = memref.subview %b[%first, 0] [4, 4] [1, 1]
            : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1], offset: ?>>
        linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>,
                                         affine_map<(m, n) -> (m, n)>],
                        iterator_types = ["parallel", "parallel"]}
            ins(%as : memref<4x4xf32, strided<[4, 1], offset: ?>>)
            outs(%bs : memref<4x4xf32, strided<[4, 1], offset: ?>>) {
        ^bb0(%x: f32, %y: f32):
          %z = math.exp %x : f32
          linalg.yield %z : f32
        }
      } {linalg_ext.slices = 2 : i64}
      return
    }

`_shared_regions` divides an entry into loops that are shared one after the other. Each begins when
all slices of the one before are done. Static shapes stay static; where the slices are not all of
one size, the last has a copy of the code. Where shapes are dynamic, the number of slices depends on
the sizes of the call: it is 1 where the work is small. A buffer that only one loop needs becomes
one of the slice. A long loop that is parallel already is shared as it is. The steps of a loop that
carries buffers between iterations, such as a recurrent layer, are shared one by one.

`linalg-ext-outline-shared-loops` makes the loops calls of the threads.
"""

from __future__ import annotations

from enum import Enum

from linalg_ext.bindings import arith, ir, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.arithmetic import index, times
from linalg_ext.transforms.ir_utils.module_functions import THREADS, entry_with_status
from linalg_ext.transforms.ir_utils.walking import operations

from . import _partition
from ._loops_in_slices import SLICES, loop_over_slices, parallel_loop, share_parallel_loop
from ._partition import Work, find_work
from ._run_time_slices import most_slices, slices_at_run_time
from ._shared_regions import Region, Row, parallel_loops, regions, rows, steps_by_row
from .slice_writer import SliceWriter, extent_of

NAME = "linalg-ext-share-work"


@module_pass(NAME)
def share_work(module: ir.Operation, *, threads: int = 2) -> Report:
    """Cut the entry's work into slices for `threads` threads, if it is worth it.

    Leaves the entry as it is where nothing of it can be cut, or nothing is worth it.
    """
    report = Report(NAME)
    entry = entry_with_status(module)
    if entry is None or threads < 2:
        return report
    report.matched[entry.name] += 1
    reasons: set[str] = set()
    for op in parallel_loops(entry):
        loop = parallel_loop(op)
        if loop is not None and loop.is_worth_sharing:
            report.changed[op.name] += 1
            share_parallel_loop(loop, threads)
    writers = [
        writer for row in rows(entry, reasons) for writer in _share_row(row, threads, reasons)
    ]
    # Not before: a row may end at an op that another one's buffers go with.
    for writer in writers:
        writer.erase_originals()
    report.changed["linalg"] += len(writers)
    if not report:
        for reason in sorted(reasons) or ["the entry has no structured op"]:
            report.leave(entry.name, reason)
        return report
    i64 = ir.IntegerType.get_signless(64)
    entry.attributes[THREADS] = ir.IntegerAttr.get(i64, threads)
    return report


def threads_of(module: ir.Operation) -> int:
    """For how many threads the entry's loops are cut; 1 where none is."""
    entry = entry_with_status(module)
    if entry is None or THREADS not in entry.attributes:
        return 1
    return ir.IntegerAttr(entry.attributes[THREADS]).value


class Sharing(Enum):
    """The degree to which the work of an entry can be shared."""

    NONE = "cannot be shared, or is small"
    ALWAYS = "can be shared"
    BY_SIZES = "can be shared where the sizes of a call are large"


def sharing_of(module: ir.Operation) -> Sharing:
    """Return whether work of the entry may be shared by two threads; nothing is changed.

    Steps that can be cut and take long enough together may still be too many regions that are too
    short: that is found when the work is cut.
    """
    entry = entry_with_status(module)
    if entry is None:
        return Sharing.NONE
    found = Sharing.NONE
    cut = fixed = 0.0
    for step in steps_by_row(entry):
        if step is None:
            cut = fixed = 0.0
        elif find_work([step], 2) is not None:
            took = step.nanoseconds(current())
            cut += took
            fixed += 0.0 if step.is_open else took
            if fixed >= _partition.WORTH_SHARING:
                return Sharing.ALWAYS
            if cut >= _partition.WORTH_SHARING:
                found = Sharing.BY_SIZES
    for op in parallel_loops(entry):
        loop = parallel_loop(op)
        if loop is not None and loop.is_worth_sharing:
            if loop.trips is not None:
                return Sharing.ALWAYS
            found = Sharing.BY_SIZES
    return found


def slices_of(module: ir.Operation) -> tuple[int, ...]:
    """Return the most slices of each shared loop of a module; empty if absent."""
    found = [op for op in operations(module, {"scf.forall"}) if SLICES in op.attributes]
    return tuple(ir.IntegerAttr(op.attributes[SLICES]).value for op in found)


def _share_row(row: Row, threads: int, reasons: set[str]) -> list[SliceWriter]:
    """Share what is worth it of a row: what wrote a loop each, the originals still being there."""
    found = regions(row.steps, threads)
    shared = [region for region in found if _is_shared(region, threads, reasons)]
    if not shared:
        return []
    writers = []
    for region in found:
        if region.work is not None and region in shared:
            writers.append(SliceWriter(region.work))
            with region.steps[0].op.location, ir.InsertionPoint(row.after):
                _write_loop(region.work, writers[-1], threads)
        else:
            for step in region.steps:
                step.op.move_before(row.after)
    for free in row.frees:
        free.move_before(row.after)
    return writers


def _is_shared(region: Region, threads: int, reasons: set[str]) -> bool:
    work = region.work
    if work is None:
        reasons.add("the largest op has no loop along one axis of the written memory alone")
        return False
    if work.is_open:
        return True
    if work.slices(threads, current()) is None:
        reasons.add("the work is small, or its loops are short")
        return False
    return True


def _write_loop(work: Work, writer: SliceWriter, threads: int) -> None:
    """Write the loop over the slices of a region at the insertion point."""
    cut = work.slices(threads, current())
    if cut is None:
        count, size = slices_at_run_time(work, threads)
        extent = extent_of(work)
        with loop_over_slices(count, most_slices(work, threads)) as slice_:
            first = arith.muli(slice_, size)
            writer.write(first, arith.minui(size, arith.subi(extent, first)))
        return
    with loop_over_slices(cut.slices, cut.slices) as slice_:
        first = times(slice_, cut.size)
        if cut.size == cut.last:
            writer.write(first, cut.size)
            return
        is_last = arith.cmpi(arith.CmpIPredicate.eq, slice_, index(cut.slices - 1))
        branch = scf.IfOp(is_last, has_else=True)
        for region, size in zip(branch.regions, (cut.last, cut.size), strict=True):
            with ir.InsertionPoint(region.blocks[0]):
                writer.write(first, size)
                scf.YieldOp([])
