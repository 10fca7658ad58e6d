"""The dialects `stablehlo` and `chlo` of modules that JAX and its kin exported.

Where the bindings come with torch-mlir, they know them, and give them to contexts through a pass
that makes their ops. Where they are LLVM's own, there are none: such a module does not parse.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, passmanager

_MAKES_IT = "builtin.module(func.func(convert-torch-to-stablehlo))"


def load(context: ir.Context) -> None:
    """Load them into a context, if they are there."""
    try:
        from linalg_ext.bindings import exporters  # noqa: F401  # registers the passes
    except ImportError:
        return
    with context, ir.Location.unknown():
        passmanager.PassManager.parse(_MAKES_IT).run(ir.Module.create().operation)
