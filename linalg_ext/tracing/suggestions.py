"""Errors for NumPy's functions that are not recorded, with the nearest one that is."""

from __future__ import annotations

import difflib
from typing import NoReturn

from linalg_ext.tracing.unsupported import refuse
from linalg_ext.utils import hooks

_INSTEAD = {
    "unique": "its shape depends on the values: say how many, lx.unique(x, size=n)",
    "nonzero": "its shape depends on the values: lx.nonzero(x, size=n), or np.where(mask, x, y)",
    "flatnonzero": "its shape depends on the values: say how many, lx.flatnonzero(x, size=n)",
    "argwhere": "its shape depends on the values: say how many, lx.argwhere(x, size=n)",
    "extract": "its shape depends on the values: x[lx.nonzero(mask, size=n)], or np.where",
    "vectorize": "write the function on whole arrays",
    "array2string": "print the result outside the function, or x.shape and x.dtype inside",
    "array_repr": "print the result outside the function, or x.shape and x.dtype inside",
    "array_str": "print the result outside the function, or x.shape and x.dtype inside",
    "save": "save the result outside the function",
}


def refuse_function(name: str, module: str = "numpy") -> NoReturn:
    """Raise the TraceError for one of NumPy's functions."""
    known = hooks.handler("names of recorded functions")()
    short = name.rpartition(".")[2]
    instead = _INSTEAD.get(name) or _INSTEAD.get(short)
    if instead is None:
        near = difflib.get_close_matches(short, known, 1, 0.6)
        instead = (
            f"the nearest that is recorded is {near[0]}"
            if near
            else ("compute it outside the function, or write it in terms of operators and lx.ops")
        )
    refuse(f"{module}.{name} cannot be recorded while a function is traced", instead)
