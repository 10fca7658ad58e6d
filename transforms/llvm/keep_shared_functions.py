"""Keep functions that are called from several places, where all others are inlined.

Nests of one plan, and loops that are alike, are one function each: inlined, each call would have a
copy of the code, which LLVM would compile once more.

before:
    func.func @entry(%a: memref<8xf32>, %b: memref<8xf32>, %status: memref<1xi64>)
        attributes {linalg_ext.status} {
      call @part(%a) : (memref<8xf32>) -> ()
      call @part(%b) : (memref<8xf32>) -> ()
      return
    }
    func.func private @part(%a: memref<8xf32>) {
      %room = memref.alloc() : memref<8xf32>
      memref.copy %a, %room : memref<8xf32> to memref<8xf32>
      return
    }
after:
    func.func @entry(%a: memref<8xf32>, %b: memref<8xf32>, %status: memref<1xi64>)
        attributes {linalg_ext.status} {
      %0 = call @part(%a) : (memref<8xf32>) -> i64
      %zero = arith.constant 0 : i64
      %1 = arith.cmpi eq, %0, %zero : i64
      cf.assert %1, "a part failed" {linalg_ext.status_of_part}
      %2 = call @part(%b) : (memref<8xf32>) -> i64
      %zero_0 = arith.constant 0 : i64
      %3 = arith.cmpi eq, %2, %zero_0 : i64
      cf.assert %3, "a part failed" {linalg_ext.status_of_part}
      return
    }
    func.func private @part(%a: memref<8xf32>) -> i64
        attributes {linalg_ext.part, llvm.bareptr, no_inline} {
      %room = memref.alloc() : memref<8xf32>
      memref.copy %a, %room : memref<8xf32> to memref<8xf32>
      %good = arith.constant 0 : i64
      return %good : i64
    }

In a long module those called once are kept as well: LLVM's time grows with the square of the length
of a function.

Functions that take a buffer are kept: those of scalars stand in loops, where a call costs more than
their work. A function in which nothing can fail returns no status. Buffers whose strides are known
are passed as plain pointers.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from linalg_ext.bindings import func, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.module_functions import PART, assert_good, entry_with_status
from linalg_ext.transforms.ir_utils.walking import (
    callee_of,
    count_operations,
    enclosing,
    function_type,
    functions,
    name_of,
    operations,
    replace_op,
    set_function_type,
)

NAME = "linalg-ext-keep-shared-functions"

_CAN_FAIL = frozenset({"cf.assert", "memref.alloc"})
_BARE = "llvm.bareptr"


@module_pass(NAME, on="func.call")
def keep_shared_functions(module: ir.Operation, *, longest: int = 4000) -> Report:
    """Have functions on buffers that are called several times not inlined, but return a status.

    Control flow must be branches already. A module without an entry that takes a status is left as
    it is: the status of its functions would not be read.

    Args:
        module: with an entry.
        longest: how many ops it may have where functions that are called once are inlined.
    """
    report = Report(NAME)
    if entry_with_status(module) is None:
        return report
    ops = operations(module, {"func.call", "func.constant", *_CAN_FAIL})
    calls = [op for op in ops if op.name == "func.call"]
    counts = Counter(map(callee_of, calls))
    known = {name_of(function): function for function in functions(module)}
    # A function whose address is taken is called with the type that it has.
    constants = (op.attributes["value"] for op in ops if op.name == "func.constant")
    with_address = {ir.FlatSymbolRefAttr(value).value for value in constants}
    is_long = count_operations(module) > longest
    shared = {
        name: function
        for name, function in known.items()
        if (counts[name] > 1 or is_long) and name not in with_address and _may_be_kept(function)
    }
    failing = _failing([op for op in ops if op.name in _CAN_FAIL], calls)
    for name, function in shared.items():
        report.changed["func.func"] += 1
        function.attributes["no_inline"] = ir.UnitAttr.get()
        if all(_is_plain(argument.type) for argument in function.regions[0].blocks[0].arguments):
            function.attributes[_BARE] = ir.UnitAttr.get()
        if name in failing:
            _return_status(function)
    for call in calls:
        if (name := callee_of(call)) in shared and name in failing:
            with call.location, ir.InsertionPoint(call):
                _hand_status_on(call)
    return report


def _may_be_kept(function: Any) -> bool:
    """Return whether an unmarked function of the entry's work takes buffers and returns none."""
    attributes = function.attributes
    if "no_inline" in attributes or PART in attributes or "sym_visibility" not in attributes:
        return False
    type_ = function_type(function)
    takes = any(isinstance(input_, ir.MemRefType) for input_ in type_.inputs)
    # A plain pointer to a returned buffer would not tell how to free it.
    return takes and not any(isinstance(result, ir.MemRefType) for result in type_.results)


def _is_plain(type_: ir.Type) -> bool:
    """Return whether a value of a type is a pointer, or a scalar, and no more."""
    if not isinstance(type_, ir.MemRefType):
        return True
    if not type_.has_static_shape:
        return False
    if not isinstance(type_.layout, ir.StridedLayoutAttr):
        return bool(type_.affine_map == ir.AffineMap.get_identity(type_.rank))
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    return unknown not in (*type_.layout.strides, type_.layout.offset)


def _failing(can_fail: list[Any], calls: list[Any]) -> set[str]:
    """Return the functions in which something can fail, or in one that they call."""
    failing = {name_of(enclosing(op, "func.func")) for op in can_fail}
    callers = {(name_of(enclosing(call, "func.func")), callee_of(call)) for call in calls}
    while more := {caller for caller, callee in callers if callee in failing} - failing:
        failing |= more
    return failing


def _return_status(function: Any) -> None:
    i64 = ir.IntegerType.get_signless(64)
    type_ = function_type(function)
    set_function_type(function, type_.inputs, [*type_.results, i64])
    function.attributes[PART] = ir.UnitAttr.get()
    for end in operations(function, {"func.return"}):
        with end.location, ir.InsertionPoint(end):
            func.ReturnOp([*end.operands, constant(i64, 0)])
        end.erase()


def _hand_status_on(call: Any) -> None:
    i64 = ir.IntegerType.get_signless(64)
    types = [result.type for result in call.results]
    new = func.CallOp([*types, i64], call.attributes["callee"], list(call.operands))
    *results, status = new.operation.results
    assert_good(status, "a part failed")
    replace_op(call, *results)
