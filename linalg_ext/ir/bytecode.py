"""MLIR's binary form: quicker to write and to read than its text."""

from __future__ import annotations

import io
import re
from typing import Any

from linalg_ext.bindings import ir

CONSTANTS = {"arith.constant": "value", "memref.global": "initial_value"}
"""Ops that hold a constant's elements, and the attribute that does."""

_EMPTY = re.compile(r': "0x[0-9A-Fa-f]{8}"')
"""A resource in a text of which there is an alignment, and no byte."""


def to_bytecode(op: ir.Operation) -> bytes:
    """An op and all that is in it, locations included; a module is parsed from it."""
    stream = io.BytesIO()
    op.write_bytecode(stream)
    return stream.getvalue()


def write_out_empty_resources(module: ir.Operation, text: str) -> None:
    """Make constants of no elements of resources without bytes, where the text of a module has any.

    MLIR writes an alignment of 0 for them, which its reader of bytecode refuses.
    """
    if _EMPTY.search(text) is None:
        return

    def visit(op: ir.Operation) -> ir.WalkResult:
        if (name := CONSTANTS.get(op.name)) is not None and name in op.attributes:
            _write_out_empty(op, name)
        return ir.WalkResult.ADVANCE

    with module.context:
        module.walk(visit)


def _write_out_empty(op: ir.Operation, name: str) -> None:
    try:
        type_: Any = ir.ShapedType(ir.DenseResourceElementsAttr(op.attributes[name]).type)
    except (TypeError, ValueError):  # of complex numbers, and other than resources
        return
    if 0 in type_.shape:
        op.attributes[name] = ir.DenseElementsAttr.get(b"", type=type_)
