"""Calls of functions of Python, built on tensors: see `linalg_ext.runtime.callbacks`.

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

The stub stands for the call until there are buffers, as that of a library does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import func, ir
from linalg_ext.runtime.callbacks import Callback

from .library_stub import adopt, stub


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
    given = ", ".join(f"%a{number}: {type_}" for number, type_ in enumerate(buffers))
    passed = ", ".join(["%key", *(f"%a{number}" for number in range(len(buffers)))])
    return ir.Module.parse(
        f"""
        func.func private @{callback.name}({listed}) -> i64 attributes {{llvm.emit_c_interface}}
        func.func private @{called}({given}) {{
          %key = arith.constant {callback.key} : i64
          %status = call @{callback.name}({passed}) : ({listed}) -> i64
          %zero = arith.constant 0 : i64
          %is_done = arith.cmpi eq, %status, %zero : i64
          cf.assert %is_done, "{callback.name} raised"
          return
        }}"""
    )
