"""Loading dialects defined from Python: from a text, for every context but the first.

Upstream builds the definition of a dialect op by op, and simplifies it, for each context anew: 7 ms
for `gml_st`, 2 ms from its simplified text.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir

_texts: dict[str, str] = {}


def load_dialect(dialect: Any) -> None:
    """Load an `ext.Dialect` into the current context, if it is not there.

    Under the lock of `linalg_ext.context`, for what is loaded is kept on the class.
    """
    name: str = dialect.DIALECT_NAMESPACE
    context = ir.Context.current
    if context is None or context.is_dialect_loaded(name):
        return
    dialect.load()
    if name not in _texts and hasattr(dialect, "_emit_module"):
        _texts[name] = str(dialect._mlir_module)
        dialect._emit_module = staticmethod(lambda: ir.Module.parse(_texts[name]))
