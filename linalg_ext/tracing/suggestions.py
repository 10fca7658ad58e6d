"""Errors for NumPy's functions that are not recorded, with the nearest one that is."""

from __future__ import annotations

import difflib
from typing import NoReturn

from linalg_ext.tracing.unsupported import refuse
from linalg_ext.utils import hooks

_INSTEAD = {
    "unique": "the shape depends on the values: say how many, lx.unique(x, size=n)",
    "nonzero": "the shape depends on the values: lx.nonzero(x, size=n), or np.where(mask, x, y)",
    "flatnonzero": "the shape depends on the values: say how many, lx.flatnonzero(x, size=n)",
    "argwhere": "the shape depends on the values: say how many, lx.argwhere(x, size=n)",
    "extract": "the shape depends on the values: x[lx.nonzero(mask, size=n)], or np.where",
    "vectorize": "write the function on whole arrays",
    "array2string": "print the result outside the function, or x.shape and x.dtype inside",
    "array_repr": "print the result outside the function, or x.shape and x.dtype inside",
    "array_str": "print the result outside the function, or x.shape and x.dtype inside",
    **dict.fromkeys(
        ("save", "savetxt", "savez", "savez_compressed"), "save the result outside the function"
    ),
    **dict.fromkeys(
        ("unique_all", "unique_counts", "unique_inverse", "unique_values"),
        "the shape depends on the values: say how many, lx.unique(x, size=n)",
    ),
    **dict.fromkeys(
        ("intersect1d", "setdiff1d", "setxor1d", "union1d"),
        "the shape of the result depends on the values: np.isin(x, y) tells which are in both",
    ),
    **dict.fromkeys(
        ("polydiv", "roots", "trim_zeros"),
        "the shape depends on the values, as zeros at the ends are dropped: call it outside",
    ),
    **dict.fromkeys(
        ("busday_count", "busday_offset", "datetime_as_string", "is_busday", "isnat"),
        "dates have no element type: convert them to integers outside the function",
    ),
    **dict.fromkeys(
        ("may_share_memory", "shares_memory"), "traced values are no memory: ask outside"
    ),
    "poly": "multiply the factors of a row of roots by np.polymul",
    "common_type": "np.result_type gives the dtype of arrays together",
    "real_if_close": "the dtype depends on the values: take np.real(x)",
    "einsum_path": "ask for the path of arrays outside, and give it as optimize=",
}
"""For functions that are not recorded the reason, and what may stand in their place."""


def instead(name: str) -> str | None:
    """Return why a function of NumPy's is not recorded, and what may stand in its place."""
    return _INSTEAD.get(name) or _INSTEAD.get(name.rpartition(".")[2])


def refuse_function(name: str, module: str = "numpy") -> NoReturn:
    """Raise the TraceError for one of NumPy's functions."""
    known = hooks.facade("tracing").names()
    short = name.rpartition(".")[2]
    hint = instead(name)
    if hint is None:
        near = difflib.get_close_matches(short, known, 1, 0.6)
        hint = (
            f"the nearest that is recorded is {near[0]}"
            if near
            else ("compute it outside the function, or write it in terms of operators and lx.ops")
        )
    refuse(f"{module}.{name} cannot be recorded while a function is traced", hint)
