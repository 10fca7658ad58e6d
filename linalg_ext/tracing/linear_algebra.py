"""The functions of `numpy.linalg` that are sums of products: norms, powers, crosses."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.errors import ShapeError, caller_location
from linalg_ext.tracing.axes import normal_axes
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.traced import Traced, xp
from linalg_ext.tracing.unsupported import refuse


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Traced:
    """`numpy.linalg.norm`, but for those that need a decomposition."""
    value = as_traced(x)
    if value.dtype.kind in "iub":
        value = value.astype(np.float64)
    if axis is None and (ord is None or (ord in ("f", "fro") and value.ndim == 2)):
        axes = tuple(range(value.ndim))
        return xp.sqrt(xp.sum(_squares(value), axis=axes, keepdims=keepdims))
    axes = normal_axes(axis, value.ndim, "norm")
    if len(axes) == 1:
        return vector_norm(value, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError(f"norm over axes {axes}", where=caller_location(), expected="one or two")
    if ord in (None, "fro", "f"):
        return xp.sqrt(xp.sum(_squares(value), axis=axes, keepdims=keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        along, other = axes if abs(ord) == 1 else axes[::-1]
        sums = xp.sum(xp.abs(value), axis=along, keepdims=True)
        found = (xp.max if ord > 0 else xp.min)(sums, axis=other, keepdims=True)
        return found if keepdims else xp.squeeze(found, axis=axes)
    return refuse(
        f"numpy.linalg.norm with ord={ord!r} of a matrix",
        "the norm takes a decomposition: call it outside the function",
    )


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Traced:
    """`numpy.linalg.vector_norm`."""
    value = as_traced(x)
    if value.dtype.kind in "iub":
        value = value.astype(np.float64)
    sizes = xp.abs(value)
    if ord == 2:
        return xp.sqrt(xp.sum(_squares(value), axis=axis, keepdims=keepdims))
    if ord == np.inf:
        return xp.max(sizes, axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return xp.min(sizes, axis=axis, keepdims=keepdims)
    if ord == 0:
        return xp.sum((value != 0).astype(sizes.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return xp.sum(sizes, axis=axis, keepdims=keepdims)
    return xp.power(xp.sum(sizes**ord, axis=axis, keepdims=keepdims), 1 / ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Traced:
    """`numpy.linalg.matrix_norm`."""
    return norm(x, ord, (-2, -1), keepdims)


def _squares(value: Traced) -> Traced:
    if value.dtype.kind == "c":
        return xp.real(value) ** 2 + xp.imag(value) ** 2
    return value * value


def matrix_power(a: Any, n: int) -> Traced:
    """`numpy.linalg.matrix_power`, to a power that is known and not negative."""
    if n < 0:
        refuse("matrix_power to a negative power", "invert the matrix outside the function")
    value = as_traced(a)
    result: Traced | None = None
    while n:
        if n & 1:
            result = value if result is None else result @ value
        n >>= 1
        if n:
            value = value @ value
    if result is None:
        eye = np.eye(value.shape[-1].__index__(), dtype=value.dtype)
        return xp.broadcast_to(as_traced(eye), value.shape)
    return result


def multi_dot(arrays: Any, *, out: Any = None) -> Traced:
    """`numpy.linalg.multi_dot`, from left to right."""
    first, *rest = (as_traced(array) for array in arrays)
    for each in rest:
        first = xp.dot(first, each)
    return first


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Traced:
    """`numpy.cross` of vectors of three."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = xp.moveaxis(as_traced(a), axisa, 0), xp.moveaxis(as_traced(b), axisb, 0)
    if x.shape[0] != 3 or y.shape[0] != 3:
        raise ShapeError(
            f"cross of vectors of {x.shape[0]} and {y.shape[0]}",
            where=caller_location(),
            expected="vectors of 3",
        )
    parts = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    return xp.stack(parts, axis=axisc)
