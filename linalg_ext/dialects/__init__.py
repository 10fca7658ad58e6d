"""Dialects that are loaded into every context of this library: its own, and those that exporters
write.

lx.dialects.linalg_ext.contract(a, b, c, outs=out, maps="ij,jk,kl->il")
lx.dialects.gml_st.tile(x, [i, 0], [4, 8])
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.dialects import gml_st, linalg_ext
from linalg_ext.dialects.loading import load_dialect, load_exported
from linalg_ext.ir.context import register_dialect

__all__ = ["gml_st", "linalg_ext"]


def load(context: ir.Context) -> None:
    """Load the dialects into a context, if it does not have them; under `context`'s lock."""
    with context:
        load_dialect(linalg_ext.LinalgExt)
        load_dialect(gml_st.GmlSt)
    load_exported(context)


register_dialect(load)
