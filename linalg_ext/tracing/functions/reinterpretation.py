"""The bits of an array read as another dtype: `numpy.ndarray.view`."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from linalg_ext.errors import ShapeError
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.functions.complex_functions import created
from linalg_ext.tracing.values.elements import BOOL, as_dtype, part_dtype
from linalg_ext.tracing.values.emission import pointwise
from linalg_ext.tracing.values.traced import Traced, xp


def reinterpreted(value: Traced, dtype: Any) -> Traced:
    """Return the bits of an array as another dtype; the last axis grows or shrinks with its width.

    Elements are little-endian.

    Raises:
        DTypeError: `dtype` is not one that can be traced.
        ShapeError: the last axis does not hold a whole number of wider elements.
    """
    new = as_dtype(dtype)
    if new == value.dtype:
        return value.apart()
    if value.ndim == 0:
        if new.itemsize != value.itemsize:
            raise ShapeError(
                f"a scalar of {value.dtype} has no view of {new}, which has another width",
                hint="x[None].view(dtype)",
            )
        return reinterpreted(value[None], new)[0]
    if value.shape[-1] * value.itemsize % new.itemsize:
        raise ShapeError(
            f"{value!r} has no view of {new}",
            expected=f"a last axis of a multiple of {new.itemsize} bytes",
        )
    if value.dtype == BOOL:
        return reinterpreted(value.astype(np.uint8), new)
    if new == BOOL:
        return reinterpreted(value, np.uint8) != 0
    if value.dtype.kind == "c":
        return reinterpreted(_joined(xp.stack([xp.real(value), xp.imag(value)], axis=-1)), new)
    if new.kind == "c":
        parts = _split(reinterpreted(value, part_dtype(new)), 2)
        return pointwise("view", created, [parts[..., 0], parts[..., 1]], new)
    narrow, wide = (np.dtype(f"u{size}") for size in sorted((value.itemsize, new.itemsize)))
    words = _same_width(value, np.dtype(f"u{value.itemsize}"))
    shifts = range(0, 8 * wide.itemsize, 8 * narrow.itemsize)
    if new.itemsize > value.itemsize:
        parts = _split(words, len(shifts)).astype(wide)
        pieces = [parts[..., place] << wide.type(shift) for place, shift in enumerate(shifts)]
        words = reduce(xp.bitwise_or, pieces)
    elif new.itemsize < value.itemsize:
        pieces = [(words >> wide.type(shift)).astype(narrow) for shift in shifts]
        words = _joined(xp.stack(pieces, axis=-1))
    return _same_width(words, new)


def _same_width(value: Traced, new: DType) -> Traced:
    return pointwise("view", lambda x: x.bits(new), [value], new)


def _joined(parts: Traced) -> Traced:
    *outer, length, count = parts.shape
    return xp.reshape(parts, (*outer, length * count))


def _split(words: Traced, count: int) -> Traced:
    *outer, length = words.shape
    return xp.reshape(words, (*outer, length // count, count))
