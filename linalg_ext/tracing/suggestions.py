"""Errors for NumPy's functions that are not recorded, with the nearest one that is."""

from __future__ import annotations

import difflib
from typing import NoReturn

from linalg_ext.tracing.unsupported import refuse
from linalg_ext.utils import hooks

_INSTEAD = {
    "sort_complex": "np.sort is recorded, of complex values too",
    "unique": "the shape of the result depends on the values: call it outside the function",
    "nonzero": "the shape of the result depends on the values: use np.where(mask, x, y)",
    "flatnonzero": "the shape of the result depends on the values: use np.where(mask, x, y)",
    "argwhere": "the shape of the result depends on the values: use np.where(mask, x, y)",
    "extract": "the shape of the result depends on the values: use np.where(mask, x, 0)",
    "place": "write np.where(mask, values, x)",
    "putmask": "write np.where(mask, values, x)",
    "copyto": "write np.where(mask, values, x)",
    "put": "write x.at[index].set(values)",
    "fill_diagonal": "write np.where(np.eye(n, dtype=bool), value, x)",
    "solve": "decompositions are not recorded: call it outside the function",
    "inv": "decompositions are not recorded: call it outside the function",
    "det": "decompositions are not recorded: call it outside the function",
    "svd": "decompositions are not recorded: call it outside the function",
    "eigh": "decompositions are not recorded: call it outside the function",
    "qr": "decompositions are not recorded: call it outside the function",
    "cholesky": "decompositions are not recorded: call it outside the function",
    "vectorize": "write the function on whole arrays",
    "apply_along_axis": "write the function on whole arrays, with axis=",
    "array2string": "print the result outside the function, or x.shape and x.dtype inside",
    "array_repr": "print the result outside the function, or x.shape and x.dtype inside",
    "array_str": "print the result outside the function, or x.shape and x.dtype inside",
    "bincount": "write (labels == np.arange(n)[:, None]).sum(1)",
    "add.at": "write x.at[index].add(values)",
    "save": "save the result outside the function",
}


def refuse_function(name: str, module: str = "numpy") -> NoReturn:
    """Raise the TraceError for one of NumPy's functions."""
    known = hooks.facade("tracing").names()
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
