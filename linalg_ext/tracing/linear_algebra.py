"""`numpy.linalg`: norms, powers and crosses recorded, decompositions called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linalg_ext.errors import ShapeError, caller_location
from linalg_ext.tracing.axes import normal_axes
from linalg_ext.tracing.callbacks import called_back
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.sizes import Size
from linalg_ext.tracing.traced import Traced, current_trace, xp

_SQUARE = "inv solve det slogdet cholesky eigh eigvalsh eig eigvals"
_EQUAL: Mapping[str, tuple[int, int, int, int]] = {
    **{f"linalg.{name}": (0, -2, 0, -1) for name in _SQUARE.split()},
    "linalg.lstsq": (0, 0, 1, 0),
    "polyfit": (0, 0, 1, 0),
}
"""Sizes that must be equal: of an argument an axis, and of an argument an axis."""


def called(
    name: str, function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Record a call of NumPy's own code."""
    _agree(name, arguments, *_EQUAL.get(name, (0, 0, 0, 0)))
    if name == "linalg.solve" and len(arguments) > 1:
        _agree(name, arguments, 0, -1, 1, -1 if np.ndim(arguments[1]) == 1 else -2)
    return called_back(name, _COMPLEX.get(name, function), arguments, keywords)


def _agree(
    name: str, arguments: Sequence[Any], one: int, axis: int, other: int, other_axis: int
) -> None:
    """Have open sizes agree that must be equal; NumPy tells of others."""
    shapes = [np.shape(each) for each in arguments[: max(one, other) + 1]]
    if len(shapes) > max(one, other):
        sizes = shapes[one][axis : axis + 1 or None] + shapes[other][other_axis:][:1]
        if len(sizes) == 2 and any(isinstance(size, Size) for size in sizes):
            current_trace().agree(sizes[0], sizes[1], f"numpy.{name}")


def _eigenvalues(a: Any) -> Any:
    """`numpy.linalg.eigvals`, complex for real values too: the dtype is known before these."""
    values = np.linalg.eigvals(a)
    return values.astype(np.result_type(values.dtype, np.complex64))


def _eigenvectors(a: Any) -> Any:
    found = np.linalg.eig(a)
    dtype = np.result_type(found.eigenvalues.dtype, np.complex64)
    return type(found)(found.eigenvalues.astype(dtype), found.eigenvectors.astype(dtype))


_COMPLEX: Mapping[str, Callable[..., Any]] = {
    "linalg.eig": _eigenvectors,
    "linalg.eigvals": _eigenvalues,
}


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
    decomposed: Traced = called("linalg.norm", np.linalg.norm, [value, ord, axis, keepdims], {})
    return decomposed


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
    """`numpy.linalg.matrix_power`, to a power that is known."""
    value = as_traced(a)
    if n < 0:
        value, n = called("linalg.inv", np.linalg.inv, [value], {}), -n
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
