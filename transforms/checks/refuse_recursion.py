"""Refuse recursive calls: calls are inlined, so that a failure in any function can end the entry.

An error names the cycle; a module without one passes unchanged.

refused:
    func.func @f(%a: f32) -> f32 {
      %0 = call @g(%a) : (f32) -> f32
      return %0 : f32
    }
    func.func private @g(%a: f32) -> f32 {
      %0 = call @g(%a) : (f32) -> f32
      return %0 : f32
    }
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import module_pass
from linalg_ext.transforms.ir_utils.walking import functions, operations, place

NAME = "linalg-ext-refuse-recursion"


@module_pass(NAME)
def refuse_recursion(module: ir.Operation) -> None:
    """Refuse functions that call themselves, directly or through others.

    Raises:
        LoweringError: some function does; names the cycle.
    """
    calls: dict[str, list[tuple[str, Any]]] = {}
    for function in functions(module):
        name = ir.StringAttr(function.attributes["sym_name"]).value
        calls[name] = [
            (ir.FlatSymbolRefAttr(op.attributes[key]).value, op)
            for op in operations(function, {"func.call", "func.constant"})
            for key in ("callee", "value")
            if key in op.attributes
        ]
    done: set[str] = set()
    for name in calls:
        _follow(name, calls, [], done)


def _follow(
    name: str, calls: Mapping[str, list[tuple[str, Any]]], path: list[str], done: set[str]
) -> None:
    if name in done:
        return
    for callee, call in calls.get(name, ()):
        if callee in (*path, name):
            cycle = [*path, name]
            cycle = [*cycle[cycle.index(callee) :], callee]
            raise LoweringError(
                f"recursive calls cannot be lowered: {' -> '.join('@' + one for one in cycle)}",
                where=place(call),
                hint="write the recursion as a loop (scf.while)",
            )
        _follow(callee, calls, [*path, name], done)
    done.add(name)
