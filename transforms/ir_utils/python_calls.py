"""Modules that call functions of Python: see `linalg_ext.runtime.callbacks`."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.runtime.callbacks import PREFIX


def calls_python(module: Any) -> bool:
    """Return whether a module declares functions of Python: its code is of this process."""
    names = (
        op.operation.attributes.get("sym_name")
        for op in module.operation.regions[0].blocks[0].operations
    )
    return any(name is not None and ir.StringAttr(name).value.startswith(PREFIX) for name in names)
