"""MLIR's binary form: quicker to write and to read than its text."""

from __future__ import annotations

import io

from linalg_ext.bindings import ir


def to_bytecode(op: ir.Operation) -> bytes:
    """An op and all that is in it, locations included; a module is parsed from it."""
    stream = io.BytesIO()
    op.write_bytecode(stream)
    return stream.getvalue()
