"""Loops over slices, and parallel loops that are made such.

before:
    scf.parallel (%i, %j) = (%c0, %c0) to (%m, %n) step (%c1, %c1) {
      memref.store %x, %a[%i, %j] : memref<?x?xf32>
    }
after:
    %all = arith.muli %m, %n : index
    scf.forall (%slice) in (%count) {
      %from = ...                                  // %slice * %all / %count
      %to = ...                                    // (%slice + 1) * %all / %count
      scf.for %at = %from to %to step %c1 {
        %i = arith.divui %at, %n : index
        %j = arith.remui %at, %n : index
        memref.store %x, %a[%i, %j] : memref<?x?xf32>
      }
    } {linalg_ext.slices = 8 : i64}
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from linalg_ext.bindings import arith, ir, scf
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.arithmetic import as_number, index, known_trips, number

from . import _partition
from ._run_time_slices import count_at_run_time
from ._work_steps import step_of

SLICES = "linalg_ext.slices"
"""The attribute of a loop whose iterations are slices: how many there are, at most."""

_SCALAR = 0.5
"""Nanoseconds that an operation takes, about, which is no structured op."""

_OPEN = ir.ShapedType.get_dynamic_size()
_FORALL_BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")

_Index: TypeAlias = ir.Value | int

_USUAL = 64
"""The assumed trip count of a loop whose own is known only at run time."""


@contextmanager
def loop_over_slices(count: ir.Value | int, most: int) -> Iterator[ir.Value]:
    """Write a loop over slices at the insertion point; the `with` block writes one of them.

    Args:
        count: how many there are, an index or a number.
        most: how many at most.

    Yields:
        The number of the slice, an index.
    """
    loop = scf.ForallOp([0], [count], [1])
    loop.operation.attributes[SLICES] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), most)
    with ir.InsertionPoint(loop.body):
        yield loop.body.arguments[0]
        scf.InParallelOp()


@dataclass(frozen=True)
class ParallelLoop:
    """A parallel loop on buffers that gives nothing back.

    Attributes:
        nanoseconds: the estimated time of an iteration on one core.
        trips: the trip count; None where it is known only at run time.
    """

    op: ir.Operation
    nanoseconds: float
    trips: int | None

    @property
    def is_worth_sharing(self) -> bool:
        """Return whether it is, or may be where the run makes it long."""
        if self.trips is None:
            return True
        return self.trips > 1 and self.nanoseconds * self.trips >= _partition.WORTH_SHARING


def parallel_loop(op: ir.Operation) -> ParallelLoop | None:
    """An `scf.forall` or `scf.parallel` that threads may share; None where they may not."""
    each = None if len(op.results) else _nanoseconds(op.regions[0].blocks[0])
    if each is None:
        return None
    trips = [known_trips(*bounds) for bounds in zip(*_bounds(op), strict=True)]
    known = [size for size in trips if size is not None]
    return ParallelLoop(op, each, math.prod(known) if len(known) == len(trips) else None)


def share_parallel_loop(loop: ParallelLoop, threads: int) -> None:
    """Share the iterations of a loop among `threads` threads, many iterations a slice."""
    op = loop.op
    body = op.regions[0].blocks[0]
    most = threads * _partition.SLICES_EACH
    with op.location, ir.InsertionPoint(op):
        lower, upper, steps = (list(map(index, bounds)) for bounds in _bounds(op))
        sizes = [_trips(*bounds) for bounds in zip(lower, upper, steps, strict=True)]
        total = functools.reduce(arith.muli, sizes)
        if loop.trips is None:
            took = arith.mulf(as_number(total), number(loop.nanoseconds))
            count = arith.minui(count_at_run_time(took, threads, most), total)
        else:
            enough = int(loop.nanoseconds * loop.trips / _partition.LEAST_SLICE)
            most = min(most, loop.trips, max(2, enough))
            count = index(most)
        with loop_over_slices(count, most) as slice_:
            one = index(1)
            start, end = (
                arith.divui(arith.muli(at, total), count)
                for at in (slice_, arith.addi(slice_, one))
            )
            inner = scf.ForOp(start, end, one)
            with ir.InsertionPoint(inner.body):
                at, values = inner.induction_variable, []
                for size in reversed(sizes):
                    values.append(arith.remui(at, size))
                    at = arith.divui(at, size)
                bounds = zip(body.arguments, lower, steps, reversed(values), strict=True)
                for variable, low, step, value in bounds:
                    variable.replace_all_uses_with(arith.addi(low, arith.muli(value, step)))
                last = scf.YieldOp([])
            for moved in list(body.operations)[:-1]:
                moved.operation.move_before(last.operation)
    op.erase()


def _bounds(op: ir.Operation) -> list[Sequence[_Index]]:
    """The lower bounds, the upper bounds and the steps of a parallel loop, numbers or indices."""
    operands = list(op.operands)
    if op.name == "scf.parallel":
        rank = len(operands) // 3
        return [operands[:rank], operands[rank : 2 * rank], operands[2 * rank :]]
    given = iter(operands)
    return [
        [next(given) if value == _OPEN else value for value in ir.DenseI64ArrayAttr(attribute)]
        for attribute in (op.attributes[name] for name in _FORALL_BOUNDS)
    ]


def _trips(lower: ir.Value, upper: ir.Value, step: ir.Value) -> Any:
    """Return the trip count of a loop, as an index; 0 where it ends before it begins."""
    known = known_trips(lower, upper, step)
    if known is not None:
        return index(known)
    length = arith.maxsi(arith.subi(upper, lower), index(0))
    return arith.ceildivui(length, step)


def _nanoseconds(block: ir.Block) -> float | None:
    """About what the operations of a block take one core; None where they may be anything."""
    took = 0.0
    for each in block.operations:
        op = each.operation
        if op.name.startswith(("func.", "llvm.")):
            return None
        step = step_of(op) if op.name in ("linalg.generic", "memref.copy") else None
        if step is not None and not isinstance(step, str):
            took += step.nanoseconds(current())
            continue
        inner = [_nanoseconds(block) for region in op.regions for block in region.blocks]
        if None in inner:
            return None
        trips = known_trips(*list(op.operands)[:3]) if op.name == "scf.for" else 1
        took += _SCALAR + (_USUAL if trips is None else trips) * sum(one or 0.0 for one in inner)
    return took
