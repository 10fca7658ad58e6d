"""Calls of stubs on tensors, now on memrefs, become calls of a library.

before:
    func.func private @f.stub(%a: memref<8xf32>, %c: memref<8xf32>) -> memref<8xf32>
        attributes {linalg_ext.called = @f, no_inline} {
      %zero = arith.constant 0 : index
      %x = memref.load %a[%zero] : memref<8xf32>
      memref.store %x, %c[%zero] : memref<8xf32>
      return %c : memref<8xf32>
    }
    func.func @g(%a: memref<8xf32>, %c: memref<8xf32>) -> memref<8xf32> {
      %0 = call @f.stub(%a, %c) : (memref<8xf32>, memref<8xf32>) -> memref<8xf32>
      return %0 : memref<8xf32>
    }
after:
    func.func @g(%a: memref<8xf32>, %c: memref<8xf32>) -> memref<8xf32> {
      func.call @f(%a, %c) : (memref<8xf32>, memref<8xf32>) -> ()
      return %c : memref<8xf32>
    }

It follows bufferization, for which the stubs were made: see `linalg-ext-call-libraries`.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import func, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.module_functions import callee_of, name_of
from linalg_ext.transforms.ir_utils.walking import functions, operations
from linalg_ext.transforms.rewrites.call_stubs import CALLED, OPAQUE

NAME = "linalg-ext-link-library-calls"


@module_pass(NAME, on="func.call")
def link_library_calls(module: ir.Operation) -> Report:
    """Call the library where a stub stands for it."""
    report = Report(NAME)
    stubs = {name_of(op): op for op in functions(module) if CALLED in op.attributes}
    for call in operations(module, {"func.call"}):
        if (callee := callee_of(call)) in stubs:
            report.matched[call.name] += 1
            report.changed[call.name] += 1
            _link(call, ir.FlatSymbolRefAttr(stubs[callee].attributes[CALLED]).value)
    for stub in stubs.values():
        stub.erase()
    for op in module.regions[0].blocks[0].operations:
        name = op.operation.attributes.get("sym_name")
        if name is not None and ir.StringAttr(name).value.endswith(OPAQUE):
            op.operation.erase()
    return report


def _link(call: Any, symbol: str) -> None:
    operands, results = list(call.operands), list(call.results)
    with call.location, ir.InsertionPoint(call):
        func.CallOp([], symbol, operands)
    written = operands[len(operands) - len(results) :]
    for result, operand in zip(results, written, strict=True):
        result.replace_all_uses_with(operand)
    call.erase()
