"""Let long kernels end on an interrupt: their loops compare a count of interrupts.

before:
    func.func @entry(%x: memref<f32>, %status: memref<1xi64>) attributes {linalg_ext.status} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 4000000000 : index
      scf.for %i = %c0 to %n step %c1 {
        %a = memref.load %x[] : memref<f32>
        %b = arith.addf %a, %a : f32
        memref.store %b, %x[] : memref<f32>
      }
      return
    }
after:
    func.func @entry(%x: memref<f32>, %status: memref<1xi64>) attributes {linalg_ext.status} {
      %before = call @lx_interrupts() : () -> i64
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 4000000000 : index
      %first = arith.constant 0 : index
      %one = arith.constant 1 : index
      %trips = arith.constant 4000000000 : index
      %chunk = arith.constant 200000 : index
      scf.for %start = %first to %trips step %chunk {
        %now = func.call @lx_interrupts() : () -> i64
        %same = arith.cmpi eq, %now, %before : i64
        cf.assert %same, "interrupted by SIGINT"
        %next = arith.addi %start, %chunk : index
        %end = arith.minui %next, %trips : index
        scf.for %i = %start to %end step %one {
          %a = memref.load %x[] : memref<f32>
          %b = arith.addf %a, %a : f32
          memref.store %b, %x[] : memref<f32>
        }
      }
      return
    }

A module whose estimated work is small is left as it is. In others a loop whose round takes long is
looked into, one whose round is short is cut into chunks, and one between compares in every round.
`lx_interrupts` is in the module itself: see `FUNCTIONS` below, and `runtime/interrupts.py`.
"""

from __future__ import annotations

import math
from typing import Any

from linalg_ext.bindings import arith, cf, func, ir, passmanager, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.interrupts import HANDLER, INTERRUPTED, PREVIOUS, VARIABLE
from linalg_ext.runtime.machine_code import variable_symbol
from linalg_ext.structured.constants import index
from linalg_ext.transforms.analysis.ranges import most_trips
from linalg_ext.transforms.ir_utils.arithmetic import known_index, trip_count
from linalg_ext.transforms.ir_utils.module_functions import declare, entry_with_status
from linalg_ext.transforms.ir_utils.walking import (
    callee_of,
    enclosing,
    function_type,
    functions,
    name_of,
    operations,
    producer,
    replace_op,
    set_function_type,
)

from .share_work import bounds_of

NAME = "linalg-ext-poll-interrupts"

_LONG = 5e8
"""Operations of an entry that polls: some tenths of a second."""

_APART = 1e8
"""The most operations from one poll to the next: some hundredths of a second."""

_SHORT = 5e4
"""Operations of a round that is long enough for a poll: some ten microseconds."""

_CHUNK = 1e6
"""Operations of a chunk of short rounds."""

_USUAL_TRIPS = 1024
"""The assumed trip count of a loop over an axis whose size only a call knows."""

_FOREVER = math.inf
"""The work of a loop that nothing bounds."""

_AFFINE = ("affine.for", "affine.parallel")
_LOOPS = ("scf.for", "scf.forall", "scf.parallel", "scf.while", *_AFFINE)


@module_pass(NAME, on=_LOOPS)
def poll_interrupts(module: ir.Operation) -> Report:
    """Have an entry with a status that may run for long fail once it is interrupted."""
    report = Report(NAME)
    entry = entry_with_status(module)
    if entry is None:
        return report
    polls = _Polls(module, entry, report)
    if polls.work(entry) > _LONG and operations(module, _AFFINE):
        lowering = passmanager.PassManager.parse("builtin.module(lower-affine)", module.context)
        lowering.run(module)
        polls = _Polls(module, entry, report)
    if polls.work(entry) > _LONG:
        if _BLOCK in ir.SymbolTable(module) or declare(module, FUNCTIONS):
            polls.cover_entry()
        else:
            report.leave("func.func", f"the module has a symbol such as `{_COUNT}` of its own")
    return report


class _Polls:
    """The polls of a module, and the estimates of work by which they are placed."""

    def __init__(self, module: ir.Operation, entry: Any, report: Report) -> None:
        self._module = module
        self._entry = entry
        self._report = report
        self._functions = {name_of(function): function for function in functions(module)}
        self._work: dict[Any, float] = {}
        self._counts: dict[Any, Any] = {}
        self._covered: list[str] = []

    def work(self, op: Any) -> float:
        """Estimate the number of operations that an op is."""
        if op.name == "func.call":
            callee = self._functions.get(callee_of(op))
            return 1.0 if callee is None else self.work(callee)
        if not len(op.regions):
            return 1.0
        if op not in self._work:
            self._work[op] = 0.0  # of a function that calls itself
            trips = _FOREVER if _backward_branches(op) else self._trips(op)
            self._work[op] = trips * self._work_of_round(op) if trips else 0.0
        return self._work[op]

    def _work_of_round(self, op: Any) -> float:
        blocks = (block for region in op.regions for block in region)
        return 1.0 + sum(self.work(view.operation) for block in blocks for view in block.operations)

    def _trips(self, op: Any) -> float:
        if op.name not in _LOOPS:
            return 1
        if op.name == "scf.while" or op.name in _AFFINE:
            return _FOREVER
        if op.name in ("scf.forall", "scf.parallel"):
            trips = [most_trips(*bounds) for bounds in zip(*bounds_of(op), strict=True)]
            return math.prod(_USUAL_TRIPS if size is None else size for size in trips)
        bounds = list(op.operands)[:3]
        most = most_trips(*bounds)
        if most is not None:
            return most
        return _FOREVER if any(map(self._is_free, bounds[:2])) else _USUAL_TRIPS

    def _is_free(self, bound: Any) -> bool:
        """Return whether a bound is a number of the caller's, and no size."""
        op = producer(bound)
        if op is None:
            return bool(bound.owner == self._entry.regions[0].blocks[0])
        if op.name == "memref.load":
            return all(known_index(position) is not None for position in list(op.operands)[1:])
        if not op.name.startswith("arith."):
            return False
        combine = all if op.name.startswith("arith.min") else any
        return len(op.operands) > 0 and combine(map(self._is_free, op.operands))

    def cover_entry(self) -> None:
        """Place the polls of the entry and of the functions that it calls."""
        self._cover(self._entry)
        for call in operations(self._module, {"func.call"}):
            if callee_of(call) in self._covered:
                count = self._count_before(enclosing(call, "func.func"))
                with call.location, ir.InsertionPoint(call):
                    types = [result.type for result in call.results]
                    operands = [*call.operands, count]
                    new_call = func.CallOp(types, call.attributes["callee"], operands)
                replace_op(call, *new_call.operation.results)

    def _cover(self, op: Any) -> None:
        for branch in _backward_branches(op):
            self._poll(branch)
        for block in [block for region in op.regions for block in region]:
            self._cover_block(block)

    def _cover_block(self, block: Any) -> None:
        spent = 0.0
        for op in [view.operation for view in block.operations]:
            work = self.work(op)
            if work > _APART:
                self._cover_op(op)
                spent = 0.0
                continue
            spent += work
            if spent > _APART:
                self._poll(op)
                spent = work

    def _cover_op(self, op: Any) -> None:
        """Place polls in an op that takes long."""
        if op.name == "func.call":
            name = callee_of(op)
            if name not in self._covered:
                self._covered.append(name)
                self._cover(self._functions[name])
            return
        if op.name not in _LOOPS:
            self._cover(op)
            return
        self._report.matched[op.name] += 1
        inside = self._work_of_round(op)
        if inside > _APART:
            self._cover(op)
        elif op.name == "scf.for" and inside < _SHORT:
            self._report.changed[op.name] += 1
            self._poll(_cut(op, int(_CHUNK / inside)))
        elif inside >= _SHORT or op.name == "scf.while":
            self._report.changed[op.name] += 1
            self._poll(list(op.regions)[-1].blocks[0].operations[0].operation)

    def _poll(self, op: Any) -> None:
        """Compare the count of interrupts before an op."""
        before = self._count_before(enclosing(op, "func.func"))
        with op.location, ir.InsertionPoint(op):
            same = arith.cmpi(arith.CmpIPredicate.eq, _count(), before)
            cf.AssertOp(same, INTERRUPTED)

    def _count_before(self, function: Any) -> Any:
        """Return the count of interrupts as it was when the call of the entry began."""
        if function not in self._counts:
            block = function.regions[0].blocks[0]
            if name_of(function) in self._covered:
                type_ = function_type(function)
                set_function_type(function, [*type_.inputs, _i64()], type_.results)
                count = block.add_argument(_i64(), function.location)
            else:
                with function.location, ir.InsertionPoint.at_block_begin(block):
                    count = _count()
            self._counts[function] = count
        return self._counts[function]


def _backward_branches(op: Any) -> list[Any]:
    """Return the branches among the blocks of an op that may close a loop."""
    branches = []
    for blocks in [list(region) for region in op.regions]:
        if len(blocks) > 1:
            for at, block in enumerate(blocks):
                last = list(block.operations)[-1].operation
                if any(target in blocks[: at + 1] for target in last.successors):
                    branches.append(last)
    return branches


def _cut(loop: Any, rounds: int) -> Any:
    """Cut a loop into chunks of a number of rounds; return the first op of a chunk."""
    lower, upper, step, *carried = loop.operands
    is_unsigned = "unsignedCmp" in loop.attributes
    with loop.location, ir.InsertionPoint(loop):
        zero, unit = index(0), index(1)
        trips = trip_count(lower, upper, step, is_unsigned=is_unsigned)
        chunk = index(rounds)
        outer = scf.ForOp(zero, trips, chunk, carried)
        with ir.InsertionPoint(outer.body):
            following = arith.addi(outer.induction_variable, chunk)
            end = arith.minui(following, trips)
            inner = scf.ForOp(outer.induction_variable, end, unit, list(outer.inner_iter_args))
            if carried:
                scf.YieldOp(list(inner.results))
            else:
                scf.YieldOp([])
        body = loop.regions[0].blocks[0]
        with ir.InsertionPoint(inner.body):
            number = _variable(inner.induction_variable, lower, step)
    values = [number, *inner.inner_iter_args]
    for argument, value in zip(list(body.arguments), values, strict=True):
        argument.replace_all_uses_with(value)
    for op in list(body.operations):
        inner.body.append(op.operation)
    replace_op(loop, *outer.results)
    return following.owner


def _variable(number: Any, lower: Any, step: Any) -> Any:
    """Return the induction variable of a round, by its number."""
    if lower.type != number.type:
        number = arith.index_cast(lower.type, number)
    if known_index(step) != 1:
        number = arith.muli(number, step)
    return number if known_index(lower) == 0 else arith.addi(lower, number)


def _count() -> Any:
    return func.CallOp([_i64()], _COUNT, []).results[0]


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)


_COUNT = "lx_interrupts"

_BLOCK, _HANDLER = variable_symbol(VARIABLE), variable_symbol(HANDLER)

FUNCTIONS = f"""
llvm.mlir.global weak @{_BLOCK}() : !llvm.ptr {{
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}}
llvm.mlir.global weak @{_HANDLER}() : !llvm.ptr {{
  %handler = llvm.mlir.addressof @lx_interrupt : !llvm.ptr
  llvm.return %handler : !llvm.ptr
}}

func.func private @{_COUNT}() -> i64 attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %variable = llvm.mlir.addressof @{_BLOCK} : !llvm.ptr
  %block = llvm.load %variable : !llvm.ptr -> !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %is_there = llvm.icmp "ne" %block, %null : !llvm.ptr
  // Without a block the variable itself is read, which stays 0.
  %place = llvm.select %is_there, %block, %variable : i1, !llvm.ptr
  %count = llvm.load %place atomic monotonic {{alignment = 8 : i64}} : !llvm.ptr -> i64
  return %count : i64
}}

llvm.func internal @lx_interrupt(%signal: i32, %information: !llvm.ptr, %context: !llvm.ptr) {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %variable = llvm.mlir.addressof @{_BLOCK} : !llvm.ptr
  %block = llvm.load %variable : !llvm.ptr -> !llvm.ptr
  %before = llvm.atomicrmw add %block, %one monotonic : !llvm.ptr, i64
  %place = llvm.getelementptr %block[{8 * PREVIOUS}] : (!llvm.ptr) -> !llvm.ptr, i8
  %previous = llvm.load %place : !llvm.ptr -> !llvm.ptr
  llvm.call %previous(%signal, %information, %context)
      : !llvm.ptr, (i32, !llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}}
"""
"""The count of interrupts, and the handler that counts one and goes on to the handler before it."""
