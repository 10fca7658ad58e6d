"""NumPy's functions under `jit`: recorded, called, computed while it is traced, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from docs.generator.page import Page, table
from linalg_ext.tracing.functions.numpy_functions import CALLED_BACK, FUNCTIONS
from linalg_ext.tracing.functions.ufuncs import BODIES, CALLED_UFUNCS, OTHER_UFUNCS
from linalg_ext.tracing.functions.updates import WRITERS
from linalg_ext.tracing.known_arrays import MAKERS
from linalg_ext.tracing.values.unsupported import instead

MODULES = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}
"""The namespaces, by the names that people give them."""

_RECORDED = "recorded"
_CALLED = "called"
_NUMBERS = "numbers"
_NO = "no"

_INTRODUCTION = """# NumPy under jit

All functions of NumPy's namespace, and what becomes of each in a function under `lx.jit`:

- **recorded**: it becomes ops of the kernel;
- **called**: the kernel calls NumPy for it, as by
  [`lx.pure_callback`](reference/names.md#linalg_ext.tracing.functions.callbacks.pure_callback);
- **numbers**: it takes no arrays that could be traced; NumPy computes it once, while the function
  is traced, and what it gives is a constant;
- **no**: it raises a `TraceError`, with the reason.

`np.random` is refused, for a kernel would have the same numbers at every call: draw by the keys of
`lx.random`.
Where results differ from NumPy's: [Numbers](numbers.md#where-jit-differs-from-numpy).
"""


def pages() -> Iterator[Page]:
    """The page of all functions, a table for each namespace."""
    parts = [_INTRODUCTION]
    for prefix, module in MODULES.items():
        rows = [(f"`{prefix}.{name}`", *status(value)) for name, value in functions(module)]
        counts = ", ".join(
            f"{sum(row[1] == kind for row in rows)} {kind}"
            for kind in (_RECORDED, _CALLED, _NUMBERS, _NO)
        )
        parts.append(f"## {prefix}\n\n{counts}.\n\n" + table(("function", "", ""), rows))
    yield Page("numpy.md", "\n\n".join(parts) + "\n")


def functions(module: Any) -> list[tuple[str, Any]]:
    """The functions of a namespace by their names: no classes, dtypes and constants."""
    members = [(name, getattr(module, name)) for name in sorted(module.__all__)]
    return [
        (name, member)
        for name, member in members
        if callable(member) and hasattr(member, "__name__") and not isinstance(member, type)
    ]


def status(function: Any) -> tuple[str, str]:
    """Return the support of a function, with the reason or the manner where there is one."""
    name = str(function.__name__)
    if isinstance(function, np.ufunc):
        if name in (*BODIES, *OTHER_UFUNCS):
            return _RECORDED, ""
        return (_CALLED, "") if name in CALLED_UFUNCS else (_NO, instead(name) or "")
    if function in WRITERS:
        return _RECORDED, "writes into its first argument"
    if function in FUNCTIONS:
        return _RECORDED, ""
    if function in CALLED_BACK:
        return _CALLED, ""
    if name in MAKERS:
        return _RECORDED, "of numbers alone: numbers, until a traced value is written there"
    if hasattr(function, "_implementation"):
        return _NO, instead(name) or ""
    return _NUMBERS, ""
