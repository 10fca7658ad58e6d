"""Dialects defined from Python, loaded into every context that this library makes.

lx.dialects.linalg_ext.contract(a, b, c, outs=out, maps="ij,jk,kl->il")
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.context import register_dialect
from linalg_ext.dialects import linalg_ext

__all__ = ["linalg_ext"]


def load(context: ir.Context) -> None:
    """Load the dialects into a context, if it does not have them; under `context`'s lock."""
    with context:
        if not context.is_dialect_loaded("linalg_ext"):
            linalg_ext.LinalgExt.load()


register_dialect(load)
