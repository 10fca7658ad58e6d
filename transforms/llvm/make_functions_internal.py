"""Make functions internal that no other code calls: LLVM may then change their parameters.

An entry takes each buffer as a pointer, an offset, sizes and strides. These are a thousand values
for a model with a hundred parameters, and the entry uses only the pointers. LLVM keeps each of them
in a place of the stack for as long as other code may call the function.

before:
    llvm.func @entry(%status: !llvm.ptr) attributes {linalg_ext.status, llvm.emit_c_interface} {
      llvm.call @part() : () -> ()
      llvm.return
    }
    llvm.func @_mlir_ciface_entry(%status: !llvm.ptr) attributes {llvm.emit_c_interface} {
      llvm.call @entry(%status) : (!llvm.ptr) -> ()
      llvm.return
    }
    llvm.func @part() attributes {sym_visibility = "private"} {
      llvm.return
    }
after:
    llvm.func internal @entry(%status: !llvm.ptr)
        attributes {linalg_ext.status, llvm.emit_c_interface, no_inline} {
      llvm.call @part() : () -> ()
      llvm.return
    }
    llvm.func @_mlir_ciface_entry(%status: !llvm.ptr) attributes {llvm.emit_c_interface} {
      llvm.call @entry(%status) : (!llvm.ptr) -> ()
      llvm.return
    }
    llvm.func internal @part() attributes {sym_visibility = "private"} {
      llvm.return
    }

The entry keeps its name in the code, for those who read it: `no_inline`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.entry_status import STATUS

NAME = "linalg-ext-make-functions-internal"

_INTERFACE = "_mlir_ciface_"


@module_pass(NAME, on="llvm.func")
def make_functions_internal(module: ir.Operation) -> Report:
    """Make private functions internal, and an entry that is called through its C interface."""
    report = Report(NAME)
    functions = {
        ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == "llvm.func" and len(op.operation.regions[0].blocks)
    }
    for name, function in functions.items():
        is_entry = STATUS in function.attributes and f"{_INTERFACE}{name}" in functions
        if not is_entry and not _is_private(function):
            continue
        report.changed["llvm.func"] += 1
        function.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        if is_entry:
            function.attributes["no_inline"] = ir.UnitAttr.get()
    return report


def _is_private(function: ir.Operation) -> bool:
    attributes = function.attributes
    return "sym_visibility" in attributes and attributes["sym_visibility"] == ir.StringAttr.get(
        "private"
    )
