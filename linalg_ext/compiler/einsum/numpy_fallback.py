"""Einsums that are done by NumPy before we would know what they are.

Reading subscripts, finding a path and putting labels on axes takes longer than a sum over a few
elements. Where no kernel would ever come of a call, it is NumPy's own from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from linalg_ext.compiler.einsum.algebra import tell_numpy_computes

_MOST_PRODUCTS = 4096
"""More than this are worth a closer look."""

_FLOATS = frozenset("fd")
_DTYPES = _FLOATS | frozenset("ilqILQ")
"""Characters of the dtypes in which NumPy sums as we do."""


def in_numpy(operands: Sequence[Any]) -> Any:
    """The einsum of small arrays of one dtype, or NotImplemented where it is more than that.

    Args:
        operands: the subscripts and the arrays; nothing else was said.
    """
    text, *arrays = operands
    if type(text) is not str or not 1 <= len(arrays) <= 2:
        return NotImplemented
    products = 1
    for array in arrays:
        if type(array) is not np.ndarray:
            return NotImplemented
        products *= array.size
    dtype = arrays[0].dtype
    if products > _MOST_PRODUCTS or dtype.char not in _DTYPES or not dtype.isnative:
        return NotImplemented
    if arrays[-1].dtype != dtype or not _has_no_kernel(text, len(arrays), dtype.char in _FLOATS):
        return NotImplemented
    tell_numpy_computes("%r: of so few elements no kernel would come", text)
    try:
        return np.einsum(text, *arrays)
    except ValueError:  # to be told by an error of ours
        return NotImplemented


@lru_cache(maxsize=4096)
def _has_no_kernel(text: str, count: int, is_float: bool) -> bool:
    """Return whether an einsum is never compiled for its sizes, however often it is called."""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not arrow or len(terms) != count or not "".join([*terms, output]).isalpha():
        return False
    if count == 1 or not is_float:
        return True
    return set(terms[0]) & set(terms[1]) <= set(output)
