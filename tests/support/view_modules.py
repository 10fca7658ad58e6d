"""Modules that write through views, so that what was written tells what a view covers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import linalg_ext as lx
from linalg_ext.bindings import arith, ir, linalg
from linalg_ext.module import Module

ROWS, COLUMNS = 6, 9
STATIC = f"memref<{ROWS}x{COLUMNS}xf32>"
OPEN = "memref<?x?xf32>"
STRIDED = "memref<?x?xf32, strided<[?, ?], offset: ?>>"

Views = ir.Value | Sequence[ir.Value]
Build = Callable[[ir.Value, ir.Value, ir.Value], Views]


def writing(build: Build, type_: str = STATIC) -> Module:
    """A function of a buffer and two indices that fills the views of it, the n-th with n."""
    text = f"func.func @f(%a: {type_}, %i: index, %j: index) {{ return }}"
    module = lx.parse(text)
    block = module.ir.body.operations[0].regions[0].blocks[0]
    with module.ir.context, ir.Location.unknown(), ir.InsertionPoint(block.operations[0]):
        for number, view in enumerate(listed(build(*block.arguments)), start=1):
            value = arith.constant(ir.F32Type.get(), float(number))
            linalg.fill(value, outs=[view])
    return module


def listed(views: Views) -> list[ir.Value]:
    return [views] if isinstance(views, ir.Value) else list(views)


def filled(module: Module) -> list[ir.Value]:
    """The views that a module fills, in order."""
    block = module.ir.body.operations[0].regions[0].blocks[0]
    fills = [op for op in block.operations if op.operation.name == "linalg.fill"]
    return [op.operation.operands[1] for op in fills]


def written(module: Module, i: int = 0, j: int = 0, *, order: Any = "C") -> np.ndarray[Any, Any]:
    """What the buffer holds after a call, of zeros before."""
    buffer = np.zeros((ROWS, COLUMNS), np.float32, order=order)
    lx.compile(module, "f")(buffer, i, j)
    return buffer
