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

Buffers that are live where an assertion fails are not freed: a failure costs their memory.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, cf, func, ir, memref
from linalg_ext.errors import LoweringError

from .walk import operations, place

STATUS = "linalg_ext.status"
"""Unit attribute of the function whose last argument, a `memref<1xi64>`, takes the status."""

MESSAGES = "linalg_ext.assertions"
"""Attribute of the module: the message of status 1, 2, ..., as an array of strings."""

OUT_OF_MEMORY = "out of memory: an intermediate buffer could not be allocated"


def check_allocations(module: ir.Module) -> int:
    """Assert, behind each `memref.alloc` of the entry, that it gave memory; their number.

    before:
        %a = memref.alloc(%n) : memref<?xf32>
    after:
        %a = memref.alloc(%n) : memref<?xf32>
        %p = memref.extract_aligned_pointer_as_index %a : memref<?xf32> -> index
        %ok = arith.cmpi ne, %p, %c0 : index
        cf.assert %ok, "out of memory: an intermediate buffer could not be allocated"
    """
    entry = entry_with_status(module)
    if entry is None:
        return 0
    allocations = operations(entry, {"memref.alloc"})
    for allocation in allocations:
        with allocation.location, ir.InsertionPoint.after(allocation):
            index = ir.IndexType.get()
            pointer = memref.extract_aligned_pointer_as_index(allocation.results[0])
            null = arith.constant(index, 0)
            ok = arith.cmpi(arith.CmpIPredicate.ne, pointer, null)
            cf.assert_(ok, OUT_OF_MEMORY)
    return len(allocations)


def report_failures(module: ir.Module) -> int:
    """Rewrite the assertions of the entry as above; the number of distinct messages.

    The messages are left in the module's attribute `MESSAGES`. Control flow must be branches
    already and private functions inlined. A module without an entry that takes a status keeps its
    assertions.

    Raises:
        LoweringError: an assertion stands in a function that was not inlined into the entry.
    """
    entry = entry_with_status(module)
    if entry is None:
        return 0
    _require_inlined(module, entry)
    blocks = [block for block in entry.regions[0].blocks if _asserts(block)]
    messages: dict[str, int] = {}
    if blocks:
        fail = _append_fail_block(entry)
        for block in blocks:
            _split(block, fail, messages)
    with module.context:
        texts = [ir.StringAttr.get(message) for message in messages]
        module.operation.attributes[MESSAGES] = ir.ArrayAttr.get(texts)
    return len(messages)


def entry_with_status(module: ir.Module) -> Any | None:
    """The function that takes a status, or None.

    Raises:
        LoweringError: its last argument is not a `memref<1xi64>`.
    """
    for op in module.body.operations:
        if STATUS not in op.attributes or not isinstance(op, func.FuncOp) or op.is_external:
            continue
        arguments = op.regions[0].blocks[0].arguments
        if not len(arguments) or str(arguments[len(arguments) - 1].type) != "memref<1xi64>":
            raise LoweringError(
                f"@{op.name.value} has the attribute {STATUS} but takes no status",
                expected="memref<1xi64> as its last argument",
            )
        return op
    return None


def _asserts(block: Any) -> bool:
    return any(op.operation.name == "cf.assert" for op in block.operations)


def _require_inlined(module: ir.Module, entry: Any) -> None:
    inside = len(operations(entry, {"cf.assert"}))
    everywhere = operations(module, {"cf.assert"})
    if len(everywhere) == inside:
        return
    stray = next(op for op in everywhere if _function_of(op) != entry.operation)
    raise LoweringError(
        "an assertion stands in a function that could not be inlined into the entry: "
        "its failure would end the process",
        where=place(stray),
        cure="call the function directly (func.call, without no_inline), or drop the assertion",
    )


def _function_of(op: Any) -> Any:
    parent = op.parent
    while parent is not None and parent.name != "func.func":
        parent = parent.parent
    return parent


def _append_fail_block(entry: Any) -> Any:
    blocks = entry.regions[0].blocks
    status = blocks[0].arguments[len(blocks[0].arguments) - 1]
    with entry.location:
        fail = blocks.append(ir.IntegerType.get_signless(64))
        with ir.InsertionPoint(fail):
            zero = arith.constant(ir.IndexType.get(), 0)
            memref.store(fail.arguments[0], status, [zero])
            func.ReturnOp([_poison(type_) for type_ in entry.type.results])
    return fail


def _poison(type_: Any) -> Any:
    return ir.Operation.create("ub.poison", results=[type_]).results[0]


def _split(block: Any, fail: Any, messages: dict[str, int]) -> None:
    """End `block` at its first assertion, its remainder at the second, and so on.

    From the last assertion to the first, so that each operation moves once.
    """
    ops = [op.operation for op in block.operations]
    positions = [at for at, op in enumerate(ops) if op.name == "cf.assert"]
    for at in positions:
        messages.setdefault(_message(ops[at]), len(messages) + 1)
    tail = ops[positions[-1] + 1 :]
    for at, before in zip(reversed(positions), [*reversed(positions[:-1]), -1], strict=True):
        check = ops[at]
        rest = block.create_after()
        for op in tail:
            rest.append(op)
        with check.location, ir.InsertionPoint(check):
            number = arith.constant(ir.IntegerType.get_signless(64), messages[_message(check)])
            branch = cf.cond_br(check.operands[0], [], [number], rest, fail)
        tail = [*ops[before + 1 : at], number.owner, branch.operation]
        check.erase()


def _message(check: Any) -> str:
    return str(ir.StringAttr(check.attributes["msg"]).value)
