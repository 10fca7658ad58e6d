"""Functions of destination-style ops: built by Python, compiled, and called on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import linalg_ext as lx
from linalg_ext.bindings import func, ir
from linalg_ext.ir.context import new_context


def text_of(body: Callable[..., Any], *types: str) -> str:
    """The module of a function of these types, its body built by `body` of the arguments."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            given = [ir.Type.parse(each) for each in types]
            func.FuncOp.from_py_func(*given, name="f")(body)
        assert module.operation.verify()
        return str(module)


def compiled(body: Callable[..., Any], *types: str) -> Any:
    """The same function as a kernel; its text is read back on the way."""
    return lx.compile(lx.parse(text_of(body, *types)), entry="f")


def call(body: Callable[..., Any], types: tuple[str, ...], *arrays: Any) -> Any:
    """What the function gives for arrays."""
    return compiled(body, *types)(*arrays)
