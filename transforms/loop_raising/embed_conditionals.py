"""Embed conditionals: statements around an inner loop move into it, each under a condition.

before:
    scf.for %i = %c0 to %m step %c1 {
      memref.store %zero, %c[%i] : memref<?xf32>
      scf.for %k = %c0 to %c9 step %c1 {
        %x = memref.load %a[%i, %k] : memref<?x9xf32>
        %y = memref.load %c[%i] : memref<?xf32>
        %z = arith.addf %y, %x : f32
        memref.store %z, %c[%i] : memref<?xf32>
      }
      %s = memref.load %c[%i] : memref<?xf32>
      %e = math.exp %s : f32
      memref.store %e, %d[%i] : memref<?xf32>
    }
after:
    scf.for %i = %c0 to %m step %c1 {
      scf.for %k = %c0 to %c9 step %c1 {
        %first = arith.cmpi eq, %k, %c0 : index
        scf.if %first {
          memref.store %zero, %c[%i] : memref<?xf32>
        }
        %x = memref.load %a[%i, %k] : memref<?x9xf32>
        %y = memref.load %c[%i] : memref<?xf32>
        %z = arith.addf %y, %x : f32
        memref.store %z, %c[%i] : memref<?xf32>
        %c1_0 = arith.constant 1 : index
        %next = arith.addi %k, %c1_0 : index
        %last = arith.cmpi sge, %next, %c9 : index
        scf.if %last {
          %s = memref.load %c[%i] : memref<?xf32>
          %e = math.exp %s : f32
          memref.store %e, %d[%i] : memref<?xf32>
        }
      }
    }

The nest is perfect then: all of its statements are in the innermost loop, under predicates. An
inner loop that may not run at all is made to run once, with its body under a condition. The ops
that compute its bounds stay in their place. `linalg-ext-undo-predication` is the way back, once no
transformation needs the nest to be perfect.

Source: "Perfectly Nested Writes To The Whole Output Operands" of MLIR's linalg document.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from linalg_ext.bindings import arith, ir, scf
from linalg_ext.rewriting import MatchFailure, Report, module_pass
from linalg_ext.structured.indices import IndexReader
from linalg_ext.symbolic.integers import is_le
from linalg_ext.transforms.ir_utils.walking import operations

from ._bands import (
    FOR,
    Memory,
    computed_from,
    counts_in_indices,
    induction_variable,
    is_load,
    is_pure,
    nested,
    read_values,
)

NAME = "linalg-ext-embed-conditionals"


@module_pass(NAME, on=FOR)
def embed_conditionals(module: ir.Operation) -> Report:
    """Make nests perfect: statements around an inner loop move into it, under conditions."""
    report = Report(NAME)
    # The outermost loop comes first: the inner one embeds the same statements further inwards.
    for loop in operations(module, [FOR]):
        report.matched[FOR] += 1
        embedded = _embed(loop)
        if isinstance(embedded, MatchFailure):
            report.leave(FOR, embedded.reason)
        elif embedded:
            report.changed[FOR] += 1
    return report


def _embed(loop: ir.Operation) -> bool | MatchFailure:
    *ops, _ = [op.operation for op in loop.regions[0].blocks[0].operations]
    nests = [op for op in ops if operations(op, [FOR])]
    if not nests:
        return False
    if len(nests) > 1:
        return MatchFailure(
            "the loop holds several loops: linalg-ext-distribute-loops takes them apart"
        )
    (inner,) = nests
    if inner.name != FOR:
        return MatchFailure("the loop in it is under a condition")
    position = ops.index(inner)
    before, after = ops[:position], ops[position + 1 :]
    stays = _computed_from(list(inner.operands)[:3], before)
    before = [op for op in before if op not in stays]
    if all(map(is_pure, (*before, *after))):
        return False
    if len(loop.results) or len(inner.results):
        return MatchFailure("a loop carries values: store them, so that predicates can guard them")
    if not counts_in_indices(inner):
        return MatchFailure("the inner loop counts in integers, or without signs")
    shared = _computed_from(read_values([inner, *after]), before)
    memory = Memory()
    for op in [*stays, *shared]:
        if not is_pure(op) and not (is_load(op) and memory.is_read_only(op, loop)):
            return MatchFailure(
                f"{op.name} in front of the inner loop cannot be done again inside of it"
            )
    if not _runs(inner) and not _can_be_guarded(inner):
        return MatchFailure("ops of the inner loop give values past a loop further inside")
    _move_in(inner, shared, [op for op in before if op not in shared], after)
    return True


def _move_in(
    inner: ir.Operation,
    shared: Sequence[ir.Operation],
    before: Sequence[ir.Operation],
    after: Sequence[ir.Operation],
) -> None:
    lower, upper, step = list(inner.operands)[:3]
    iv = induction_variable(inner)
    block = inner.regions[0].blocks[0]
    *own, end = [op.operation for op in block.operations]
    with inner.location:
        if not _runs(inner):
            with ir.InsertionPoint(inner):
                unit = arith.constant(ir.IndexType.get(), 1)
                inner.operands[1] = arith.maxsi(upper, arith.addi(lower, unit))
            _guard(inner, own, upper)
        with ir.InsertionPoint.at_block_begin(block):
            if before:
                with _under(arith.cmpi(_EQ, iv, lower)) as end_of_branch:
                    _move(before, end_of_branch)
        _move(shared, next(iter(block.operations)).operation)
        with ir.InsertionPoint(end):
            if after:
                bound = inner.operands[1]
                with _under(arith.cmpi(_SGE, _next(iv, step), bound)) as end_of_branch:
                    _move(after, end_of_branch)


_EQ, _SLT, _SGE = (
    arith.CmpIPredicate.eq,
    arith.CmpIPredicate.slt,
    arith.CmpIPredicate.sge,
)


def _next(iv: ir.Value, step: ir.Value) -> ir.Value:
    number = IndexReader()(step)
    increment = arith.constant(ir.IndexType.get(), number) if isinstance(number, int) else step
    return arith.addi(iv, increment)


def _guard(inner: ir.Operation, own: Sequence[ir.Operation], upper: ir.Value) -> None:
    """Have the body of a loop run only where its induction variable is below a bound.

    A loop further inside then has no iterations: it stays a loop in a loop.
    """
    start = ir.InsertionPoint.at_block_begin(inner.regions[0].blocks[0])
    with start:
        is_inside = arith.cmpi(_SLT, induction_variable(inner), upper)
    for is_loop, group in itertools.groupby(own, lambda op: op.name == FOR):
        ops = list(group)
        with ir.InsertionPoint(ops[0]):
            if not is_loop:
                with _under(is_inside) as end_of_branch:
                    _move(ops, end_of_branch)
                continue
        for op in ops:
            with ir.InsertionPoint(op):
                op.operands[1] = arith.select(is_inside, op.operands[1], op.operands[0])


def _can_be_guarded(inner: ir.Operation) -> bool:
    """Return whether all values stay between two loops that stand in a loop."""
    *own, _ = [op.operation for op in inner.regions[0].blocks[0].operations]
    groups = [list(group) for _, group in itertools.groupby(own, lambda op: op.name == FOR)]
    return all(
        any(
            use.owner.operation in {user for member in group for user in nested(member)}
            for group in groups
            if op in group
        )
        for op in own
        for result in op.results
        for use in result.uses
    )


@contextmanager
def _under(condition: ir.Value) -> Iterator[ir.Operation]:
    """Build an `scf.if` at the insertion point; gives the end of its body."""
    branch = scf.IfOp(condition)
    with ir.InsertionPoint(branch.then_block):
        yield scf.YieldOp([]).operation


def _move(ops: Sequence[ir.Operation], end: ir.Operation) -> None:
    for op in ops:
        op.move_before(end)


def _runs(loop: ir.Operation) -> bool:
    read = IndexReader()
    lower, upper, _ = list(loop.operands)[:3]
    return is_le(read(lower) + 1, read(upper)) is True


def _computed_from(values: Sequence[ir.Value], among: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Return the ops among some that values are computed from, in order."""
    needed = computed_from(values, among)
    return [op for op in among if op in needed]
