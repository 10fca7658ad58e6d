"""torch-mlir's dialects: known to every context that is made once this is imported.

The process that runs passes for us imports this, too; PyTorch is not needed.
"""

from __future__ import annotations

from linalg_ext.bindings import exporters, ir
from linalg_ext.ir.context import register_dialect


def load(context: ir.Context) -> None:
    """Have a context know the dialects of PyTorch's ops."""
    exporters.register_dialect(context)


def make_known() -> None:
    """Have the contexts that are made from now on know the dialects."""
    register_dialect(load)


make_known()
