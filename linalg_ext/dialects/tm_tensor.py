"""The dialect `tm_tensor` of modules that torch-mlir exported: scans, scatters, sorts, attention.

Where the bindings come with torch-mlir, they know it, and give it to contexts through the passes
that make its ops. Where they are LLVM's own, there is none: such a module does not parse.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, passmanager

_MAKES_IT = "builtin.module(func.func(convert-torch-to-tmtensor))"


def load(context: ir.Context) -> None:
    """Load it into a context, if there is one."""
    try:
        from linalg_ext.bindings import exporters  # noqa: F401  # registers the passes
    except ImportError:
        return
    with context, ir.Location.unknown():
        passmanager.PassManager.parse(_MAKES_IT).run(ir.Module.create().operation)
