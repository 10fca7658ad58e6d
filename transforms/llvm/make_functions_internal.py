"""Make functions internal that no other code calls, and drop those that the entry does not use.

An entry takes each buffer as a pointer, an offset, sizes and strides. These are a thousand values
for a model with a hundred parameters, and the entry uses only the pointers. Its C interface alone
calls it, and gives it no others. LLVM may change the parameters of internal functions further.

An attribute of an argument that LLVM does not know goes: the translation to LLVM IR warns of each,
with the text of the whole function.

before:
    llvm.func @entry(%n: i64 {linalg_ext.parameter}, %status: !llvm.ptr)
        attributes {linalg_ext.status} {
      llvm.call @part(%status) : (!llvm.ptr) -> ()
      llvm.return
    }
    llvm.func @_mlir_ciface_entry(%n: i64, %status: !llvm.ptr) {
      llvm.call @entry(%n, %status) : (i64, !llvm.ptr) -> ()
      llvm.return
    }
    llvm.func @part(%status: !llvm.ptr) attributes {sym_visibility = "private"} {
      llvm.return
    }
after:
    llvm.func internal @entry(%status: !llvm.ptr) attributes {linalg_ext.status, no_inline} {
      llvm.call @part(%status) : (!llvm.ptr) -> ()
      llvm.return
    }
    llvm.func @_mlir_ciface_entry(%n: i64, %status: !llvm.ptr) {
      llvm.call @entry(%status) : (!llvm.ptr) -> ()
      llvm.return
    }
    llvm.func internal @part(%status: !llvm.ptr) attributes {sym_visibility = "private"} {
      llvm.return
    }

The entry keeps its name in the code, for those who read it: `no_inline`.
"""

from __future__ import annotations

from itertools import compress

from linalg_ext.bindings import ir, llvm
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.module_functions import (
    ARGUMENTS,
    STATUS,
    attributes_of_arguments,
)
from linalg_ext.transforms.ir_utils.walking import (
    is_private,
    is_unused,
    name_of,
    operations,
    producer,
    replace_op,
)

NAME = "linalg-ext-make-functions-internal"

_INTERFACE = "_mlir_ciface_"


@module_pass(NAME, on="llvm.func")
def make_functions_internal(module: ir.Operation) -> Report:
    """Make private functions internal, and an entry that is called through its C interface."""
    report = Report(NAME)
    functions = {
        name_of(op): op.operation
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == "llvm.func" and len(op.operation.regions[0].blocks)
    }
    for name, function in functions.items():
        if ARGUMENTS in function.attributes:
            # LLVM knows no others.
            known = ir.ArrayAttr.get(attributes_of_arguments(function, "llvm."))
            if known != function.attributes[ARGUMENTS]:
                report.changed["llvm.func"] += 1
                function.attributes[ARGUMENTS] = known
        is_entry = STATUS in function.attributes and f"{_INTERFACE}{name}" in functions
        if not is_entry and not is_private(function):
            continue
        report.changed["llvm.func"] += 1
        function.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        if is_entry:
            function.attributes["no_inline"] = ir.UnitAttr.get()
            _drop_unused(function, functions[f"{_INTERFACE}{name}"])
    return report


def _drop_unused(function: ir.Operation, interface: ir.Operation) -> None:
    """Drop the arguments that a function does not use; its interface alone calls it."""
    block = function.regions[0].blocks[0]
    used = [not is_unused(argument) for argument in block.arguments]
    used_arguments = list(compress(block.arguments, used))
    (call,) = operations(interface, {"llvm.call"})
    for at in reversed(range(len(used))):
        if not used[at]:
            block.erase_argument(at)
    inputs = ", ".join(str(argument.type) for argument in used_arguments)
    result = call.results[0].type if len(call.results) else None
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.Type.parse(f"!llvm.func<{'void' if result is None else result} ({inputs})>")
    )
    if ARGUMENTS in function.attributes:
        attributes = compress(ir.ArrayAttr(function.attributes[ARGUMENTS]), used)
        function.attributes[ARGUMENTS] = ir.ArrayAttr.get(list(attributes))
    with call.location, ir.InsertionPoint(call):
        operands = list(compress(call.operands, used))
        new_call = llvm.CallOp(result, operands, [], [], callee=call.attributes["callee"])
    replace_op(call, *new_call.results)
    for op in operations(interface, {"llvm.extractvalue"}):
        if not is_unused(op.results[0]):
            _load_alone(op)
        else:
            op.erase()
    for op in operations(interface, {"llvm.load"}):
        if is_unused(op.results[0]):
            op.erase()


def _load_alone(part: ir.Operation) -> None:
    """Load a part of a descriptor by itself: LLVM takes as long for each part that it loads."""
    whole = producer(part.operands[0])
    if whole is None or whole.name != "llvm.load":
        return
    pointer = ir.Type.parse("!llvm.ptr")
    place = ir.DenseI32ArrayAttr.get([0, *ir.DenseI64ArrayAttr(part.attributes["position"])])
    with part.location, ir.InsertionPoint(part):
        type_ = ir.TypeAttr.get(whole.results[0].type)
        at = llvm.GEPOp(pointer, whole.operands[0], [], place, type_, None).result
        replace_op(part, llvm.LoadOp(part.results[0].type, at).result)
