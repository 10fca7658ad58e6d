"""Values in order along an axis: sort, argsort, medians, quantiles, searches in a sorted array.

Sorts are by `linalg_ext.sort`. Floats are compared as integers of their bits, rearranged so that
these have the order that NumPy asks for, NaN last: half the time of two comparisons of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.dialects import linalg_ext as dialect
from linalg_ext.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.functions.reductions import refuse_empty
from linalg_ext.tracing.functions.shaping import ravel
from linalg_ext.tracing.values.axes import normal_axes, normal_axis
from linalg_ext.tracing.values.conversion import as_traced, cast_to, common_dtype
from linalg_ext.tracing.values.elements import (
    INT64,
    Element,
    as_dtype,
    imaginary,
    position,
    real,
    select,
)
from linalg_ext.tracing.values.emission import demand, full, pointwise, shape_text, structured
from linalg_ext.tracing.values.sizes import Size, product_of, same
from linalg_ext.tracing.values.trace import at_users_line
from linalg_ext.tracing.values.traced import Traced, current_trace, xp
from linalg_ext.tracing.values.unsupported import refuse

_MANTISSAS: dict[DType, int] = {np.dtype(np.float32): 23, np.dtype(np.float64): 52}
"""Bits of the mantissa of a float. Narrower floats are sorted as float32."""

_UNSTABLE = ("quicksort", "quick", "heapsort", "heap")
_STABLE = ("stable", "stablesort", "mergesort", "merge")


def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Traced:
    """`numpy.sort`; where no stable sort is asked for, -0.0 comes before 0.0."""
    return ordered(_along_axis(a, axis, "sort"), axis, _is_stable("sort", kind, order, stable))


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Traced:
    """`numpy.argsort`; always stable."""
    _is_stable("argsort", kind, order, stable)
    return order_of(_along_axis(a, axis, "argsort"), axis)


def ordered(value: Traced, axis: Any, is_stable: bool, descending: bool = False) -> Traced:
    """Return a value sorted along an axis, the last one for None."""
    along = -1 if axis is None else axis
    wide = _widened(value)
    if is_stable or wide.dtype not in _MANTISSAS:
        return cast_to(_sorted("sort", [wide], along, descending)[0], value.dtype)
    keys = pointwise("sort", _key, [wide], _bits_of(wide.dtype))
    (sorted_keys,) = _sorted("sort", [keys], along, descending)
    return pointwise("sort", lambda key: _float(key, wide.dtype), [sorted_keys], value.dtype)


def order_of(value: Traced, axis: Any, descending: bool = False) -> Traced:
    """Return the places of the elements in their order along an axis; the last one for None."""
    along = normal_axis(-1 if axis is None else axis, value.ndim, "argsort")
    keys = _widened(value)
    if keys.dtype in _MANTISSAS:
        keys = pointwise("argsort", lambda x: _key(_plain(x)), [keys], _bits_of(keys.dtype))
    places = structured(lambda: position(along), [], value.shape, INT64)
    return _sorted("argsort", [keys, places], along, descending)[1]


def _widened(value: Traced) -> Traced:
    """Return a narrow float as float32, which holds all its numbers; another value as it is."""
    is_plain = value.dtype.kind in "iubc" or value.dtype in _MANTISSAS
    return value if is_plain else cast_to(value, np.float32)


def _along_axis(a: Any, axis: Any, name: str) -> Traced:
    value = ravel(a) if axis is None else as_traced(a)
    normal_axis(-1 if axis is None else axis, value.ndim, name)
    return value


def _is_stable(name: str, kind: Any, order: Any, stable: Any) -> bool:
    if order is not None:
        refuse(f"numpy.{name} with order=", "structured arrays are not recorded")
    if kind not in (None, *_UNSTABLE, *_STABLE):
        raise ArgumentError(
            f"{name}: kind={kind!r}", expected="quicksort, heapsort, mergesort or stable"
        )
    if kind is not None and stable is not None:
        raise ArgumentError(f"{name}: kind={kind!r} and stable={stable!r}", expected="one of them")
    return bool(stable) or kind in _STABLE


def _sorted(name: str, values: Sequence[Traced], axis: int, descending: bool) -> list[Traced]:
    key = values[0]
    along = normal_axis(axis, key.ndim, name)
    current_trace(values)
    before = _comparator(key.dtype)

    def comparator(a: ir.Value, b: ir.Value, *_: ir.Value) -> ir.Value:
        first, second = (Element(x, key.dtype) for x in ((b, a) if descending else (a, b)))
        return before(first, second).value

    with at_users_line():
        tensors = dialect.sort(
            *(value.value for value in values), dimension=along, comparator=comparator
        )
    return [
        Traced(new, value.dtype, value.shape) for new, value in zip(tensors, values, strict=True)
    ]


def _comparator(dtype: DType) -> Callable[[Element, Element], Element]:
    """Return whether one element comes before another, as NumPy orders a dtype."""
    if dtype.kind in "iub":
        return lambda a, b: a < b
    return _complex_before if dtype.kind == "c" else _before


def _before(a: Element, b: Element) -> Element:
    """Any number comes before NaN."""
    return ~(a >= b) & ~a.is_nan()


def _complex_before(a: Element, b: Element) -> Element:
    """By the real parts, then by the imaginary ones; rows with a NaN come last."""
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
    """Return an unsigned integer that is larger where a float is; negative NaN wraps to the top."""
    unsigned = _bits_of(x.dtype)
    half = 1 << (8 * x.dtype.itemsize - 1)
    bits = x.bits(unsigned)
    mask = select(bits < half, bits.like(half), bits.like(2 * half - 1))
    return (bits ^ mask) - ((1 << _MANTISSAS[x.dtype]) - 1)


def _float(key: Element, dtype: DType) -> Element:
    """Return the float that has a key."""
    half = 1 << (8 * dtype.itemsize - 1)
    flipped = key + ((1 << _MANTISSAS[dtype]) - 1)
    mask = select(flipped < half, key.like(2 * half - 1), key.like(half))
    return (flipped ^ mask).bits(dtype)


def _plain(x: Element) -> Element:
    """Return a float with one zero and one NaN: those that are equal have one key."""
    return select(x.is_nan(), x.like(float("nan")), x + 0)


_MANY = 64
"""The most values that are compared with each other; more are sorted."""

_PARTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "linear": lambda part, below: part,
    "lower": lambda part, below: part * 0,
    "higher": lambda part, below: xp.ceil(part),
    "midpoint": lambda part, below: xp.ceil(part) / 2,
    # The even place of two that are equally near.
    "nearest": lambda part, below: ((part > 0.5) | ((part == 0.5) & (below % 2 == 1))) * 1.0,
    "inverted_cdf": lambda part, below: xp.ceil(part),
    "averaged_inverted_cdf": lambda part, below: xp.ceil(part) / 2 + 0.5,
    "closest_observation": lambda part, below: 1.0 - ((part == 0) & (below % 2 == 1)),
    **dict.fromkeys(
        ("interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased"),
        lambda part, below: part,
    ),
}
"""The weight of the upper neighbour in a quantile, by `method=`.

The operands are the fraction by which the position exceeds the index of the lower neighbour, and
that index.
"""

_PLACES: Mapping[str, tuple[float, float]] = {
    "inverted_cdf": (0, 1),
    "averaged_inverted_cdf": (0, 1),
    "closest_observation": (-0.5, 1.5),
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""Alpha and beta of methods: the position is `n * q + alpha + q * (1 - alpha - beta) - 1`.

Hyndman and Fan, Sample quantiles in statistical packages, The American Statistician 50 (1996). The
other methods have both at 1.
"""


_DISCRETE = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def _median(
    name: str,
    skips_nan: bool,
    a: Any,
    axis: Any = None,
    overwrite_input: Any = False,
    keepdims: Any = False,
) -> Traced:
    rows = _Rows.of(name, a, axis, skips_nan=skips_nan)
    places = (xp.floor_divide(rows.last + more, 2) for more in (0, 1))
    low, high = (cast_to(rows.at(place), rows.dtype) for place in places)
    # NumPy's mean of one adds it to 0, which takes the sign of -0.0.
    middle = xp.where(low == high, low + 0, (low + high) / 2)
    return rows.shaped(cast_to(rows.with_nan(middle), rows.dtype), keepdims, 0)


median, nanmedian = partial(_median, "median", False), partial(_median, "nanmedian", True)


def _quantiles(
    name: str,
    whole: int,
    skips_nan: bool,
    a: Any,
    q: Any,
    axis: Any = None,
    overwrite_input: Any = False,
    method: str = "linear",
    keepdims: Any = False,
) -> Traced:
    """Record quantiles, where `q` ranges from 0 to `whole`."""
    if isinstance(q, Traced):
        refuse(f"numpy.{name} with a traced q", "give q as numbers, or make it a static argument")
    if method not in _PARTS:
        refuse(f"numpy.{name} with method={method!r}", f"use {', '.join(_PARTS)}")
    rows = _Rows.of(name, a, axis, skips_nan=skips_nan)
    dtype = _dtype_of_quantiles(name, rows.given, q, method)
    if method == "linear" and whole == 1 and np.asarray(q).dtype.kind in "iu":
        method = "lower"  # NumPy takes the first or the last element, and interpolates nothing
    parts = np.asarray(q) / whole
    quantiles = [rows.with_nan(rows.between(part, method, dtype)) for part in parts.reshape(-1)]
    value = xp.stack(quantiles) if parts.ndim else quantiles[0]
    return rows.shaped(value, keepdims, parts.ndim)


def _dtype_of_quantiles(name: str, value: DType, q: Any, method: str) -> DType:
    """Return the dtype of NumPy's quantile, which depends on the method and on the type of `q`.

    Raises:
        ArgumentError: NumPy refuses their values, or `q` is neither a number nor a list.
        TraceError: NumPy refuses their types.
    """
    if np.ndim(q) > 1 or np.asarray(q).dtype == object:
        raise ArgumentError(
            f"{name}: q={q!r}", expected="a number, or a list of such", hint="write float(q)"
        )
    call = f"{name} of {value} with q={q!r} and method={method!r}"
    try:
        quantiles = getattr(np, name)(np.zeros((2, 1), value), q, 0, method=method)
    except TypeError:
        refuse(f"numpy.{call}", "convert them with .astype(...) first")
    except (ValueError, OverflowError) as error:
        raise ArgumentError(f"{call}: {error}") from None
    return as_dtype(quantiles.dtype)


quantile = partial(_quantiles, "quantile", 1, False)
percentile = partial(_quantiles, "percentile", 100, False)
nanquantile = partial(_quantiles, "nanquantile", 1, True)
nanpercentile = partial(_quantiles, "nanpercentile", 100, True)


class _Rows:
    """Values sorted along the last axis, which stands for all axes of the reduction.

    Attributes:
        last: the index of the last element of a row that counts.
        given: the dtype of the values.
        dtype: that of means of them.
    """

    def __init__(
        self, value: Traced, axes: tuple[int, ...], rank: int, last: Any, *, skips_nan: bool
    ) -> None:
        self._sorted = sort(value)
        self._axes = axes
        self._rank = rank
        self._skips_nan = skips_nan
        self.last = last
        self.given = value.dtype
        self.dtype = np.dtype(np.float64) if value.dtype.kind in "iub" else value.dtype

    @classmethod
    def of(cls, name: str, a: Any, axis: Any, *, skips_nan: bool) -> _Rows:
        """Return the values along some axes, all of them for None."""
        value = as_traced(a)
        if value.dtype.kind == "c":
            refuse(f"numpy.{name} of complex values", "take their real and imaginary parts")
        axes = normal_axes(axis, value.ndim, name)
        rest = [place for place in range(value.ndim) if place not in axes]
        count = product_of(value.shape[place] for place in axes)
        refuse_empty(name, value, axes or range(value.ndim))
        rows = xp.transpose(value, (*rest, *axes))
        rows = xp.reshape(rows, (*(value.shape[place] for place in rest), count))
        if not skips_nan or value.dtype.kind in "iub":
            return cls(rows, axes, value.ndim, count - 1, skips_nan=False)
        # The first element is NaN where all are.
        last = xp.maximum(xp.sum(~xp.isnan(rows), -1, keepdims=True) - 1, 0)
        return cls(rows, axes, value.ndim, last, skips_nan=True)

    def at(self, place: Any) -> Traced:
        """Return the element at an index of each row."""
        if isinstance(place, int):
            return self._sorted[..., place]
        if self._skips_nan:
            return xp.take_along_axis(self._sorted, place, -1)[..., 0]
        return xp.take(self._sorted, place, -1)

    def between(self, part: Any, method: str, dtype: Any) -> Traced:
        """Return the value at a fraction of the way to each row's last element, by `method`."""
        place = self._place(part, method)
        below = np.floor(place)
        apart = _PARTS[method](place - below, below)
        low, high = (self.at(self._whole(below + more)) for more in (0, 1))
        if isinstance(apart, Traced) and apart.ndim > low.ndim:
            apart = apart[..., 0]
        if method in _DISCRETE or dtype.kind in "iub":
            return cast_to(xp.where(apart >= 0.5, high, low), dtype)
        # NumPy subtracts integers in their own dtype, where the difference may wrap around.
        step, low, high, weight = (cast_to(x, dtype) for x in (high - low, low, high, apart))
        return xp.where(weight >= 0.5, high - step * (1 - weight), low + step * weight)

    def _place(self, part: Any, method: str) -> Any:
        """Return the position at a fraction, a number where that of the last element is one.

        It is computed in the dtype of the fraction, as NumPy 2.4 does, not in that of the values.
        """
        is_known = isinstance(self.last, int)
        last = self.last if is_known else cast_to(self.last, part.dtype)
        if method in _PLACES:
            alpha, beta = _PLACES[method]
            place = (last + 1) * part + (alpha + part * (1 - alpha - beta)) - 1
        else:
            place = last * part
        return float(place) if is_known else place

    def _whole(self, place: Any) -> Any:
        """Return a position as an index, clipped to the first and the last element."""
        if not isinstance(place, Traced):
            return int(min(max(place, 0), self.last))
        return xp.clip(cast_to(place, np.int64), 0, self.last)

    def with_nan(self, value: Traced) -> Traced:
        """NaN where a row has one, unless these are left out."""
        if self._skips_nan or self.given.kind in "iub":
            return value
        return xp.where(xp.isnan(self._sorted[..., -1]), value.dtype.type(np.nan), value)

    def shaped(self, value: Traced, keepdims: Any, before: int) -> Traced:
        """Return a result with axes of size 1 in the place of those that went, if they are kept."""
        if keepdims is not True:
            return value
        return xp.expand_dims(value, tuple(axis + before for axis in self._axes))


def partition(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Traced:
    """`numpy.partition`: in order, which is a partition at every place.

    Where only the first few are read of it, only these are found.
    """
    _check_kth("partition", a, kth, axis)
    return sort(a, axis, order=order, stable=True)


def argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Traced:
    """`numpy.argpartition`: in order, which is a partition at every place."""
    _check_kth("argpartition", a, kth, axis)
    return argsort(a, axis, order=order)


def _check_kth(name: str, a: Any, kth: Any, axis: Any) -> None:
    """Refuse a place of a partition beyond the axis; the call, or the run, tells of an open one."""
    value = _along_axis(a, axis, name)
    size = value.shape[-1 if axis is None else axis]
    if isinstance(kth, Traced) and kth.dtype.kind in "iu":
        demand(xp.all((kth >= -size) & (kth < size)), f"{name}: kth is out of bounds")
        return
    places = np.asarray(kth)
    if places.dtype.kind not in "iu" or places.ndim > 1:
        raise ArgumentError(f"{name}: kth={kth!r}", expected="an integer, or a row of them")
    # NumPy looks at no place of an array without elements.
    for place in () if same(value.size, 0) else map(int, places.reshape(-1)):
        call = f"{name}: kth={place} of an axis of size {size}"
        least = place + 1 if place >= 0 else -place
        if not current_trace([value]).at_least(size, least, call):
            raise ArgumentError(call, expected="a place of the axis")


def lexsort(keys: Any, axis: Any = -1) -> Traced:
    """`numpy.lexsort`: the order by several keys, of which the last one counts most."""
    count = keys.shape[0] if isinstance(keys, Traced) else len(keys)
    values = [as_traced(keys[number]) for number in range(count)]
    if not values:
        raise ArgumentError("lexsort of no keys")
    order = order_of(values[0], axis)
    for value in values[1:]:
        placed = xp.take_along_axis(value, order, axis)
        order = xp.take_along_axis(order, order_of(placed, axis), axis)
    return order


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Traced:
    """`numpy.searchsorted`: by halves, all values at once."""
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side={side!r}", expected="left or right")
    row = as_traced(a) if sorter is None else xp.take(a, sorter)
    if row.ndim != 1:
        raise ShapeError(f"searchsorted in an array of shape {row.shape}", expected="one dimension")
    dtype = common_dtype("searchsorted", [row, v])
    return _places(cast_to(row, dtype), cast_to(v, dtype), side)


def _places(row: Traced, value: Traced, side: str) -> Traced:
    """Return the number of elements in a sorted row that precede each value."""
    count = row.shape[0]

    def comes_before(x: Any, y: Any) -> Any:
        pair = (x, y) if side == "left" else (y, x)
        before = pointwise("searchsorted", _comparator(row.dtype), pair, np.dtype(np.bool_))
        return before if side == "left" else ~before

    if not isinstance(count, int):
        return xp.count_nonzero(comes_before(row, value[..., None]), -1)
    place = xp.zeros_like(value, dtype=np.int64)
    width = 1 << max(count.bit_length() - 1, 0)
    while count and width:
        probe = place + width
        probed = xp.take(row, xp.minimum(probe, count) - 1)
        place = xp.where((probe <= count) & comes_before(probed, value), probe, place)
        width //= 2
    return place


def digitize(x: Any, bins: Any, right: Any = False) -> Traced:
    """`numpy.digitize`; bins that are traced have to grow."""
    side = "left" if right else "right"
    if not isinstance(bins, Traced):
        edges = np.asarray(bins)
        if (np.diff(edges) < 0).any():
            if (np.diff(edges) > 0).any():
                raise ArgumentError("digitize: bins go up and down", hint="sort them")
            back = searchsorted(edges[::-1], x, "right" if right else "left")
            return len(edges) - back
    elif bins.ndim == 1:
        # NumPy raises a ValueError for bins in no order, and takes those that fall, too.
        demand(xp.all(bins[1:] >= bins[:-1]), "digitize: traced bins have to grow")
    return searchsorted(bins, x, side)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """`numpy.interp` of real values."""
    if period is not None:
        refuse("numpy.interp with period=", "take the remainder of x, and repeat the ends of xp")
    if as_traced(fp).dtype.kind == "c":
        refuse("numpy.interp of complex values", "take their real and imaginary parts")
    at, places, values = (cast_to(operand, np.float64) for operand in (x, xp, fp))
    if places.ndim != 1 or values.ndim != 1 or same(places.shape[0], 0):
        raise ShapeError(
            f"interp between places of shape {places.shape} and values of shape {values.shape}",
            expected="one dimension each, and not empty",
        )
    count = places.shape[0]
    low: Any = np.clip(searchsorted(places, at, "right") - 1, 0, count - 1)
    high = np.minimum(low + 1, count - 1)
    x0, x1, y0, y1 = places[low], places[high], values[low], values[high]
    slope = (y1 - y0) / (x1 - x0)
    between: Any = slope * (at - x0) + y0
    # NumPy interpolates from the other side where the result is NaN.
    other: Any = slope * (at - x1) + y1
    other = np.where(np.isnan(other) & (y0 == y1), y0, other)
    between = np.where(np.isnan(between), other, between)
    between = np.where((at == x0) | (low == count - 1), y0, between)
    between = np.where(at < places[0], values[0] if left is None else left, between)
    between = np.where(at > places[-1], values[-1] if right is None else right, between)
    return between if same(count, 1) else np.where(np.isnan(at), at, between)


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: Any = False,
    invert: Any = False,
    *,
    kind: Any = None,
) -> Traced:
    if kind not in (None, "sort", "table"):
        raise ArgumentError(f"isin with kind={kind!r}", expected="None, 'sort' or 'table'")
    dtype = common_dtype("isin", [element, test_elements])
    if kind == "table" and dtype.kind not in "iub":
        raise ArgumentError(f"isin of {dtype} with kind='table'", expected="integers or booleans")
    value, tested = cast_to(element, dtype), xp.ravel(cast_to(test_elements, dtype))
    count = tested.shape[0]
    if not count:
        is_member = xp.zeros_like(value, dtype=bool)
    elif isinstance(count, int) and count > _MANY and dtype.kind in "iuf":
        row = sort(tested)
        is_member = row[xp.minimum(searchsorted(row, value), count - 1)] == value
    else:
        is_member = xp.any(value[..., None] == tested, -1)
    return ~is_member if invert else is_member


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Traced, Traced]:
    """`numpy.histogram`, with a number of bins, or with their edges."""
    if isinstance(bins, str):
        refuse(f"numpy.histogram with bins={bins!r}", "give a number of bins, or their edges")
    value = xp.ravel(a)
    if value.dtype.kind == "c":
        refuse("numpy.histogram of complex values", "take their real and imaginary parts")
    has_edges = isinstance(bins, Traced | list | tuple) or bool(np.ndim(bins))
    edges = _given_edges(bins) if has_edges else _edges(value, bins, range)
    last = edges.shape[0] - 1
    is_within = (value >= edges[0]) & (value <= edges[-1])
    if not has_edges:
        # Bins of one width: NumPy divides by it, and moves by one bin where rounding misplaced.
        wide, first, end = (cast_to(x, np.float64) for x in (value, edges[0], edges[-1]))
        place = cast_to(xp.where(is_within, (wide - first) / (end - first) * last, 0.0), np.int64)
        place = xp.minimum(place, last - 1)
        place = place - (value < edges[place])
        place = place + ((value >= edges[place + 1]) & (place < last - 1))
    else:
        place = searchsorted(edges, value, "right") - 1
        place = xp.where(value == edges[-1], last - 1, place)
    place = xp.where(is_within, place, last)
    weight: Any = 1 if weights is None else xp.ravel(_weights("histogram", as_traced(a), weights))
    dtype = np.dtype(np.int64) if weights is None else weight.dtype
    if has_edges and dtype == np.bool_:
        raise DTypeError("histogram between edges with weights of bool", hint="cast the weights")
    counts = xp.zeros_like(edges, dtype=dtype).at[place].add(weight)[:-1]
    if density:
        widths = cast_to(xp.diff(edges), np.float64)
        return counts / widths / xp.sum(counts), edges
    return counts, edges


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Traced:
    """`numpy.bincount` of numbers below `minlength`, which is the length of the result."""
    value = as_traced(x)
    if not hasattr(minlength, "__index__"):
        raise ArgumentTypeError(f"bincount with minlength={minlength!r}", expected="an integer")
    count = minlength if isinstance(minlength, Size) else minlength.__index__()
    if isinstance(count, int) and count < 0:
        raise ArgumentError(f"bincount with minlength={count}", expected="no negative number")
    if value.ndim != 1 or value.dtype.kind not in "iub":
        raise ShapeError(
            f"bincount of {value.dtype} of shape {shape_text(value.shape)}",
            expected="a row of integers",
        )
    if same(count, 0):
        refuse(
            "numpy.bincount without minlength=, whose length depends on the values",
            "give minlength=, which numbers have to be below",
        )
    if same(value.shape[0], 0):
        return full((count,), 0, np.dtype(np.int64))  # as NumPy has it, with weights or without
    weight = np.int64(1) if weights is None else _weights("bincount", value, weights)
    if not np.can_cast(weight.dtype, np.float64, "safe"):
        raise DTypeError(
            f"bincount with weights of {weight.dtype}", expected="real numbers that float64 holds"
        )
    counts = full((count,), 0, np.dtype(np.int64) if weights is None else np.dtype(np.float64))
    places = cast_to(value, np.int64)
    # NumPy raises for negative numbers, and gives a longer result for large ones.
    is_inside = (places >= 0) & (places < as_traced(count))
    demand(xp.all(is_inside), "bincount: a number is negative, or not below minlength")
    return counts.at[places].add(weight)


def _weights(name: str, value: Traced, weights: Any) -> Traced:
    weight, trace = as_traced(weights), current_trace()
    call = f"{name} of shape {shape_text(value.shape)} by weights of {shape_text(weight.shape)}"
    is_same = value.ndim == weight.ndim
    if not is_same or not all(map(partial(trace.agree, operation=call), value.shape, weight.shape)):
        raise ShapeError(call, expected="the same shape")
    return weight


def _given_edges(bins: Any) -> Traced:
    edges = as_traced(bins)
    if edges.ndim != 1:
        raise ShapeError(
            f"histogram with bins of shape {shape_text(edges.shape)}", expected="one dimension"
        )
    if not isinstance(bins, Traced) and (np.diff(np.asarray(bins)) < 0).any():
        raise ArgumentError("histogram: bins go down", expected="bins that grow")
    demand(xp.all(edges[1:] >= edges[:-1]), "histogram: bins have to grow")
    return edges


def _edges(value: Traced, bins: Any, range_: Sequence[Any] | None) -> Traced:
    if not hasattr(bins, "__index__"):
        raise ArgumentTypeError(
            f"histogram with bins={bins!r}", expected="an integer, or edges in a row"
        )
    count = bins.__index__()
    if count < 1:
        raise ArgumentError(f"histogram: bins={bins!r}", expected="1 or more")
    low, high = (xp.min(value), xp.max(value)) if range_ is None else range_
    dtype = common_dtype("histogram", [low, high, value])
    dtype = np.dtype(np.float64) if dtype.kind in "iub" else dtype
    if not isinstance(low, Traced) and not isinstance(high, Traced):
        if not low <= high or not np.isfinite([low, high]).all():
            raise ArgumentError(
                f"histogram with range=({low}, {high})", expected="finite numbers that grow"
            )
        half = 0.5 * (low == high)
        return as_traced(np.linspace(low - half, high + half, count + 1).astype(dtype))
    if range_ is None and value.dtype.kind not in "iub":
        demand(xp.isfinite(low) & xp.isfinite(high), "histogram of values that are not finite")
    half = xp.where(low == high, 0.5, 0.0)
    low, high = low - half, high + half
    return cast_to(xp.linspace(low, high, count + 1), dtype)
