"""Dtypes and casts of traced values, as NumPy decides them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.errors import DTypeError, caller_location
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.constants import as_constant, as_traced
from linalg_ext.tracing.elements import as_dtype
from linalg_ext.tracing.sizes import Size
from linalg_ext.tracing.traced import Number, Traced


def is_weak(value: Any) -> bool:
    """Return whether a value is a Python number, which takes the dtype of what it meets."""
    return (
        isinstance(value, Size)
        or type(value) in (int, float, complex)
        or (isinstance(value, Traced) and value.weak is not None)
    )


def kind_for_numpy(value: Any) -> Any:
    """Return the dtype or the Python type by which NumPy's promotion sees a value."""
    if isinstance(value, Traced):
        return value.weak or value.dtype
    if isinstance(value, Size):
        return int
    if type(value) in (int, float, complex):
        return type(value)
    return as_constant(value).dtype


def common_dtype(name: str, values: Sequence[Any]) -> DType:
    """The dtype in which values meet, Python numbers weak.

    Raises:
        DTypeError: they have none.
    """
    kinds = [kind_for_numpy(value) for value in values]
    try:
        return np.result_type(*(kind(0) if isinstance(kind, type) else kind for kind in kinds))
    except TypeError as error:
        raise DTypeError(
            f"{name}: {' and '.join(getattr(k, '__name__', str(k)) for k in kinds)} have no common "
            "dtype",
            where=caller_location(),
            hint="convert them with .astype(...)",
            notes=[str(error)],
        ) from None


def cast_to(value: Any, dtype: Any) -> Traced:
    """A value cast as by `astype`; itself where it has the dtype."""
    traced, wanted = as_traced(value), as_dtype(dtype)
    return traced if wanted == traced.dtype and traced.weak is None else traced.astype(wanted)


def arrays_of(*values: Any) -> list[Traced]:
    """Traced values of dtypes of their own, as NumPy's `asarray` has them: no number is weak."""
    return [cast_to(value, as_traced(value).dtype) for value in values]


def operand(value: Any, dtype: DType) -> Traced | Number:
    """A value as the operand of an element-wise op; numbers are put into its body.

    Raises:
        DTypeError: a Python number does not fit the dtype.
    """
    if isinstance(value, Traced | Size):
        return as_traced(value)
    array = as_constant(value, dtype)
    if array.ndim == 0:
        return Number(array.item(), array.dtype)
    return as_traced(array)
