"""Calls on traced values as they come in, and the memory that NumPy's arrays would share.

Calls on numbers that are known are NumPy's. Results go into their `out=`. A part of an array and
another shape of it are views: to write into them writes into the array. Every other result is an
array by itself, though it may be recorded as a view.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from linalg_ext.errors import located
from linalg_ext.tracing.functions import shaping
from linalg_ext.tracing.functions.array_api import namespace as namespace
from linalg_ext.tracing.functions.indexing import Selection, expanded, indexed, is_array, is_whole
from linalg_ext.tracing.functions.numpy_functions import FUNCTIONS, record_function
from linalg_ext.tracing.functions.numpy_functions import recorded_names as recorded_names
from linalg_ext.tracing.functions.reinterpretation import reinterpreted
from linalg_ext.tracing.functions.repeated_calls import record_once
from linalg_ext.tracing.functions.slicing import line_of_result
from linalg_ext.tracing.functions.ufuncs import record_ufunc
from linalg_ext.tracing.functions.updates import WRITERS, add_at, replaced, updated
from linalg_ext.tracing.known_arrays import Known, computed, is_known, is_traced, revealed
from linalg_ext.tracing.values.containers import leaves_of, mapped
from linalg_ext.tracing.values.conversion import as_traced
from linalg_ext.tracing.values.emission import broadcast_shapes
from linalg_ext.tracing.values.sizes import AnySize, Size
from linalg_ext.tracing.values.trace import running
from linalg_ext.tracing.values.traced import Traced, View, xp
from linalg_ext.tracing.values.unsupported import refuse

_BY_ARGUMENT = (
    "a part by an index that is an argument is written in place, which NumPy has as a view of a "
    "number's row and as a copy of that of an array of rank 0",
    "write x[i, ...] = v into the array itself, or take a copy of the part",
)


@located
def on_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Call a ufunc, or a method of one."""
    if is_known(inputs, keywords):
        return computed(getattr(ufunc, method) if method != "__call__" else ufunc, inputs, keywords)
    if method == "at":
        return add_at(ufunc, inputs[0], *revealed(tuple(inputs[1:])))
    options = dict(keywords)
    outs = options.pop("out", None) or ()
    outs = outs if isinstance(outs, tuple) else (outs,)
    options, values = revealed(options), revealed(tuple(inputs))
    if not any(out is not None for out in outs):
        record = partial(record_ufunc, ufunc, method)
        recorded = _laid_out(record_once((ufunc, method), record, values, options), values)
        if method == "__call__" and len(values) == 2 and isinstance(recorded, Traced):
            recorded.line = line_of_result(ufunc.__name__, *values) if not recorded.ndim else None
        return recorded
    where = options.pop("where", True) if method == "__call__" else True
    recorded = record_ufunc(ufunc, method, values, options)
    stored = [
        result if out is None else _stored(ufunc.__name__, out, result, where)
        for out, result in zip(outs, leaves_of(recorded), strict=True)
    ]
    return tuple(stored) if isinstance(recorded, tuple) else stored[0]


def on_comparison(left: Size, sign: str, right: AnySize) -> bool | None:
    """Compare two sizes in the call at hand; None without one."""
    trace = running()
    return None if trace is None else trace.compares(left, sign, right)


def on_number(size: Size) -> int | None:
    """Return the number that a size is in the call at hand; None without one."""
    trace = running()
    return None if trace is None else trace.counts(size)


@located
def on_function(function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Call one of NumPy's other functions."""
    if is_known(arguments, keywords):
        return computed(function, arguments, keywords)
    arguments, options, out = _without_out(function, arguments, dict(keywords))
    if function in WRITERS:
        target = arguments[0]
        return WRITERS[function](target, *revealed(tuple(arguments[1:])), **revealed(options))
    values, options = revealed(tuple(arguments)), revealed(options)
    result = record_once(function, partial(record_function, function), values, options)
    if out is not None:
        return _stored(function.__name__, out, result, True)
    if is_view(function):
        return shown(function, result, values, options)
    return _laid_out(_apart(result, values), values)


@located
def on_part(value: Traced, index: Any) -> Any:
    """Take a part of a value: `x[index]`."""
    if isinstance(value, Known) and is_known(index):
        return computed(operator.getitem, (value, index), {})
    place = revealed(index)
    listed = place if isinstance(place, tuple) else (place,)
    if len(listed) == value.ndim and all(type(item) is int for item in listed):
        return value.scalar(listed, lambda: indexed(value, place))
    if is_traced(place) and place.dtype == np.bool_ and place.shape == value.shape and place.ndim:
        return Selection(value, place)
    part = indexed(value, place)
    items = expanded(value, place)
    part.is_array = bool(part.ndim) or any(item is ... for item in listed)
    is_copy = any(is_array(item) or (is_traced(item) and item.is_array) for item in items)
    if is_copy or not (value.is_array and part.is_array):
        return part
    part.is_in_rows = value.is_in_rows and _is_one_run(items)
    if any(isinstance(item, Traced) and item.is_argument for item in items):
        return part.shows(value, View(None, None, _BY_ARGUMENT))
    view = View(
        lambda base: indexed(base, place),
        lambda base, new: updated(base, place, replaced, new),
        index=index,
    )
    return part.shows(value, view)


def _is_one_run(items: Sequence[Any]) -> bool:
    """Return True where a part is one run of the elements in row-major order."""
    first = next(
        (at for at, item in enumerate(items) if item is None or isinstance(item, slice)), 0
    )
    left = items[first:]
    return (
        all(isinstance(item, slice) for item in left[:1])
        and all(item.step in (None, 1) for item in left[:1])
        and all(map(is_whole, left[1:]))
    )


@located
def on_view(value: Traced, dtype: Any) -> Any:
    """Read the memory of a value as another dtype: `x.view(dtype)`."""
    if dtype is None:
        return value[...]
    if isinstance(value, Known):
        return computed(lambda array: array.view(dtype), (value,), {})
    view = View(
        lambda base: reinterpreted(base, dtype),
        lambda base, new: reinterpreted(new, base.dtype),
    )
    return reinterpreted(value, dtype).shows(value, view)


@located
def on_assignment(value: Traced, index: Any, new: Any) -> None:
    """Write into a value: `x[index] = new`."""
    is_part = isinstance(new, Traced) and new.base_view is not None and new.base is value
    if is_part and new.base_view.index is index and index is not None:
        return  # `x[index] += y`, which has written into the part already
    if isinstance(new, Selection):
        mask = as_traced(revealed(index))
        new = xp.where(mask, Selection(value, mask).chosen(new).astype(value.dtype), value)
        index = ...
    if not value.is_array:
        refuse("a scalar, a value of rank 0, is written in place", "write x = v for x[...] = v")
    if isinstance(value, Known) and is_known(index, new):
        value.check_writable()
        value.host[revealed(index)] = revealed(new)
    else:
        value.become(updated(value, revealed(index), replaced, revealed(new)))


@located
def on_update(value: Traced, index: Any, combine: Callable[[Any, Any], Any], values: Any) -> Traced:
    """Make another array of a value: `x.at[index].add(values)`."""
    return updated(value, revealed(index), combine, revealed(values))


@located
def on_made(
    recorded: Callable[..., Traced], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Traced:
    """Make an array of traced values or of open sizes: `np.zeros((n, 3))`, `np.array([x, y])`."""
    values = revealed(tuple(arguments))
    array = recorded(*values, **revealed(dict(keywords)))
    if all(array is not value for value in values):
        array.is_array = True
        _laid_out(array, values)
    return array


def _without_out(
    function: Any, arguments: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any], Any]:
    """Return the arguments of a call but for `out=`, and that."""
    if "out" in keywords:
        return arguments, keywords, keywords.pop("out")
    names = _positional(function)
    place = names.index("out") if "out" in names else len(arguments)
    if place >= len(arguments):
        return arguments, keywords, None
    later = dict(zip(names[place + 1 :], arguments[place + 1 :], strict=False))
    return arguments[:place], keywords | later, arguments[place]


@cache
def _positional(function: Any) -> list[str]:
    """Return the parameters of a function that are given by position, in order."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a function of C that does not tell
        return []
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return []
    return [
        parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY
    ]


def _stored(name: str, out: Any, result: Traced, where: Any) -> Traced:
    """Write a result into `out=`, where a mask is true."""
    if not isinstance(out, Traced):
        refuse(
            f"numpy.{name} with out= an array of outside, or none",
            "make the array inside the function, with np.empty or np.zeros",
        )
    if where is not True:
        shape = broadcast_shapes(name, [result.shape, as_traced(where).shape, out.shape])
        result = xp.where(where, result, out) if shape == out.shape else result
    return out.store(name, result)


def _laid_out(result: Any, values: Sequence[Any]) -> Any:
    """Tell of results whether they are in row-major order, as NumPy keeps the operands' order."""
    matrices = [x for x in leaves_of(result) if isinstance(x, Traced) and x.ndim > 1]
    if matrices:
        operands = [x for x in leaves_of(values) if isinstance(x, Traced)]
        is_in_rows = all(operand.is_in_rows for operand in operands if operand.ndim > 1)
        for matrix in matrices:
            matrix.is_in_rows = is_in_rows
    return result


def _apart(result: Any, values: Sequence[Any]) -> Any:
    """Make arrays by themselves of results that are recorded as operands, or as views of them."""
    operands = leaves_of(values)

    def apart(leaf: Any) -> Any:
        if not isinstance(leaf, Traced):
            return leaf
        is_operand = leaf.base_view is not None or any(leaf is operand for operand in operands)
        return leaf.apart() if is_operand else leaf

    return mapped(apart, result)


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


def _ordered_back(function: Any, base: Traced, new: Traced, *rest: Any, **keywords: Any) -> Traced:
    """Undo a function that exchanges axes."""
    sizes = tuple(range(1, base.ndim + 1))
    order = np.array(function(np.broadcast_to(0, sizes), *rest, **keywords).shape) - 1
    return shaping.transpose(new, [int(axis) for axis in np.argsort(order)])


def _again(function: Any, base: Traced, new: Traced, *rest: Any, **keywords: Any) -> Any:
    """Undo a function that is its own inverse."""
    return FUNCTIONS[function](new, *rest, **keywords)


_INVERSES: Mapping[Any, Callable[..., Traced]] = {
    **dict.fromkeys((np.reshape, np.ravel, np.squeeze, np.expand_dims), _shape_of),
    **dict.fromkeys((np.atleast_1d, np.atleast_2d, np.atleast_3d), _shape_of),
    **{
        function: partial(_ordered_back, function)
        for function in (np.transpose, np.swapaxes, np.moveaxis, np.rollaxis)
    },
    **{
        module.matrix_transpose: partial(_ordered_back, module.matrix_transpose)
        for module in (np, np.linalg)
        if hasattr(module, "matrix_transpose")
    },
    **{function: partial(_again, function) for function in (np.flip, np.fliplr, np.flipud)},
    np.rot90: lambda base, new, k=1, axes=(0, 1): shaping.rot90(new, -k, axes),
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
            _view(function, own, (value,), {}) for own, value in zip(result, values, strict=True)
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
    """Return the axes of a value with their dimensions, but for those of size 1."""
    return [dim for dim in value.axes if dim is not None]
