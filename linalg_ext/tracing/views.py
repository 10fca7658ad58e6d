"""Functions whose results share memory with their first argument in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linalg_ext.tracing import shaping
from linalg_ext.tracing.numpy_functions import FUNCTIONS
from linalg_ext.tracing.traced import Traced, View

_READ_ONLY = (
    "a value that NumPy has as a read-only view is written in place",
    "take a copy first: x = x.copy()",
)
_BY_LAYOUT = (
    "an array in another shape is written in place, which NumPy has as a view or as a copy by the "
    "layout in memory",
    "make the array with .copy() before its shape is changed, or take a copy afterwards",
)
_PART = (
    "the real or the imaginary part of an array is written in place",
    "write z = real + 1j * imag",
)

_PARTS = frozenset(
    {np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit}
    | ({np.unstack} if hasattr(np, "unstack") else set())
)
"""Functions that take parts by index, each of which is a view already."""


def _shape_of(base: Traced, new: Traced, *_: Any, **__: Any) -> Traced:
    return shaping.reshape(new, base.shape)


def _order_of(function: Any) -> Callable[..., Traced]:
    """Return the inverse of a function that exchanges axes."""

    def back(base: Traced, new: Traced, *rest: Any, **keywords: Any) -> Traced:
        sizes = tuple(range(1, base.ndim + 1))
        order = np.array(function(np.broadcast_to(0, sizes), *rest, **keywords).shape) - 1
        return shaping.transpose(new, [int(axis) for axis in np.argsort(order)])

    return back


def _same(function: Any) -> Callable[..., Traced]:
    """Return the inverse of a function that is its own."""
    return lambda base, new, *rest, **keywords: FUNCTIONS[function](new, *rest, **keywords)


def _turned_back(base: Traced, new: Traced, k: int = 1, axes: Any = (0, 1)) -> Traced:
    return shaping.rot90(new, -k, axes)


_INVERSES: Mapping[Any, Callable[..., Traced]] = {
    **dict.fromkeys((np.reshape, np.ravel, np.squeeze, np.expand_dims), _shape_of),
    **dict.fromkeys((np.atleast_1d, np.atleast_2d, np.atleast_3d), _shape_of),
    **{
        function: _order_of(function)
        for function in (np.transpose, np.swapaxes, np.moveaxis, np.rollaxis)
    },
    **{
        module.matrix_transpose: _order_of(module.matrix_transpose)
        for module in (np, np.linalg)
        if hasattr(module, "matrix_transpose")
    },
    **{function: _same(function) for function in (np.flip, np.fliplr, np.flipud)},
    np.rot90: _turned_back,
}
"""For each function of which the result can be written: the first argument, by a new result."""

_REASONS: Mapping[Any, tuple[str, str]] = {
    np.real: _PART,
    np.imag: _PART,
    np.diag: _READ_ONLY,
    np.diagonal: _READ_ONLY,
    np.linalg.diagonal: _READ_ONLY,
    np.broadcast_to: _READ_ONLY,
    np.broadcast_arrays: _READ_ONLY,
    np.lib.stride_tricks.sliding_window_view: _READ_ONLY,
}
"""For each of which it cannot: why."""


def is_view(function: Any) -> bool:
    """Return True for a function whose results share memory with arguments."""
    return function in _PARTS or function in _INVERSES or function in _REASONS


def shown(function: Any, result: Any, values: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Make the results of a function views of its arguments, where NumPy makes views."""
    if function in _PARTS:
        return result
    if isinstance(result, tuple):  # of several arrays, one each
        return tuple(
            _view(function, one, (value,), {}) for one, value in zip(result, values, strict=True)
        )
    return _view(function, result, values, keywords)


def _view(
    function: Any, result: Traced, values: Sequence[Any], keywords: Mapping[str, Any]
) -> Traced:
    base, *rest = values
    is_new = keywords.get("copy") is True or (function is np.diag and base.ndim == 1)
    if not isinstance(base, Traced) or not base.is_array or is_new:
        result = result.apart() if result is base else result
        result.is_array = True
        return result
    if result is base:
        return result
    is_same = _without_ones(result) == _without_ones(base)
    result.is_array = True
    result.is_in_rows = base.is_in_rows and (is_same or _INVERSES.get(function) is _shape_of)
    if function in (np.reshape, np.ravel) and not is_same:
        is_by_rows = keywords.get("order", "C") == "C"
        is_row = base.ndim <= 1 and function is np.reshape
        if not is_by_rows or not (base.is_in_rows or is_row):
            return result.shows(base, View(None, None, _BY_LAYOUT))
    inverse = _INVERSES.get(function)
    return result.shows(
        base,
        View(
            lambda array: FUNCTIONS[function](array, *rest, **keywords),
            None if inverse is None else lambda array, new: inverse(array, new, *rest, **keywords),
            _REASONS.get(function, _BY_LAYOUT),
        ),
    )


def _without_ones(value: Traced) -> list[Any]:
    """The axes of a value with their dimensions, but for those of size 1."""
    return [dim for dim in value.axes if dim is not None]
