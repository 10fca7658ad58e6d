"""Values in order along an axis: sort, argsort, by `linalg_ext.sort`.

Floats are compared as integers of their bits, rearranged so that these have the order that NumPy
asks for, NaN last: half the time of two comparisons of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.dialects import linalg_ext as dialect
from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.axes import normal_axis
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.elements import INT64, Element, imaginary, position, real, select
from linalg_ext.tracing.emission import pointwise, structured
from linalg_ext.tracing.shaping import ravel
from linalg_ext.tracing.trace import at_users_line
from linalg_ext.tracing.traced import Traced, current_trace
from linalg_ext.tracing.unsupported import refuse

_MANTISSAS: dict[DType, int] = {np.dtype(np.float32): 23, np.dtype(np.float64): 52}
"""Bits of the mantissa of a float. Narrower floats are sorted as float32."""

_UNSTABLE = ("quicksort", "quick", "heapsort", "heap")
_STABLE = ("stable", "stablesort", "mergesort", "merge")


def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Traced:
    """`numpy.sort`; where no stable sort is asked for, -0.0 comes before 0.0."""
    return ordered(_given(a, axis, "sort"), axis, _is_stable("sort", kind, order, stable))


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Traced:
    """`numpy.argsort`; always stable."""
    _is_stable("argsort", kind, order, stable)
    return order_of(_given(a, axis, "argsort"), axis)


def ordered(value: Traced, axis: Any, is_stable: bool, descending: bool = False) -> Traced:
    """A value sorted along an axis, the last one for None."""
    along = -1 if axis is None else axis
    wide = _widened(value)
    if is_stable or wide.dtype not in _MANTISSAS:
        return cast_to(_sorted("sort", [wide], along, descending)[0], value.dtype)
    keys = pointwise("sort", _key, [wide], _bits_of(wide.dtype))
    (found,) = _sorted("sort", [keys], along, descending)
    return pointwise("sort", lambda key: _float(key, wide.dtype), [found], value.dtype)


def order_of(value: Traced, axis: Any, descending: bool = False) -> Traced:
    """The places of the elements along an axis, in the order of these; the last one for None."""
    along = normal_axis(-1 if axis is None else axis, value.ndim, "argsort")
    keys = _widened(value)
    if keys.dtype in _MANTISSAS:
        keys = pointwise("argsort", lambda x: _key(_plain(x)), [keys], _bits_of(keys.dtype))
    places = structured(lambda: position(along), [], value.shape, INT64)
    return _sorted("argsort", [keys, places], along, descending)[1]


def _widened(value: Traced) -> Traced:
    """A narrow float as float32, which holds all its numbers; another value as it is."""
    is_plain = value.dtype.kind in "iubc" or value.dtype in _MANTISSAS
    return value if is_plain else cast_to(value, np.float32)


def _given(a: Any, axis: Any, name: str) -> Traced:
    value = ravel(a) if axis is None else as_traced(a)
    normal_axis(-1 if axis is None else axis, value.ndim, name)
    return value


def _is_stable(name: str, kind: Any, order: Any, stable: Any) -> bool:
    if order is not None:
        refuse(f"numpy.{name} with order=", "structured arrays are not recorded")
    if kind not in (None, *_UNSTABLE, *_STABLE):
        raise ArgumentError(
            f"{name}: kind={kind!r}",
            where=caller_location(),
            expected="quicksort, heapsort, mergesort or stable",
        )
    if kind is not None and stable is not None:
        raise ArgumentError(
            f"{name}: kind={kind!r} and stable={stable!r}",
            where=caller_location(),
            expected="one of them",
        )
    return bool(stable) or kind in _STABLE


def _sorted(name: str, values: Sequence[Traced], axis: int, descending: bool) -> list[Traced]:
    """Values sorted by the first of them."""
    key = values[0]
    along = normal_axis(axis, key.ndim, name)
    current_trace(values)
    before = _comparator(key.dtype)

    def comparator(a: ir.Value, b: ir.Value, *_: ir.Value) -> ir.Value:
        first, second = (Element(x, key.dtype) for x in ((b, a) if descending else (a, b)))
        return before(first, second).value

    with at_users_line():
        found = dialect.sort(
            *(value.value for value in values), dimension=along, comparator=comparator
        )
    return [Traced(new, value.dtype, value.shape) for new, value in zip(found, values, strict=True)]


def _comparator(dtype: DType) -> Callable[[Element, Element], Element]:
    """Return whether one element comes before another, as NumPy orders a dtype."""
    if dtype.kind in "iub":
        return lambda a, b: a < b
    return _complex_before if dtype.kind == "c" else _before


def _before(a: Element, b: Element) -> Element:
    """Any number comes before NaN."""
    return ~(a >= b) & ~a.is_nan()


def _complex_before(a: Element, b: Element) -> Element:
    """By the real parts, then by the imaginary ones; what has a NaN comes last."""
    same = real(a).equals(real(b)) | (real(a).is_nan() & real(b).is_nan())
    by_imaginary = _before(imaginary(a), imaginary(b))
    one_is_nan = imaginary(a).is_nan() ^ imaginary(b).is_nan()
    by_parts = select(one_is_nan, imaginary(b).is_nan(), real(a) < real(b))
    is_number = ~real(a).is_nan()
    by_real = select(is_number & ~real(b).is_nan(), by_parts, is_number)
    return select(same, by_imaginary, by_real)


def _bits_of(dtype: DType) -> DType:
    return np.dtype(f"uint{8 * dtype.itemsize}")


def _key(x: Element) -> Element:
    """An unsigned integer that is larger where a float is; negative NaN wraps to the top."""
    unsigned = _bits_of(x.dtype)
    half = 1 << (8 * x.dtype.itemsize - 1)
    bits = x.bits(unsigned)
    mask = select(bits < half, bits.like(half), bits.like(2 * half - 1))
    return (bits ^ mask) - ((1 << _MANTISSAS[x.dtype]) - 1)


def _float(key: Element, dtype: DType) -> Element:
    """The float that has a key."""
    half = 1 << (8 * dtype.itemsize - 1)
    flipped = key + ((1 << _MANTISSAS[dtype]) - 1)
    mask = select(flipped < half, key.like(2 * half - 1), key.like(half))
    return (flipped ^ mask).bits(dtype)


def _plain(x: Element) -> Element:
    """A float with one zero and one NaN: those that are equal have one key."""
    return select(x.is_nan(), x.like(float("nan")), x + 0)
