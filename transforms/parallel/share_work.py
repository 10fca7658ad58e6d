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

`_partition` divides an entry into loops that are shared one after the other. Each begins when
all slices of the one before are done. Static shapes stay static; where the slices are not all of
one size, the last has a copy of the code. Where shapes are dynamic, the number of slices depends on
the sizes of the call: it is 1 where the work is small. A buffer that only one loop needs becomes
one of the slice. A long loop that is parallel already is shared as it is. The steps of a loop that
carries buffers between iterations, such as a recurrent layer, are shared one by one.

`linalg-ext-outline-shared-loops` makes the loops calls of the threads.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from linalg_ext.bindings import arith, ir, memref, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.arithmetic import (
    as_number,
    dim,
    known_trips,
    number,
    part_along,
    times,
    trip_count,
)
from linalg_ext.transforms.ir_utils.module_functions import THREADS, entry_with_status
from linalg_ext.transforms.ir_utils.walking import copied_on, operations

from . import _partition
from ._partition import (
    STRUCTURED,
    Region,
    Row,
    Work,
    cuttable_steps,
    parallel_loops,
    regions,
    rows,
)
from ._work_steps import Access, Step, figures, step_of

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
    for loop in _loops_to_share(entry):
        report.changed[loop.op.name] += 1
        _share_parallel_loop(loop, threads)
    writers = [
        writer for row in rows(entry, reasons) for writer in _share_row(row, threads, reasons)
    ]
    # The originals stay until then: a row may end at an op that another row's buffers go with.
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
    """Return the number of threads that the entry's loops are cut for; 1 if none is."""
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
    sharing = Sharing.NONE
    # The steps of a row are added up one by one: the first few ops of a long entry are enough.
    fixed = total = 0.0
    for step in cuttable_steps(entry):
        if step is None:
            fixed = total = 0.0
            continue
        nanoseconds = step.nanoseconds(current())
        total += nanoseconds
        fixed += 0.0 if step.is_open else nanoseconds
        if fixed >= _partition.WORTH_SHARING:
            return Sharing.ALWAYS
        if total >= _partition.WORTH_SHARING:
            sharing = Sharing.BY_SIZES
    for loop in _loops_to_share(entry):
        if loop.trips is not None:
            return Sharing.ALWAYS
        sharing = Sharing.BY_SIZES
    return sharing


def slices_of(module: ir.Operation) -> tuple[int, ...]:
    """Return the most slices of each shared loop of a module; empty if absent."""
    loops = [op for op in operations(module, {"scf.forall"}) if SLICES in op.attributes]
    return tuple(ir.IntegerAttr(op.attributes[SLICES]).value for op in loops)


def _share_row(row: Row, threads: int, reasons: set[str]) -> list[_SliceWriter]:
    """Share the regions of a row that are worth it; return the writers, to erase the originals."""
    all_regions = regions(row.steps, threads)
    shared = [region for region in all_regions if _is_shared(region, threads, reasons)]
    if not shared:
        return []
    writers = []
    for region in all_regions:
        if region.work is not None and region in shared:
            writers.append(_SliceWriter(region.work))
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


def _write_loop(work: Work, writer: _SliceWriter, threads: int) -> None:
    cut = work.slices(threads, current())
    if cut is None:
        count, size = _slices_at_run_time(work, threads)
        extent = _extent_of(work)
        with _loop_over_slices(count, _most_slices(work, threads)) as slice_:
            first = arith.muli(slice_, size)
            writer.write(first, arith.minui(size, arith.subi(extent, first)))
        return
    with _loop_over_slices(cut.slices, cut.slices) as slice_:
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


SLICES = "linalg_ext.slices"
"""The attribute of a loop whose iterations are slices: the most slices that there are."""

_OPEN = ir.ShapedType.get_dynamic_size()
_FORALL_BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")

_Index: TypeAlias = ir.Value | int

_USUAL_TRIPS = 64
"""The assumed trip count of a loop whose own is known only at run time."""


@contextmanager
def _loop_over_slices(count: ir.Value | int, most: int) -> Iterator[ir.Value]:
    """Write a loop over slices at the insertion point; the `with` block writes one of them.

    Args:
        count: the number of slices, an index or a number.
        most: the most slices.

    Yields:
        The number of the slice, an index.
    """
    loop = scf.ForallOp([0], [count], [1])
    loop.operation.attributes[SLICES] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), most)
    with ir.InsertionPoint(loop.body):
        yield loop.body.arguments[0]
        scf.InParallelOp()


@dataclass(frozen=True)
class _ParallelLoop:
    """A parallel loop on buffers that gives nothing back.

    Attributes:
        nanoseconds: the estimated time of an iteration on one core.
        trips: the trip count; None where it is known only at run time.
    """

    op: ir.Operation
    nanoseconds: float
    trips: int | None


def _loops_to_share(entry: ir.Operation) -> Iterator[_ParallelLoop]:
    """Yield the loops of an entry that threads may share, and that are long, or may be so."""
    for op in parallel_loops(entry):
        nanoseconds = None if len(op.results) else _nanoseconds_of_block(op.regions[0].blocks[0])
        if nanoseconds is None:
            continue
        sizes = [known_trips(*bounds) for bounds in zip(*bounds_of(op), strict=True)]
        trips = math.prod(size for size in sizes if size is not None)
        if None in sizes:
            yield _ParallelLoop(op, nanoseconds, None)
        elif trips > 1 and nanoseconds * trips >= _partition.WORTH_SHARING:
            yield _ParallelLoop(op, nanoseconds, trips)


def _share_parallel_loop(loop: _ParallelLoop, threads: int) -> None:
    """Share the iterations of a loop among `threads` threads, many iterations a slice."""
    op = loop.op
    body = op.regions[0].blocks[0]
    most = threads * _partition.SLICES_EACH
    with op.location, ir.InsertionPoint(op):
        lower, upper, steps = (list(map(index, bounds)) for bounds in bounds_of(op))
        sizes = [trip_count(*bounds) for bounds in zip(lower, upper, steps, strict=True)]
        total = functools.reduce(arith.muli, sizes)
        if loop.trips is None:
            took = arith.mulf(as_number(total), number(loop.nanoseconds))
            count = arith.minui(_count_at_run_time(took, threads, most), total)
        else:
            enough = int(loop.nanoseconds * loop.trips / _partition.LEAST_SLICE)
            most = min(most, loop.trips, max(2, enough))
            count = index(most)
        with _loop_over_slices(count, most) as slice_:
            step = index(1)
            start, end = (
                arith.divui(arith.muli(at, total), count)
                for at in (slice_, arith.addi(slice_, step))
            )
            inner = scf.ForOp(start, end, step)
            with ir.InsertionPoint(inner.body):
                at, values = inner.induction_variable, []
                for size in reversed(sizes):
                    values.append(arith.remui(at, size))
                    at = arith.divui(at, size)
                bounds = zip(body.arguments, lower, steps, reversed(values), strict=True)
                for variable, low, stride, value in bounds:
                    variable.replace_all_uses_with(arith.addi(low, arith.muli(value, stride)))
                last = scf.YieldOp([])
            for moved in list(body.operations)[:-1]:
                moved.operation.move_before(last.operation)
    op.erase()


def bounds_of(op: ir.Operation) -> list[Sequence[_Index]]:
    """Return lower bounds, upper bounds and steps of a parallel loop, numbers or indices."""
    operands = list(op.operands)
    if op.name == "scf.parallel":
        rank = len(op.regions[0].blocks[0].arguments)  # Initial values of reductions follow.
        return [operands[at : at + rank] for at in range(0, 3 * rank, rank)]
    dynamic = iter(operands)
    return [
        [next(dynamic) if value == _OPEN else value for value in ir.DenseI64ArrayAttr(attribute)]
        for attribute in (op.attributes[name] for name in _FORALL_BOUNDS)
    ]


def _nanoseconds_of_block(block: ir.Block) -> float | None:
    """Estimate the time of a block's operations on one core; None if they may be anything."""
    total = 0.0
    for op in (view.operation for view in block.operations):
        if op.name.startswith(("func.", "llvm.")):
            return None
        step = step_of(op) if op.name in STRUCTURED else None
        if isinstance(step, Step):
            total += step.nanoseconds(current())
            continue
        nested = 0.0
        for inner in (block for region in op.regions for block in region.blocks):
            nanoseconds = _nanoseconds_of_block(inner)
            if nanoseconds is None:
                return None
            nested += nanoseconds
        trips = known_trips(*list(op.operands)[:3]) if op.name == "scf.for" else 1
        scalar = 1e9 / figures(current()).scalar
        total += scalar + (_USUAL_TRIPS if trips is None else trips) * nested
    return total


def _slices_at_run_time(work: Work, threads: int) -> tuple[Any, Any]:
    """Return the number of slices, and the steps of each but the last, as indices."""
    nanoseconds = [_nanoseconds_at_run_time(step) for step in work.steps]
    took = functools.reduce(arith.addf, nanoseconds)
    count = _count_at_run_time(took, threads, _most_slices(work, threads))
    extent = _extent_of(work)
    least = index(1)
    size = arith.maxui(arith.ceildivui(extent, count), least)
    if work.granule > 1:
        granule = index(work.granule)
        whole = arith.muli(arith.ceildivui(size, granule), granule)
        is_long = arith.cmpi(arith.CmpIPredicate.uge, size, index(_partition.UNEVEN * work.granule))
        size = arith.select(is_long, whole, size)
    return arith.ceildivui(extent, size), size


def _most_slices(work: Work, threads: int) -> int:
    return threads if work.packs else threads * _partition.SLICES_EACH


def _count_at_run_time(took: Any, threads: int, most: int) -> Any:
    """Return the number of slices for work of `took` nanoseconds, an f64; `most` is the limit."""
    slices = arith.divf(took, number(_partition.LEAST_SLICE))
    slices = arith.minimumf(slices, number(float(most)))
    whole = arith.fptosi(ir.IntegerType.get_signless(64), slices)
    count = arith.maxui(arith.index_cast(ir.IndexType.get(), whole), index(min(2, threads)))
    is_worth_it = arith.cmpf(arith.CmpFPredicate.OGE, took, number(_partition.WORTH_SHARING))
    return arith.select(is_worth_it, count, index(1))


def _nanoseconds_at_run_time(step: Step) -> Any:
    """Return the time of a step on one core, an f64: that of usual sizes for each point."""
    per_point = step.nanoseconds(current()) / max(1, math.prod(step.extents))
    static_size = math.prod(size for size in step.sizes if size is not None)
    open_sizes = [
        as_number(dim(*measure))
        for size, measure in zip(step.sizes, step.measures, strict=True)
        if size is None
    ]
    return functools.reduce(arith.mulf, open_sizes, number(per_point * static_size))


class _SliceWriter:
    """Writes the work of one slice at the insertion point, as often as it is asked."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._local = [buffer for buffer in work.axes if _is_used_by_these_alone(buffer, work)]

    def write(self, first: Any, size: Any) -> None:
        """Write all steps for a slice of the loop that is cut.

        Args:
            first: the first iteration of the slice, an index.
            size: the number of iterations, a number or an index.
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
            copied_on(step.op, operands)
        for value in local.values():
            memref.DeallocOp(value)

    def erase_originals(self) -> None:
        """Erase the ops that slices have taken the place of, and their own buffers."""
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
        """Return the part that a slice reaches: the operand where the loop does not step in it."""
        operand = access.value
        axes = [
            (axis, sum_[loop])
            for axis, sum_ in enumerate(access.indices)
            if sum_ is not None and loop in sum_
        ]
        if not axes:
            return operand
        ((axis, factor),) = axes
        # One view for all ops: a tensor that one fills and another adds to is seen to be the same.
        for whole, known_axis, known_factor, part in views:
            if whole == operand and (known_axis, known_factor) == (axis, factor):
                return part
        # The elements that a window reaches beyond its first step stay in the part.
        extent = self._work.extent
        if isinstance(size, int) and extent is not None:
            left_out: Any = factor * (extent - size)
        else:
            left_out = times(arith.subi(_extent_of(self._work), size), factor)
        if operand.type.is_dynamic_dim(axis) or not isinstance(left_out, int):
            length: Any = arith.subi(dim(operand, axis), index(left_out))
        else:
            length = operand.type.get_dim_size(axis) - left_out
        part = part_along(operand, axis, times(first, factor), length)
        views.append((operand, axis, factor, part))
        return part


def _extent_of(work: Work) -> Any:
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
    # The place of the axis's size among the operands, if it is open.
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
