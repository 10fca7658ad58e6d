"""Booleans as the bits of bytes, and back: packbits, unpackbits."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, DTypeError, caller_location
from linalg_ext.tracing.axes import normal_axis
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.shaping import ravel, reshape
from linalg_ext.tracing.traced import Traced, xp


def _shifts(name: str, bitorder: Any) -> Any:
    """The distance of each bit of a byte from its end, in their order."""
    if bitorder not in ("big", "little"):
        raise ArgumentError(
            f"{name}: bitorder={bitorder!r}", where=caller_location(), expected="big or little"
        )
    places = np.arange(8, dtype=np.uint8)
    return places[::-1] if bitorder == "big" else places


def _given(name: str, a: Any, axis: Any, kinds: str) -> Traced:
    """The value with the axis of the bits at the end."""
    value = as_traced(a)
    if value.dtype.kind not in kinds or (kinds == "u" and value.dtype.itemsize > 1):
        raise DTypeError(
            f"{name} of {value.dtype}",
            where=caller_location(),
            expected="uint8" if kinds == "u" else "integers or booleans",
        )
    if axis is None:
        return ravel(value)
    return xp.moveaxis(value, normal_axis(axis, value.ndim, name), -1)


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Traced:
    """`numpy.packbits`."""
    shifts = _shifts("packbits", bitorder)
    flags = cast_to(_given("packbits", a, axis, "iub") != 0, np.uint8)
    count = flags.shape[-1].__index__()
    missing = -count % 8
    wide = xp.pad(flags, [(0, 0)] * (flags.ndim - 1) + [(0, missing)])
    bytes_ = reshape(wide, (*flags.shape[:-1], (count + missing) // 8, 8))
    found = xp.sum(xp.left_shift(bytes_, shifts), axis=-1, dtype=np.uint8)
    return found if axis is None else xp.moveaxis(found, -1, axis)


def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Traced:
    """`numpy.unpackbits`."""
    shifts = _shifts("unpackbits", bitorder)
    given = _given("unpackbits", a, axis, "u")
    apart = xp.bitwise_and(xp.right_shift(given[..., None], shifts), np.uint8(1))
    found = reshape(apart, (*given.shape[:-1], given.shape[-1] * 8))
    if count is not None:
        more = count.__index__() - found.shape[-1].__index__()
        if more > 0:
            found = xp.pad(found, [(0, 0)] * (found.ndim - 1) + [(0, more)])
        found = found[..., : count.__index__()]
    return found if axis is None else xp.moveaxis(found, -1, axis)
