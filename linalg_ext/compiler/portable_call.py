"""The packed form of an entry for the target that it is compiled for.

    llvm.func @lx_call_lx_entry_f(%table: !llvm.ptr) {
      %0 = llvm.load %table : !llvm.ptr -> !llvm.ptr        // where the first argument is
      %1 = llvm.load %0 : !llvm.ptr -> f32                  // the first argument
      ...
      llvm.call @_mlir_ciface_lx_entry_f(%1, ...) : (f32, ...) -> ()
      llvm.return
    }

The engine makes such a function too, but for the machine that it runs on, with instructions that
the target may lack; and what compiles for another architecture makes none.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.runtime.machine_code import PORTABLE
from linalg_ext.target import Target
from linalg_ext.transforms.llvm.set_target import confine


def add_portable_call(module: ir.Module, symbol: str, target: Target) -> None:
    """Add the packed form of the function `symbol` to a module in the LLVM dialect, in place."""
    callee = f"_mlir_ciface_{symbol}"
    function: Any = next(
        op
        for op in module.body.operations
        if op.operation.name == "llvm.func"
        and ir.StringAttr(op.operation.attributes["sym_name"]).value == callee
    )
    types = [str(argument.type) for argument in function.operation.regions[0].blocks[0].arguments]
    lines = [
        f"""
        %place{index} = llvm.getelementptr %table[{index}]
            : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
        %at{index} = llvm.load %place{index} : !llvm.ptr -> !llvm.ptr
        %value{index} = llvm.load %at{index} : !llvm.ptr -> {type_}"""
        for index, type_ in enumerate(types)
    ]
    values = ", ".join(f"%value{index}" for index in range(len(types)))
    listed = ", ".join(types)
    text = f"""
      llvm.func @{callee}({listed})
      llvm.func @{PORTABLE}{symbol}(%table: !llvm.ptr) {{{"".join(lines)}
        llvm.call @{callee}({values}) : ({listed}) -> ()
        llvm.return
      }}"""
    parsed = ir.Module.parse(text, module.context)  # must outlive what is read of it
    with module.context, ir.InsertionPoint(module.body):
        confine(list(parsed.body.operations)[1].operation.clone(), target)
