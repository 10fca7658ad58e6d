"""Functions of tensors that stand for calls of a library, or of Python, until there are buffers.

    func.func private @f.stub(%a0: tensor<4xf32>, %a1: tensor<4xf32>) -> tensor<4xf32>
        attributes {no_inline, linalg_ext.called = @f} {
      %zero = arith.constant 0 : index
      %x0 = tensor.extract %a0[%zero] : tensor<4xf32>
      %x1 = tensor.extract %a1[%zero] : tensor<4xf32>
      %y = call @f.stub.opaque(%x0, %x1) : (f32, f32) -> f32
      %r1 = tensor.insert %y into %a1[%zero] : tensor<4xf32>
      return %r1 : tensor<4xf32>
    }

A stub is never run. Bufferization sees in it that all operands are read, that the last ones are
written in place and given back, and how the library wants the inputs to lie.

The call of a function of Python, see `linalg_ext.runtime.callbacks`, is

    %r = call @f.stub(%a, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

    func.func private @f(%a: memref<4xf32>, %c: memref<4xf32>) {
      %key = arith.constant 17 : i64
      %status = call @lx.callback.17(%key, %a, %c) : (i64, memref<4xf32>, memref<4xf32>) -> i64
      %zero = arith.constant 0 : i64
      %is_done = arith.cmpi eq, %status, %zero : i64
      cf.assert %is_done, "lx.callback.17 raised"
      return
    }
    func.func private @lx.callback.17(i64, memref<4xf32>, memref<4xf32>) -> i64
        attributes {llvm.emit_c_interface}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import func, ir
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.transforms.ir_utils.walking import element_type

CALLED = "linalg_ext.called"
"""Attribute of a stub: the function on memrefs that its calls stand for."""

OPAQUE = ".opaque"
"""Ends the name of the value from which a stub makes its result."""


def stub(
    called: str, name: str, types: Sequence[Any], buffers: Sequence[Any], inputs: int
) -> ir.Module:
    """Return a module of the stub and of the functions it declares.

    Args:
        called: the function on memrefs.
        name: of the stub.
        types: of the operands, inputs first.
        buffers: their counterparts on memrefs.
        inputs: how many are inputs.
    """
    elements = ", ".join(str(element_type(type_)) for type_ in types)
    results = ", ".join(str(type_) for type_ in types[inputs:])
    written = ", ".join(str(element_type(type_)) for type_ in types[inputs:])
    operands = [
        f"%a{number}: {type_}{_layout(type_, buffer)}"
        for number, (type_, buffer) in enumerate(zip(types, buffers, strict=True))
    ]
    reads = [
        f"%x{number} = tensor.extract %a{number}{_first(type_)} : {type_}"
        for number, type_ in enumerate(types)
        if isinstance(type_, ir.RankedTensorType)
    ]
    read = [
        f"%x{number}" if isinstance(type_, ir.RankedTensorType) else f"%a{number}"
        for number, type_ in enumerate(types)
    ]
    writes = [
        f"%r{number} = tensor.insert %y#{number - inputs} into %a{number}{_first(type_)} : {type_}"
        for number, type_ in enumerate(types)
        if number >= inputs
    ]
    lines = [
        "%zero = arith.constant 0 : index",
        *reads,
        f"%y:{len(writes)} = call @{name}{OPAQUE}({', '.join(read)}) : ({elements}) -> ({written})",
        *writes,
        f"return {', '.join(f'%r{n}' for n in range(inputs, len(types)))} : {results}",
    ]
    return ir.Module.parse(
        f"func.func private @{name}{OPAQUE}({elements}) -> ({written})\n"
        f"func.func private @{name}({', '.join(operands)}) -> ({results})"
        f" attributes {{no_inline, {CALLED} = @{called}}} {{\n" + "\n".join(lines) + "\n}"
    )


def _first(type_: Any) -> str:
    return f"[{', '.join(['%zero'] * type_.rank)}]"


def _layout(type_: Any, buffer: Any) -> str:
    if not isinstance(type_, ir.RankedTensorType):
        return ""
    if buffer == ir.MemRefType.get(type_.shape, type_.element_type):
        return ""
    return f" {{bufferization.buffer_layout = {buffer.layout}}}"


def adopt(module: ir.Operation, source: ir.Module) -> None:
    """Move the functions of a module to the end of another, without those that it has already.

    Args:
        module: the operation of a module; its own symbols stay as they are.
        source: a module in the same context; it is of no use afterwards.
    """
    table = ir.SymbolTable(module)
    for view in list(source.body.operations):
        op = view.operation
        if ir.StringAttr(op.attributes["sym_name"]).value not in table:
            op.detach_from_parent()
            module.regions[0].blocks[0].append(op)


def call_python(
    callback: Callback, operands: Sequence[Any], destinations: Sequence[Any]
) -> list[Any]:
    """Build the call of a function at the insertion point.

    Args:
        callback: the function.
        operands: tensors that it reads.
        destinations: tensors of the shapes of its results.

    Returns:
        Its results.
    """
    values = [*operands, *destinations]
    types = [ir.RankedTensorType(value.type) for value in values]
    buffers = [ir.MemRefType.get(type_.shape, type_.element_type) for type_ in types]
    module: Any = ir.InsertionPoint.current.block.owner
    while module.name != "builtin.module":
        module = module.parent
    called = f"{callback.name}.call"
    name = f"{called}.stub"
    adopt(module.operation, _body(called, callback, buffers))
    adopt(module.operation, stub(called, name, types, buffers, len(operands)))
    call = func.CallOp([value.type for value in destinations], name, values)
    return list(call.operation.results)


def _body(called: str, callback: Callback, buffers: Sequence[Any]) -> ir.Module:
    listed = ", ".join(["i64", *map(str, buffers)])
    parameters = ", ".join(f"%a{number}: {type_}" for number, type_ in enumerate(buffers))
    passed = ", ".join(["%key", *(f"%a{number}" for number in range(len(buffers)))])
    return ir.Module.parse(
        f"""
        func.func private @{callback.name}({listed}) -> i64 attributes {{llvm.emit_c_interface}}
        func.func private @{called}({parameters}) {{
          %key = arith.constant {callback.key} : i64
          %status = call @{callback.name}({passed}) : ({listed}) -> i64
          %zero = arith.constant 0 : i64
          %is_done = arith.cmpi eq, %status, %zero : i64
          cf.assert %is_done, "{callback.name} raised"
          return
        }}"""
    )
