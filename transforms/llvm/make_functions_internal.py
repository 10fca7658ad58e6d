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
from typing import Any

from linalg_ext.bindings import ir, llvm
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.module_functions import STATUS
from linalg_ext.transforms.ir_utils.walking import name_of, operations, producer, replace_op

NAME = "linalg-ext-make-functions-internal"

_INTERFACE = "_mlir_ciface_"

_ARGUMENTS = "arg_attrs"


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
        if _ARGUMENTS in function.attributes:
            attributes = ir.ArrayAttr(function.attributes[_ARGUMENTS])
            known = ir.ArrayAttr.get(list(map(_known, attributes)))
            if known != attributes:
                report.changed["llvm.func"] += 1
                function.attributes[_ARGUMENTS] = known
        is_entry = STATUS in function.attributes and f"{_INTERFACE}{name}" in functions
        if not is_entry and not _is_private(function):
            continue
        report.changed["llvm.func"] += 1
        function.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        if is_entry:
            function.attributes["no_inline"] = ir.UnitAttr.get()
            _drop_unused(function, functions[f"{_INTERFACE}{name}"])
    return report


def _known(attributes: ir.Attribute) -> ir.DictAttr:
    """Return the attributes of an argument that LLVM knows."""
    named: Any = ir.DictAttr(attributes)
    return ir.DictAttr.get(
        {known.name: known.attr for known in named if known.name.startswith("llvm.")}
    )


def _drop_unused(function: ir.Operation, interface: ir.Operation) -> None:
    """Drop the arguments that a function does not use; its interface alone calls it."""
    block = function.regions[0].blocks[0]
    used = [any(True for _ in argument.uses) for argument in block.arguments]
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
    if _ARGUMENTS in function.attributes:
        attributes = compress(ir.ArrayAttr(function.attributes[_ARGUMENTS]), used)
        function.attributes[_ARGUMENTS] = ir.ArrayAttr.get(list(attributes))
    with call.location, ir.InsertionPoint(call):
        operands = list(compress(call.operands, used))
        new_call = llvm.CallOp(result, operands, [], [], callee=call.attributes["callee"])
    replace_op(call, *new_call.results)
    for op in operations(interface, {"llvm.extractvalue"}):
        if any(True for _ in op.results[0].uses):
            _load_alone(op)
        else:
            op.erase()
    for op in operations(interface, {"llvm.load"}):
        if not any(True for _ in op.results[0].uses):
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


def _is_private(function: ir.Operation) -> bool:
    attributes = function.attributes
    return "sym_visibility" in attributes and attributes["sym_visibility"] == ir.StringAttr.get(
        "private"
    )
