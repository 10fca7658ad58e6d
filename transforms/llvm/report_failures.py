"""Turn assertions and failed allocations into a status that the caller reads.

Upstream lowers a failing `cf.assert` to `abort()`, which takes the whole process along. Here the
entry function writes the number of the assertion (from 1) into its status and returns.

before:
    func.func @entry(%x: i1, %status: memref<1xi64>) attributes {linalg_ext.status} {
      cf.assert %x, "no"
      return
    }
after:
    func.func @entry(%x: i1, %status: memref<1xi64>) attributes {linalg_ext.status} {
      %code = arith.constant 1 : i64
      cf.cond_br %x, ^continue, ^fail(%code : i64)
    ^continue:
      return
    ^fail(%k: i64):
      %c0 = arith.constant 0 : index
      memref.store %k, %status[%c0] : memref<1xi64>
      return
    }

A function that does a part of the entry's work returns that number, after its other results; an
assertion of the entry that the status of a part is good hands the status on. Buffers that are live
where an assertion fails are not freed here: `linalg-ext-lend-buffers` gives the large ones back,
small ones are lost.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, cf, func, ir, memref
from linalg_ext.errors import LoweringError
from linalg_ext.executable.signature import OF_OP
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.transforms.ir_utils.module_functions import (
    PART,
    STATUS_OF_PART,
    functions_with_status,
)
from linalg_ext.transforms.ir_utils.walking import enclosing, function_type, operations, place

NAME = "linalg-ext-report-failures"

MESSAGES = "linalg_ext.assertions"
"""Attribute of the module: the message of status 1, 2, ..., as an array of strings."""


@module_pass(NAME)
def report_failures(module: ir.Operation) -> Report:
    """Turn failing assertions into a status that the entry writes before it returns.

    The messages are left in the module's attribute `linalg_ext.assertions`. Control flow must be
    branches already, and private functions inlined. A module without an entry that takes a status
    keeps its assertions.

    Raises:
        LoweringError: an assertion stands in a function that was not inlined into the entry.
    """
    report = Report(NAME)
    reporting = functions_with_status(module)
    if not reporting:
        return report
    asserting: list[list[Any]] = [[] for _ in reporting]
    for check in operations(module, {"cf.assert"}):
        blocks = asserting[_place_of(check, reporting)]
        if not blocks or blocks[-1] != check.block:
            blocks.append(check.block)
    messages: dict[str, int] = {}
    for function, blocks in zip(reporting, asserting, strict=True):
        fail = _append_fail_block(function) if blocks else None
        for block in blocks:
            count = _split(block, fail, messages)
            report.matched["cf.assert"] += count
            report.changed["cf.assert"] += count
    texts = [ir.StringAttr.get(message) for message in messages]
    module.attributes[MESSAGES] = ir.ArrayAttr.get(texts)
    return report


def _place_of(check: Any, reporting: list[Any]) -> int:
    """Return the place of the function of an assertion among those with a status."""
    function = enclosing(check, "func.func")
    if function in reporting:
        return reporting.index(function)
    raise LoweringError(
        "an assertion stands in a function that could not be inlined into the entry: "
        "its failure would end the process",
        where=place(check),
        hint="call the function directly (func.call, without no_inline), or drop the assertion",
    )


def _append_fail_block(function: Any) -> Any:
    blocks = function.regions[0].blocks
    status = blocks[0].arguments[len(blocks[0].arguments) - 1]
    with function.location:
        fail = blocks.append(ir.IntegerType.get_signless(64))
        with ir.InsertionPoint(fail):
            if PART in function.attributes:
                results = [_poison(type_) for type_ in function_type(function).results[:-1]]
                func.ReturnOp([*results, fail.arguments[0]])
                return fail
            zero = index(0)
            memref.store(fail.arguments[0], status, [zero])
            func.ReturnOp([_poison(type_) for type_ in function_type(function).results])
    return fail


def _poison(type_: Any) -> Any:
    return ir.Operation.create("ub.poison", results=[type_]).results[0]


def _split(block: Any, fail: Any, messages: dict[str, int]) -> int:
    """End `block` at its first assertion, its remainder at the second, and so on.

    The last assertion goes first, so that each operation moves once. Returns their number.
    """
    ops = [op.operation for op in block.operations]
    positions = [at for at, op in enumerate(ops) if op.name == "cf.assert"]
    for at in positions:
        if STATUS_OF_PART not in ops[at].attributes:
            messages.setdefault(_message(ops[at]), len(messages) + 1)
    tail = ops[positions[-1] + 1 :]
    for at, before in zip(reversed(positions), [*reversed(positions[:-1]), -1], strict=True):
        check = ops[at]
        rest = block.create_after()
        for op in tail:
            rest.append(op)
        with check.location, ir.InsertionPoint(check):
            number, new_ops = _status(check, messages)
            branch = cf.cond_br(check.operands[0], [], [number], rest, fail)
        tail = [*ops[before + 1 : at], *new_ops, branch.operation]
        check.erase()
    return len(positions)


def _status(check: Any, messages: dict[str, int]) -> tuple[Any, list[Any]]:
    """Return the status that a failing assertion means, and the operations made for it."""
    if STATUS_OF_PART in check.attributes:
        # The assertion is that a status is 0.
        return check.operands[0].owner.operands[0], []
    number = arith.constant(ir.IntegerType.get_signless(64), messages[_message(check)])
    return number, [number.owner]


def _message(check: Any) -> str:
    # The message of an assertion in bytecode may not be text.
    message = ir.StringAttr(check.attributes["msg"]).value_bytes.decode(errors="replace")
    location = check.location
    while isinstance(location, ir.CallSiteLoc):
        location = location.callee
    if not isinstance(location, ir.NameLoc):
        return message
    # An assertion of ours is named after the op that it is of.
    return f"{message}{OF_OP}{location.name_str}\nLocation: {location.child_loc}"
