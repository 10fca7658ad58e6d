"""Several values as one, and one as several: concatenate, stack, split, pad, insert, choose."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from linalg_ext.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from linalg_ext.tracing.functions.callbacks import called_back
from linalg_ext.tracing.functions.creation import arange
from linalg_ext.tracing.functions.indexing import by_mode
from linalg_ext.tracing.functions.shaping import (
    along,
    as_shape,
    at_least,
    expand_dims,
    moveaxis,
    ravel,
    reshape,
    swapaxes,
)
from linalg_ext.tracing.functions.slicing import Part, inserted, whole
from linalg_ext.tracing.functions.ufuncs import fitted
from linalg_ext.tracing.values.axes import normal_axis
from linalg_ext.tracing.values.conversion import (
    as_traced,
    cast_to,
    common_dtype,
    operand,
    unwritten,
)
from linalg_ext.tracing.values.elements import BOOL, as_dtype, select
from linalg_ext.tracing.values.emission import broadcast_shapes, demand, full, pointwise, shape_text
from linalg_ext.tracing.values.sizes import AnySize, product_of, same
from linalg_ext.tracing.values.traced import Traced, current_trace, xp
from linalg_ext.tracing.values.unsupported import refuse


def concatenate(
    arrays: Sequence[Any], axis: Any = 0, *, dtype: Any = None, casting: Any = None
) -> Traced:
    is_one = isinstance(arrays, Traced) and arrays.ndim and same(arrays.shape[0], 0) is not True
    operands = [arrays] if is_one else list(arrays)
    if not operands:
        raise ArgumentError("concatenate of no arrays")
    # As arrays, NumPy takes their dtypes as they are: no number is weak here.
    result_dtype = (
        as_dtype(dtype)
        if dtype is not None
        else common_dtype(
            "concatenate", [x if isinstance(x, Traced) else np.asarray(x) for x in operands]
        )
    )
    rule: Any = casting or "same_kind"
    for value in operands:
        own = value.dtype if isinstance(value, Traced) else np.asarray(value).dtype
        if dtype is not None and not np.can_cast(own, result_dtype, rule):
            raise DTypeError(
                f"concatenate of {own} as {result_dtype}",
                hint='cast it with .astype(...), or give casting="unsafe"',
            )
    values = [cast_to(value, result_dtype) for value in operands]
    if is_one:
        return _rows_joined(values[0], axis)
    if axis is None:
        values, axis = [ravel(value) for value in values], 0
    rank = values[0].ndim
    along = normal_axis(axis, rank, "concatenate")
    trace = current_trace(values)
    total: AnySize = 0
    shown = f"concatenate of shapes {' and '.join(shape_text(v.shape) for v in values)}"
    for value in values:
        fits = value.ndim == rank and all(
            trace.agree(x, y, shown)
            for place, (x, y) in enumerate(zip(value.shape, values[0].shape, strict=True))
            if place != along
        )
        if not fits:
            raise ShapeError(shown, expected=f"equal shapes but for axis {along}")
        total = total + value.shape[along]
    if len(values) == 1:
        return values[0]
    shape = tuple(total if place == along else size for place, size in enumerate(values[0].shape))
    result = unwritten(shape, result_dtype)
    start: AnySize = 0
    for value in values:
        parts = whole(value.shape)
        parts[along] = Part(start, value.shape[along])
        result = inserted(value, result, parts)
        start = start + value.shape[along]
    return result


def _rows_joined(value: Traced, axis: Any) -> Traced:
    """Return the concatenation of the parts of one array along its first axis, as a reshape."""
    if axis is None:
        return ravel(value)
    along = normal_axis(axis, value.ndim - 1, "concatenate")
    apart = moveaxis(value, 0, along)
    first, second = apart.shape[along : along + 2]
    return reshape(apart, (*apart.shape[:along], first * second, *apart.shape[along + 2 :]))


def stack(
    arrays: Sequence[Any], axis: Any = 0, *, dtype: Any = None, casting: Any = None
) -> Traced:
    values = [as_traced(array) for array in arrays]
    if not values:
        raise ArgumentError("stack of no arrays")
    if len({value.ndim for value in values}) > 1:
        raise ShapeError(
            f"stack of shapes {' and '.join(shape_text(v.shape) for v in values)}",
            expected="equal shapes",
        )
    place = normal_axis(axis, values[0].ndim + 1, "stack")
    wide = [expand_dims(v, place) for v in values]
    return concatenate(wide, place, dtype=dtype, casting=casting)


def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = None) -> Traced:
    values = [at_least(1, value) for value in tup]
    axis = 0 if values[0].ndim == 1 else 1
    return concatenate(values, axis, dtype=dtype, casting=casting)


def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = None) -> Traced:
    return concatenate([at_least(2, value) for value in tup], 0, dtype=dtype, casting=casting)


def dstack(tup: Sequence[Any]) -> Traced:
    return concatenate([at_least(3, value) for value in tup], 2)


def column_stack(tup: Sequence[Any]) -> Traced:
    values = [as_traced(value) for value in tup]
    return concatenate([v if v.ndim > 1 else expand_dims(at_least(1, v), 1) for v in values], 1)


def append(arr: Any, values: Any, axis: Any = None) -> Traced:
    if axis is None:
        # NumPy makes arrays of both: a number of Python is an int64 or a float64 then.
        both = [ravel(arr), ravel(values)]
        dtype = np.result_type(*(value.dtype for value in both))
        return concatenate([cast_to(value, dtype) for value in both])
    return concatenate([arr, values], axis)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Traced]:
    """`numpy.split`, into parts of known sizes."""
    value = as_traced(ary)
    place = normal_axis(axis, value.ndim, "split")
    size = value.shape[place]
    if hasattr(indices_or_sections, "__index__"):
        count = indices_or_sections.__index__()
        if isinstance(size, int) and size % count:
            raise ShapeError(
                f"split of axis {place}, of size {size}, into {count} equal parts",
                hint="use np.array_split, or give the indices",
            )
        if not isinstance(size, int):
            call = f"split of axis {place}, of size {size}, into {count} equal parts"
            current_trace([value]).agree(size, size // count * count, call)
        bounds: list[Any] = [size // count * number for number in range(1, count)]
    else:
        bounds = list(indices_or_sections)
    return _parts(value, place, bounds)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Traced]:
    value = as_traced(ary)
    place = normal_axis(axis, value.ndim, "array_split")
    if not hasattr(indices_or_sections, "__index__"):
        return _parts(value, place, list(indices_or_sections))
    count = indices_or_sections.__index__()
    if count < 1:
        raise ArgumentError(f"array_split into {count} parts", expected="1 or more")
    width, extra = divmod(value.shape[place].__index__(), count)
    bounds = [number * width + min(number, extra) for number in range(1, count)]
    return _parts(value, place, bounds)


def _parts(value: Traced, axis: int, bounds: Sequence[Any]) -> list[Traced]:
    before = (slice(None),) * axis
    return [
        value[(*before, slice(start, stop))]
        for start, stop in zip([None, *bounds], [*bounds, None], strict=True)
    ]


_REPEATING = ("edge", "reflect", "symmetric", "wrap")
"""Modes of `numpy.pad` whose elements are elements of the array."""


def pad(
    array: Any,
    pad_width: Any,
    mode: Any = "constant",
    *,
    constant_values: Any = None,
    **options: Any,
) -> Any:
    """`numpy.pad`; modes that compute on the array, or change it in Python, call NumPy."""
    value = as_traced(array)
    if mode not in ("constant", *_REPEATING) or options:
        if constant_values is not None:
            options["constant_values"] = constant_values
        return called_back("numpy.pad", np.pad, (value, pad_width, mode), options)
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * value.ndim
        for axis, width in pad_width.items():
            widths[axis] = width if isinstance(width, tuple) else (width, width)
    else:
        pairs = np.asarray(pad_width)
        if pairs.dtype.kind not in "iu":
            raise ArgumentTypeError(f"pad: pad_width={pad_width!r}", expected="integers")
        widths = np.broadcast_to(pairs, (value.ndim, 2)).tolist()
    if any(width < 0 for pair in widths for width in pair):
        raise ArgumentError(f"pad by {pad_width}", expected="no negative")
    if mode == "constant":
        return _pad_by_constants(value, widths, 0 if constant_values is None else constant_values)
    if constant_values is not None:
        raise ArgumentError(f"pad with mode={mode!r} and constant_values", hint="leave it out")
    for axis, (low, high) in enumerate(widths):
        if low or high:
            size = operator.index(value.shape[axis])
            if not size:
                raise ShapeError(
                    f"pad of axis {axis}, of size 0, with mode={mode!r}",
                    expected="an element to repeat, or mode='constant'",
                )
            places = cast(Any, np).pad(np.arange(size), (low, high), mode=mode)
            value = xp.take(value, places, axis=axis)
    return value


def _pad_by_constants(value: Traced, widths: Sequence[Any], numbers: Any) -> Traced:
    if isinstance(numbers, Traced):
        refuse("numpy.pad with a traced value to pad by", "use np.where or np.concatenate")
    if not value.ndim:
        return value
    by_side = np.broadcast_to(np.asarray(numbers).astype(value.dtype), (value.ndim, 2))
    if (by_side == by_side.reshape(-1)[:1]).all():
        shape = tuple(
            size + low + high for size, (low, high) in zip(value.shape, widths, strict=True)
        )
        number = by_side.reshape(-1)[0].item() if by_side.size else 0
        target = full(shape, number, value.dtype)
        parts = [Part(low, size) for size, (low, _) in zip(value.shape, widths, strict=True)]
        return inserted(value, target, parts)
    for axis, (low, high) in enumerate(widths):
        sides = []
        for width, number in zip((low, high), by_side[axis], strict=True):
            shape = (*value.shape[:axis], width, *value.shape[axis + 1 :])
            sides.append(full(shape, number.item(), value.dtype))
        value = concatenate([sides[0], value, sides[1]], axis)
    return value


def where(condition: Any, x: Any = None, y: Any = None, /) -> Traced:
    """`numpy.where` of three arguments."""
    if x is None or y is None:
        refuse("numpy.where of one argument", "give the other two: np.where(mask, x, y)")
    dtype = common_dtype("where", [x, y])
    operands = [operand(condition, np.dtype(bool)), operand(x, dtype), operand(y, dtype)]
    return pointwise(
        "where", lambda c, a, b: select(c.to(BOOL), a.to(dtype), b.to(dtype)), operands, dtype
    )


def select_(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Traced:
    """`numpy.select`: the first choice whose condition holds."""
    # All choices meet in one dtype: pairwise, a boolean and the default 0 would meet in int64.
    dtype = common_dtype("select", [*choicelist, default])
    result = cast_to(default, dtype)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(condition, cast_to(choice, dtype), result)
    return result


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Traced:
    """`numpy.piecewise`; functions are called with all of x."""
    value = as_traced(x)
    is_one = not isinstance(condlist, list | tuple) and np.ndim(condlist) == value.ndim
    if isinstance(condlist, list | tuple) and value.ndim and not np.ndim(condlist[0]):
        is_one = True
    masks = [condlist] if is_one else [condlist[place] for place in range(len(condlist))]
    conditions = [cast_to(mask, np.bool_) for mask in masks]
    if len(funclist) == len(conditions) + 1:
        any_of_them = conditions[0]
        for later in conditions[1:]:
            any_of_them = any_of_them | later
        conditions.append(~any_of_them)
    if len(funclist) != len(conditions):
        raise ArgumentError(
            f"piecewise of {len(masks)} conditions and {len(funclist)} functions",
            expected="a function for each condition, and one more for the rest",
        )
    result = xp.zeros_like(value)
    for condition, function in zip(conditions, funclist, strict=True):
        new = function(value, *args, **kw) if callable(function) else function
        new = cast_to(new if isinstance(new, Traced) else np.asarray(new), value.dtype)
        result = xp.where(condition, new, result)
    return result


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Traced, ...]:
    count = len(xi)
    values = [along(ravel(places), axis, count) for axis, places in enumerate(xi)]
    if indexing == "xy" and count > 1:
        values = [swapaxes(value, 0, 1) for value in values]
    if sparse:
        return tuple(values)
    shape = broadcast_shapes("meshgrid", [value.shape for value in values])
    return tuple(xp.broadcast_to(value, shape) for value in values)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Traced]:
    value = as_traced(ary)
    return split(value, indices_or_sections, 0 if value.ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Traced]:
    return split(_of_rank("vsplit", ary, 2), indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Traced]:
    return split(_of_rank("dsplit", ary, 3), indices_or_sections, 2)


def _of_rank(name: str, value: Any, rank: int) -> Traced:
    array = as_traced(value)
    if array.ndim < rank:
        raise ShapeError(
            f"{name} of an array of rank {array.ndim}", expected=f"rank {rank} or more"
        )
    return array


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Traced, ...]:
    value = as_traced(x)
    return tuple(xp.moveaxis(value, normal_axis(axis, value.ndim, "unstack"), 0))


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Traced:
    """`numpy.insert`, at places that are known."""
    value, place, size = _cut("insert", arr, obj, axis)
    new = fitted(values, value.dtype)
    try:
        count = len(np.insert(np.arange(size), obj, 0)) - size
    except (IndexError, ValueError) as error:
        raise ArgumentError(f"insert: {error}") from None
    if count == 1:  # one place may be given many
        new = new[(None,) * (value.ndim - new.ndim)]
        if not isinstance(obj, slice) and not np.ndim(obj):
            new = xp.moveaxis(new, 0, place)  # as `value[..., obj, ...]` has no such axis
        count = new.shape[place].__index__()
    new = xp.broadcast_to(new, (*value.shape[:place], count, *value.shape[place + 1 :]))
    both = concatenate([value, new], place)
    return xp.take(both, np.insert(np.arange(size), obj, size + np.arange(count)), place)


def delete(arr: Any, obj: Any, axis: Any = None) -> Traced:
    """`numpy.delete`, at places that are known."""
    value, place, size = _cut("delete", arr, obj, axis)
    try:
        left = np.delete(np.arange(size), obj)
    except IndexError as error:
        raise ArgumentError(f"delete: {error}") from None
    return xp.take(value, left, place)


def _cut(name: str, arr: Any, obj: Any, axis: Any) -> tuple[Traced, int, int]:
    """Return the value that is meant, the axis, and its size."""
    if isinstance(obj, Traced):
        refuse(f"numpy.{name} at traced places", "make them static, or use np.where")
    value = xp.ravel(as_traced(arr)) if axis is None else as_traced(arr)
    place = 0 if axis is None else normal_axis(axis, value.ndim, name)
    return value, place, value.shape[place].__index__()


def compress(condition: Any, a: Any, axis: Any = None) -> Traced:
    """`numpy.compress`, by a condition that is known."""
    if isinstance(condition, Traced):
        refuse(
            "numpy.compress by a traced condition",
            "the shape of the result depends on the values: use np.where(mask, x, 0)",
        )
    return xp.take(as_traced(a), np.flatnonzero(np.asarray(condition)), axis)


def resize(a: Any, new_shape: Any) -> Traced:
    """`numpy.resize`: the elements over and over, as many as there is room for."""
    value = xp.ravel(as_traced(a))
    sizes, count = as_shape(new_shape), value.shape[0]
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise ArgumentError(f"resize to {new_shape}", expected="no negative size")
    if same(count, 0):
        return full(sizes, 0, value.dtype)
    total = product_of(sizes)
    places: Any = np.arange(total) if isinstance(total, int) else arange(total)
    return reshape(value[places % count], sizes)


def block(arrays: Any) -> Traced:
    """`numpy.block`: lists of lists, the innermost along the last axis."""
    depth = _depth(arrays)
    rank = max(depth, *(leaf.ndim for leaf in _leaves(arrays)))

    def joined(part: Any, level: int) -> Traced:
        if not isinstance(part, list):
            value = as_traced(part)
            return xp.reshape(value, ((1,) * (rank - value.ndim) + tuple(value.shape)))
        if not part:
            raise ArgumentError("block of an empty list")
        return concatenate([joined(child, level + 1) for child in part], rank - depth + level)

    return joined(arrays, 0)


def _depth(part: Any) -> int:
    return 1 + max(map(_depth, part), default=0) if isinstance(part, list) else 0


def _leaves(part: Any) -> list[Traced]:
    if not isinstance(part, list):
        return [as_traced(part)]
    return [leaf for child in part for leaf in _leaves(child)]


def choose(a: Any, choices: Any, mode: str = "raise") -> Traced:
    """`numpy.choose`; where a place is out of bounds, the call raises an ExecutionError."""
    if isinstance(choices, Traced):
        choices = list(unstack(choices))
    values = xp.broadcast_arrays(as_traced(a), *choices)
    place, *choice_values = values
    place = by_mode("choose", place, len(choice_values), mode)
    return xp.take_along_axis(stack(choice_values), place[None], 0)[0]


def ix_(*args: Any) -> tuple[Traced, ...]:
    count = len(args)
    if any(as_traced(indices).dtype == np.bool_ for indices in args):
        refuse(
            "numpy.ix_ of a traced mask",
            "the shape of the result depends on the values: give places",
        )
    return tuple(along(ravel(indices), axis, count) for axis, indices in enumerate(args))


def unravel_index(indices: Any, shape: Sequence[int], order: str = "C") -> tuple[Traced, ...]:
    """`numpy.unravel_index`; a number outside of the shape is an error of the run."""
    sizes = [shape] if hasattr(shape, "__index__") else list(shape)
    left, places = as_traced(indices), list[Traced]()
    if left.dtype.kind not in "iu":
        raise DTypeError(f"unravel_index of {left.dtype}", expected="integers")
    is_place = (left >= 0) & (left < math.prod(map(int, sizes)))
    demand(xp.all(is_place), f"unravel_index: an index is out of bounds for shape {tuple(sizes)}")
    for size in sizes if order == "F" else reversed(sizes):
        places.append(cast_to(xp.remainder(left, size), np.int64))
        left = xp.floor_divide(left, size)
    return tuple(places if order == "F" else reversed(places))


def rollaxis(a: Any, axis: int, start: int = 0) -> Traced:
    value = as_traced(a)
    place = normal_axis(axis, value.ndim, "rollaxis")
    goal = start + value.ndim if start < 0 else start
    if not 0 <= goal <= value.ndim:
        raise ArgumentError(f"rollaxis to start={start}", expected=f"-{value.ndim} to {value.ndim}")
    return xp.moveaxis(value, place, goal - (place < goal))


def diagflat(v: Any, k: int = 0) -> Traced:
    return xp.diag(xp.ravel(as_traced(v)), k)


def shifted(sign: int, x: Any, axes: Any = None) -> Traced:
    """`numpy.fft.fftshift` and its inverse."""
    value = as_traced(x)
    if not value.ndim:
        raise ShapeError("fftshift of an array of rank 0")
    for axis in range(value.ndim) if axes is None else np.atleast_1d(axes).tolist():
        value = xp.roll(value, sign * (value.shape[axis].__index__() // 2), axis)
    return value
