"""NumPy's functions of samples: convolutions, differences, integrals, covariances, polynomials.

Coefficients of polynomials are along the first axis, that of the highest power first.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from linalg_ext.bindings import linalg
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError
from linalg_ext.tracing.functions.shaping import along, neighbours
from linalg_ext.tracing.values.axes import normal_axes, normal_axis
from linalg_ext.tracing.values.conversion import arrays_of, as_traced, cast_to, common_dtype
from linalg_ext.tracing.values.emission import demand, full
from linalg_ext.tracing.values.trace import at_users_line
from linalg_ext.tracing.values.traced import Traced, current_trace, xp
from linalg_ext.tracing.values.unsupported import refuse


def convolve(a: Any, v: Any, mode: str = "full") -> Traced:
    return _correlated("convolve", a, xp.flip(as_traced(v)), mode, swaps=True)


def correlate(a: Any, v: Any, mode: str = "valid") -> Traced:
    window = as_traced(v)
    if window.dtype.kind == "c":  # the conjugates of booleans would be integers
        window = xp.conjugate(window)
    return _correlated("correlate", a, window, mode, swaps=False)


def _correlated(name: str, a: Any, v: Any, mode: str, *, swaps: bool) -> Traced:
    """Return sums of products of one row with another that is moved along it."""
    row, window = as_traced(a), as_traced(v)
    sizes = [len(operand) if operand.ndim == 1 else 0 for operand in (row, window)]
    if not all(sizes):
        raise ShapeError(
            f"{name} of shapes {row.shape} and {window.shape}",
            expected="one dimension each, and not empty",
        )
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"{name}: mode={mode!r}", expected="full, same or valid")
    dtype = common_dtype(name, [row, window])
    if dtype == np.bool_:
        refuse(f"numpy.{name} of booleans", "convert them with .astype(int) first")
    row, window = cast_to(row, dtype), cast_to(window, dtype)
    long, short = sizes
    if short > long:
        row, window, long, short = window, row, short, long
        if swaps:
            row, window = xp.flip(row), xp.flip(window)
    sums = _moved_along(row if mode == "valid" else xp.pad(row, short - 1), window)
    if mode == "same":
        start = (short - 1) // 2
        sums = sums[start : start + long]
    is_turned = sizes[1] > sizes[0] and not swaps
    return xp.flip(sums) if is_turned else sums


def _moved_along(row: Traced, window: Traced) -> Traced:
    shape = (row.shape[0] - window.shape[0] + 1,)
    with at_users_line():
        start = full(shape, 0, row.dtype).value
        sums = linalg.conv_1d(row.value, window.value, outs=[start])
    return Traced(sums, row.dtype, shape)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Traced:
    """`numpy.trapezoid`: the integral by the trapezoidal rule."""
    value = as_traced(y)
    place = normal_axis(axis, value.ndim, "trapezoid")
    later, earlier = neighbours(value, place)
    if x is None:
        widths: Any = dx
    else:
        at = as_traced(x)
        widths = xp.diff(at, axis=place if at.ndim > 1 else 0)
        if at.ndim == 1:
            widths = along(widths, place, value.ndim)
    return xp.sum(widths * (later + earlier) / 2.0, place)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """`numpy.gradient`, at distances or at places along each axis."""
    value = as_traced(f)
    if value.dtype == np.bool_:
        raise DTypeError("gradient of booleans, which have no difference", expected="numbers")
    if value.dtype.kind in "iu":
        value = cast_to(value, np.float64)
    axes = normal_axes(axis, value.ndim, "gradient")
    is_for_all = len(varargs) == 1 and not np.ndim(varargs[0])
    spaces = varargs * len(axes) if is_for_all else varargs or (1.0,) * len(axes)
    if len(spaces) != len(axes):
        raise ArityError(
            f"gradient: {len(spaces)} distances for {len(axes)} axes",
            expected="one number, or a number or places for each axis",
        )
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order={edge_order!r}", expected="1 or 2")
    slopes = [_slopes(value, space, at, edge_order) for at, space in zip(axes, spaces, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slopes(value: Traced, space: Any, axis: int, edge_order: int) -> Traced:
    """Second-order differences, of the order of the edges at the edges."""
    call = f"gradient along axis {axis}, of size {value.shape[axis]}"
    if not current_trace().at_least(value.shape[axis], edge_order + 1, call):
        raise ShapeError(call, expected=f"at least {edge_order + 1} elements")
    places = space if isinstance(space, Traced) else np.asarray(space)
    is_even = not places.ndim
    if not is_even and places.dtype.kind in "iu":
        places = cast_to(places, np.float64)  # whose differences do not wrap
    rows = xp.moveaxis(value, axis, 0)

    def width(start: Any, stop: Any) -> Any:
        """Distances, from each place to the next."""
        if is_even:
            return places if isinstance(places, Traced) else places.item()
        return along(xp.diff(as_traced(places))[start:stop], 0, value.ndim)

    before, after = width(None, -1), width(1, None)
    middle = (
        -after / (before * (before + after)) * rows[:-2]
        + (after - before) / (before * after) * rows[1:-1]
        + before / (after * (before + after)) * rows[2:]
    )
    if is_even:
        middle = (rows[2:] - rows[:-2]) / (2.0 * width(None, None))
    if edge_order == 1:
        first = (rows[1:2] - rows[:1]) / width(None, 1)
        last = (rows[-1:] - rows[-2:-1]) / width(-1, None)
    else:
        edge, near, far = _edge_weights(width(None, 1), width(1, 2))
        first = edge * rows[:1] + near * rows[1:2] + far * rows[2:3]
        edge, near, far = _edge_weights(-width(-1, None), -width(-2, -1))
        last = far * rows[-3:-2] + near * rows[-2:-1] + edge * rows[-1:]
    slopes = xp.concatenate([first, middle, last], 0)
    return xp.moveaxis(cast_to(slopes, value.dtype), 0, axis)


def _edge_weights(near: Any, far: Any) -> tuple[Any, Any, Any]:
    """Return the weights of three values in the slope at the first, of the parabola through them.

    Args:
        near, far: the signed distances from the first place to the second, and on to the third
    """
    whole = near + far
    return -(2.0 * near + far) / (near * whole), whole / (near * far), -near / (far * whole)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Traced:
    value = xp.ravel(as_traced(ary))
    later, earlier = neighbours(value, 0)
    parts = [later - earlier]
    if to_begin is not None:
        parts.insert(0, _beside("to_begin", to_begin, value))
    if to_end is not None:
        parts.append(_beside("to_end", to_end, value))
    return xp.concatenate(parts)


def _beside(name: str, beside: Any, value: Traced) -> Traced:
    """Return a number or a row that is put beside differences, and is of their dtype."""
    row = xp.ravel(as_traced(beside))
    if not np.can_cast(row.dtype, value.dtype, "same_kind"):
        raise DTypeError(
            f"ediff1d: {name} of {row.dtype} beside differences of {value.dtype}",
            hint="cast one of them with .astype(...)",
        )
    return cast_to(row, value.dtype)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Traced:
    """`numpy.unwrap`: steps of more than half a period become their complements."""
    value = as_traced(p)
    place = normal_axis(axis, value.ndim, "unwrap")
    later, _ = neighbours(value, place)
    step = xp.diff(value, axis=place)
    dtype = common_dtype("unwrap", [step, period])
    is_whole = dtype.kind in "iu"
    high: Any = period // 2 if is_whole else period / 2
    near = xp.remainder(step - -high, period) + -high
    if not is_whole or isinstance(period, Traced) or period % 2 == 0:
        near = xp.where((near == -high) & (step > 0), high, near)
    limit = period / 2 if discont is None else discont
    change = xp.where(xp.abs(step) < limit, (near - step).dtype.type(0), near - step)
    start = (slice(None),) * place
    moved = later + xp.cumsum(change, axis=place)
    first = value[(*start, slice(0, 1))]
    return xp.concatenate([cast_to(first, dtype), cast_to(moved, dtype)], place)


def sinc(x: Any) -> Traced:
    angle = as_traced(x) * math.pi
    smallest = np.finfo(angle.dtype).eps if angle.dtype.kind == "f" else 1e-20
    other = xp.where(angle == 0, smallest, angle)
    return xp.sin(other) / other


def angle(z: Any, deg: Any = False) -> Traced:
    value = as_traced(z)
    radians = xp.arctan2(xp.imag(value) if value.dtype.kind == "c" else 0, xp.real(value))
    return cast_to(radians * (180 / math.pi), radians.dtype) if deg else radians


def cov(m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None) -> Traced:
    rows = _variables(m, rowvar)
    if isinstance(rows.shape[0], int) and not rows.shape[0]:
        return full((0, 0), 0.0, np.dtype(np.float64))
    if y is not None:
        rows = xp.concatenate([rows, _variables(y, rowvar)], 0)
    dtype = common_dtype("cov", [rows, np.float64(0)])
    rows = cast_to(rows, dtype)
    count = rows.shape[1]
    lost_degrees = ddof if ddof is not None else 0 if bias else 1
    apart = rows - xp.mean(rows, 1, keepdims=True)
    products = apart @ xp.conjugate(xp.transpose(apart))
    left = count - lost_degrees
    freedom = max(left, 0) if isinstance(left, int) else xp.maximum(left, 0)
    with np.errstate(divide="ignore"):
        # NumPy multiplies in the dtype of the products: a complex factor has a part of 0.
        return xp.squeeze(products * cast_to(np.true_divide(1, freedom), dtype))


def _variables(value: Any, rowvar: Any) -> Traced:
    """Return an array with a variable in each row."""
    variables = as_traced(value)
    if variables.ndim > 2:
        raise ShapeError(f"cov of shape {variables.shape}", expected="at most 2 dimensions")
    rows = xp.atleast_2d(variables)
    return xp.transpose(rows) if not rowvar and variables.ndim == 2 else rows


def corrcoef(x: Any, y: Any = None, rowvar: Any = True) -> Traced:
    covariance = cov(x, y, rowvar)
    if not covariance.ndim:
        return covariance / covariance
    spread = xp.sqrt(xp.real(xp.diagonal(covariance)))
    parts = covariance / spread[:, None] / spread[None, :]
    if parts.dtype.kind == "c":
        refuse("numpy.corrcoef of complex values", "write it in terms of np.cov")
    return xp.clip(parts, -1, 1)


def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None
) -> Traced:
    powers = xp.power(base, xp.linspace(start, stop, num, endpoint))
    return powers if dtype is None else cast_to(powers, dtype)


def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None
) -> Traced:
    """`numpy.geomspace`; where an end is 0, the call raises an ExecutionError."""
    first, last = arrays_of(start, stop)
    wide = common_dtype("geomspace", [first, last, 1.0, np.zeros((), dtype)])  # None is float64
    first, last = cast_to(first, wide), cast_to(last, wide)
    demand(xp.all(first != 0) & xp.all(last != 0), "a geometric sequence cannot include zero")
    sign = xp.sign(first)
    ends = [xp.log10(end / sign) for end in (first, last)]
    powers = sign * xp.power(wide.type(10), xp.linspace(*ends, num, endpoint, dtype=wide))
    if num:
        whole = powers.shape[1:]
        rows = [xp.broadcast_to(first, whole)[None], powers[1:]]
        if endpoint and num > 1:
            rows = [rows[0], powers[1:-1], xp.broadcast_to(last, whole)[None]]
        powers = xp.concatenate(rows, 0)
    return cast_to(powers, wide if dtype is None else dtype)


def _coefficients(name: str, value: Any) -> Traced:
    coefficients = xp.atleast_1d(as_traced(value))
    if coefficients.ndim != 1 or not isinstance(coefficients.shape[0], int):
        raise ShapeError(
            f"{name} of coefficients of shape {coefficients.shape}",
            expected="one dimension of known size",
        )
    return coefficients


def polyval(p: Any, x: Any) -> Traced:
    """`numpy.polyval`, by Horner's rule."""
    factors, at = _coefficients("polyval", p), as_traced(x)
    dtype = common_dtype("polyval", [factors, at])
    total = xp.zeros_like(at, dtype=dtype)
    for place in range(factors.shape[0]):
        total = total * at + factors[place]
    return total


def _combined(name: str, combine: Callable[[Any, Any], Any], a1: Any, a2: Any) -> Any:
    values = [_coefficients(name, coefficients) for coefficients in (a1, a2)]
    most = max(value.shape[0] for value in values)
    return combine(*(xp.pad(value, (most - value.shape[0], 0)) for value in values))


polyadd = partial(_combined, "polyadd", operator.add)
polysub = partial(_combined, "polysub", operator.sub)


def polymul(a1: Any, a2: Any) -> Traced:
    return convolve(_coefficients("polymul", a1), _coefficients("polymul", a2))


def polyder(p: Any, m: Any = 1) -> Traced:
    factors = _coefficients("polyder", p)
    for _ in range(_times("polyder", m)):
        degree = factors.shape[0] - 1
        factors = factors[:-1] * xp.arange(degree, 0, -1)
    return factors


def polyint(p: Any, m: Any = 1, k: Any = None) -> Traced:
    factors = _coefficients("polyint", p)
    count = _times("polyint", m)
    constants = [0] * count if k is None else list(k) if hasattr(k, "__len__") else [k] * count
    for number in range(count):
        powers = xp.arange(factors.shape[0], 0, -1)
        factors = xp.append(factors / powers, xp.atleast_1d(as_traced(constants[number])))
    return factors


def _times(name: str, m: Any) -> int:
    count = m.__index__() if hasattr(m, "__index__") else -1
    if count < 0:
        raise ArgumentError(f"{name}: m={m!r}", expected="0 or more")
    return int(count)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Traced:
    value = as_traced(x)
    if value.ndim != 1:
        raise ShapeError(f"vander of shape {value.shape}", expected="one dimension")
    count = value.shape[0].__index__() if N is None else N.__index__()
    dtype = np.promote_types(value.dtype, int)
    column = xp.ones_like(value, dtype=dtype)
    columns = []
    for _ in range(count):
        columns.append(column)
        column = column * cast_to(value, dtype)
    if not columns:
        return xp.reshape(column[:0], (value.shape[0], 0))
    return xp.stack(columns if increasing else columns[::-1], 1)
