"""Loading dialects defined from Python: from a text, for every context but the first.

Upstream builds the definition of a dialect op by op, and simplifies it, for each context anew: 7 ms
for `gml_st`, 2 ms from its simplified text.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ext, ir

_texts: dict[str, str] = {}


def load_dialect(dialect: type[ext.Dialect]) -> None:
    """Load a dialect into the current context, if it is not there; under `context`'s lock."""
    name = dialect.DIALECT_NAMESPACE
    if ir.Context.current.is_dialect_loaded(name):
        return
    dialect.load()
    if name not in _texts and hasattr(dialect, "_emit_module"):
        _texts[name] = str(dialect._mlir_module)
        emitter: Any = staticmethod(lambda: ir.Module.parse(_texts[name]))
        dialect._emit_module = emitter
