"""The dialects of modules that exporters wrote: `stablehlo`, `chlo` and `tm_tensor`.

Where the bindings come with torch-mlir, they know them, and give them to contexts through the
passes that make their ops. Where they are LLVM's own, there are none: such a module does not parse.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, passmanager

_MAKES_THEM = "builtin.module(func.func(convert-torch-to-tmtensor,convert-torch-to-stablehlo))"


def load(context: ir.Context) -> None:
    """Load them into a context, if they are there."""
    try:
        from linalg_ext.bindings import exporters  # noqa: F401  # registers the passes
    except ImportError:
        return
    with context, ir.Location.unknown():
        passmanager.PassManager.parse(_MAKES_THEM).run(ir.Module.create().operation)
