"""Parallel loops one iteration after another: `scf.parallel` as a nest of `scf.for`.

    %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      %x = memref.load %a[%i] : memref<?xf32>
      scf.reduce(%x : f32) {
      ^bb0(%one: f32, %other: f32):
        %y = arith.addf %one, %other : f32
        scf.reduce.return %y : f32
      }
    }

is

    %s = scf.for %i = %c0 to %n step %c1 iter_args(%one = %zero) -> (f32) {
      %x = memref.load %a[%i] : memref<?xf32>
      %y = arith.addf %one, %x : f32
      scf.yield %y : f32
    }

as any order will do. A loop that stays a loop is left parallel: it would run on one thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

from linalg_ext.bindings import ir, scf
from linalg_ext.rewriting import Report
from linalg_ext.structured.mixed import segments
from linalg_ext.transforms.ir_utils.tensor_loops import inlined
from linalg_ext.transforms.ir_utils.walking import operations, replace_op

from ._bands import FOR
from .raising import PARALLEL, WAS_PARALLEL, with_location


class _Raising(Protocol):
    def __call__(self, root: ir.Operation, report: Report) -> object: ...


def in_sequence(root: ir.Operation, report: Report, raise_: _Raising) -> None:
    """Write parallel loops as nests of `scf.for` where `raise_` raises all loops of the nest.

    Args:
        root: an op.
        report: the report of a pass.
        raise_: the function that raises loops in an op. It is tried on copies of `root`.
    """
    loops = operations(root, [PARALLEL])
    if not loops:
        return
    with root.context:
        for number, loop in enumerate(loops):
            loop.attributes[WAS_PARALLEL] = ir.IntegerAttr.get(ir.IndexType.get(), number)
    chosen = set(range(len(loops)))
    while chosen:
        tried = Report(report.pass_name)
        unraised = _left_of(root, chosen, partial(raise_, report=tried))
        for number in unraised:
            report.leave(PARALLEL, _why(loops[number], tried))
        chosen -= unraised
        if not unraised:
            break
    report.matched[PARALLEL] += len(loops)
    report.changed[PARALLEL] += len(chosen)
    _write(root, chosen)
    for loop in operations(root, [PARALLEL]):
        del loop.attributes[WAS_PARALLEL]


def _why(loop: ir.Operation, tried: Report) -> str:
    """Return the reasons that were reported for a loop, or for those in it."""
    locations = {str(op.location)[4:-1] for op in (loop, *operations(loop, [FOR, PARALLEL]))}
    reasons = {reason for left in tried.left.values() for reason in left}
    inside = sorted(
        text for text in reasons if any(f" {location})" in text for location in locations)
    )
    return "; ".join(inside) or with_location(loop, "the loop cannot be raised as a whole")


def _left_of(
    root: ir.Operation, chosen: Collection[int], raise_: Callable[[ir.Operation], object]
) -> set[int]:
    """Return the loops that are not raised when all `chosen` ones are written as `scf.for`."""
    stands = root.parent is not None
    copy = (root.clone(ip=ir.InsertionPoint(root)) if stands else root.clone()).operation
    try:
        _write(copy, chosen)
        raise_(copy)
        return {
            _number(loop) for loop in operations(copy, [FOR]) if WAS_PARALLEL in loop.attributes
        }
    finally:
        copy.erase()


def _write(root: ir.Operation, chosen: Collection[int]) -> None:
    for loop in operations(root, [PARALLEL]):
        if _number(loop) in chosen:
            _nest(loop)


def _number(loop: ir.Operation) -> int:
    return ir.IntegerAttr(loop.attributes[WAS_PARALLEL]).value


def _nest(loop: ir.Operation) -> None:
    """Put a nest of `scf.for` in the place of a parallel loop."""
    *bounds, inits = segments(loop, 4)
    body = loop.regions[0].blocks[0]
    *ops, reducing = [op.operation for op in body.operations]
    carried, nest = inits, []
    ip = ir.InsertionPoint(loop)
    for lower, upper, step in zip(*bounds, strict=True):
        with loop.location, ip:
            for_op = scf.ForOp(lower, upper, step, carried)
        for_op.operation.attributes[WAS_PARALLEL] = loop.attributes[WAS_PARALLEL]
        nest.append(for_op)
        carried, ip = list(for_op.inner_iter_args), ir.InsertionPoint(for_op.body)
    for outer, inner in itertools.pairwise(nest):
        with loop.location, ir.InsertionPoint(outer.body):
            scf.YieldOp(list(inner.operation.results))
    for argument, for_op in zip(body.arguments, nest, strict=True):
        argument.replace_all_uses_with(for_op.induction_variable)
    with loop.location, ip:
        end = scf.YieldOp([]).operation
    for op in ops:
        op.move_before(end)
    with loop.location, ir.InsertionPoint(end):
        scf.YieldOp(_combined(reducing, carried))
    end.erase()
    replace_op(loop, *nest[0].operation.results)


def _combined(reducing: ir.Operation, carried: list[ir.Value]) -> list[ir.Value]:
    return [
        inlined(region.blocks[0], (was, value))[0]
        for value, was, region in zip(reducing.operands, carried, reducing.regions, strict=True)
    ]
