"""Several values as one, and one as several: concatenate, stack, split, pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from linalg_ext.errors import ArgumentError, DTypeError, ShapeError, caller_location
from linalg_ext.tracing.axes import normal_axis
from linalg_ext.tracing.casting import cast_to, common_dtype
from linalg_ext.tracing.constants import as_traced, unwritten
from linalg_ext.tracing.elements import as_dtype
from linalg_ext.tracing.emission import broadcast_shapes, full, shape_text
from linalg_ext.tracing.shaping import at_least, expand_dims, ravel, swapaxes
from linalg_ext.tracing.sizes import AnySize
from linalg_ext.tracing.slicing import Part, inserted, whole
from linalg_ext.tracing.traced import Traced, current_trace, xp
from linalg_ext.tracing.unsupported import refuse


def concatenate(
    arrays: Sequence[Any],
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = None,
) -> Traced:
    """`numpy.concatenate`."""
    given = list(arrays)
    if not given:
        raise ArgumentError("concatenate of no arrays", where=caller_location())
    # As arrays, NumPy takes their dtypes as they are: no number is weak here.
    wanted = (
        as_dtype(dtype)
        if dtype is not None
        else common_dtype(
            "concatenate", [x if isinstance(x, Traced) else np.asarray(x) for x in given]
        )
    )
    rule: Any = casting or "same_kind"
    for value in given:
        own = value.dtype if isinstance(value, Traced) else np.asarray(value).dtype
        if dtype is not None and not np.can_cast(own, wanted, rule):
            raise DTypeError(
                f"concatenate of {own} as {wanted}",
                where=caller_location(),
                hint='cast it with .astype(...), or give casting="unsafe"',
            )
    values = [cast_to(value, wanted) for value in given]
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
            raise ShapeError(
                shown, where=caller_location(), expected=f"equal shapes but for axis {along}"
            )
        total = total + value.shape[along]
    if len(values) == 1:
        return values[0]
    shape = tuple(total if place == along else size for place, size in enumerate(values[0].shape))
    result = unwritten(shape, wanted)
    start: AnySize = 0
    for value in values:
        parts = whole(value.shape)
        parts[along] = Part(start, value.shape[along])
        result = inserted(value, result, parts)
        start = start + value.shape[along]
    return result


def stack(
    arrays: Sequence[Any],
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = None,
) -> Traced:
    """`numpy.stack`."""
    values = [as_traced(array) for array in arrays]
    if not values:
        raise ArgumentError("stack of no arrays", where=caller_location())
    if len({value.ndim for value in values}) > 1:
        raise ShapeError(
            f"stack of shapes {' and '.join(shape_text(v.shape) for v in values)}",
            where=caller_location(),
            expected="equal shapes",
        )
    place = normal_axis(axis, values[0].ndim + 1, "stack")
    wide = [expand_dims(v, place) for v in values]
    return concatenate(wide, place, out, dtype=dtype, casting=casting)


def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = None) -> Traced:
    """`numpy.hstack`."""
    values = [at_least(1)(value) for value in tup]
    axis = 0 if values[0].ndim == 1 else 1
    return concatenate(values, axis, dtype=dtype, casting=casting)


def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = None) -> Traced:
    """`numpy.vstack`."""
    return concatenate([at_least(2)(value) for value in tup], 0, dtype=dtype, casting=casting)


def dstack(tup: Sequence[Any]) -> Traced:
    """`numpy.dstack`."""
    return concatenate([at_least(3)(value) for value in tup], 2)


def column_stack(tup: Sequence[Any]) -> Traced:
    """`numpy.column_stack`."""
    values = [as_traced(value) for value in tup]
    return concatenate([v if v.ndim > 1 else expand_dims(at_least(1)(v), 1) for v in values], 1)


def append(arr: Any, values: Any, axis: Any = None) -> Traced:
    """`numpy.append`."""
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
                where=caller_location(),
                hint="use np.array_split, or give the indices",
            )
        if not isinstance(size, int):
            what = f"split of axis {place}, of size {size}, into {count} equal parts"
            current_trace([value]).agree(size, size // count * count, what)
        bounds: list[Any] = [size // count * number for number in range(1, count)]
    else:
        bounds = list(indices_or_sections)
    return _parts(value, place, bounds)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Traced]:
    """`numpy.array_split`."""
    value = as_traced(ary)
    place = normal_axis(axis, value.ndim, "array_split")
    if not hasattr(indices_or_sections, "__index__"):
        return _parts(value, place, list(indices_or_sections))
    count = indices_or_sections.__index__()
    each, extra = divmod(value.shape[place].__index__(), count)
    bounds = [number * each + min(number, extra) for number in range(1, count)]
    return _parts(value, place, bounds)


def _parts(value: Traced, axis: int, bounds: Sequence[Any]) -> list[Traced]:
    before = (slice(None),) * axis
    return [
        value[(*before, slice(start, stop))]
        for start, stop in zip([None, *bounds], [*bounds, None], strict=True)
    ]


def pad(
    array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = None
) -> Traced:
    """`numpy.pad`, in the modes constant, edge, reflect, symmetric and wrap."""
    value = as_traced(array)
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * value.ndim
        for axis, width in pad_width.items():
            widths[axis] = width if isinstance(width, tuple) else (width, width)
    else:
        widths = np.broadcast_to(np.asarray(pad_width), (value.ndim, 2)).tolist()
    if any(width < 0 for pair in widths for width in pair):
        raise ArgumentError(f"pad by {pad_width}", where=caller_location(), expected="no negative")
    if mode == "constant":
        return _pad_by_constants(value, widths, 0 if constant_values is None else constant_values)
    if constant_values is not None:
        raise ArgumentError(
            f"pad with mode={mode!r} and constant_values",
            where=caller_location(),
            hint="leave it out",
        )
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        refuse(f"numpy.pad with mode={mode!r}", "use constant, edge, reflect, symmetric or wrap")
    for axis, (low, high) in enumerate(widths):
        if low or high:
            if not value.shape[axis].__index__():
                raise ShapeError(
                    f"pad of axis {axis}, of size 0, with mode={mode!r}",
                    where=caller_location(),
                    expected="an element to repeat, or mode='constant'",
                )
            places = cast(Any, np).pad(
                np.arange(value.shape[axis].__index__()), (low, high), mode=mode
            )
            value = xp.take(value, places, axis=axis)
    return value


def _pad_by_constants(value: Traced, widths: Sequence[Any], numbers: Any) -> Traced:
    if isinstance(numbers, Traced):
        refuse("numpy.pad with a traced value to pad by", "use np.where or np.concatenate")
    if not value.ndim:
        return value
    given = np.broadcast_to(np.asarray(numbers).astype(value.dtype), (value.ndim, 2))
    if (given == given.reshape(-1)[:1]).all():
        shape = tuple(
            size + low + high for size, (low, high) in zip(value.shape, widths, strict=True)
        )
        number = given.reshape(-1)[0].item() if given.size else 0
        target = full(shape, number, value.dtype)
        parts = [Part(low, size) for size, (low, _) in zip(value.shape, widths, strict=True)]
        return inserted(value, target, parts)
    for axis, (low, high) in enumerate(widths):
        sides = []
        for width, number in zip((low, high), given[axis], strict=True):
            shape = (*value.shape[:axis], width, *value.shape[axis + 1 :])
            sides.append(full(shape, number.item(), value.dtype))
        value = concatenate([sides[0], value, sides[1]], axis)
    return value


def where(condition: Any, x: Any = None, y: Any = None, /) -> Traced:
    """`numpy.where` of three arguments."""
    from linalg_ext.tracing.casting import operand
    from linalg_ext.tracing.elements import BOOL, select
    from linalg_ext.tracing.emission import pointwise

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
    given = [condlist] if is_one else [condlist[place] for place in range(len(condlist))]
    conditions = [cast_to(each, np.bool_) for each in given]
    if len(funclist) == len(conditions) + 1:
        any_of_them = conditions[0]
        for each in conditions[1:]:
            any_of_them = any_of_them | each
        conditions.append(~any_of_them)
    if len(funclist) != len(conditions):
        raise ArgumentError(
            f"piecewise of {len(given)} conditions and {len(funclist)} functions",
            where=caller_location(),
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
    """`numpy.meshgrid`."""
    count = len(xi)
    values = []
    for place, each in enumerate(xi):
        axes = [axis for axis in range(count) if axis != place]
        values.append(expand_dims(ravel(each), tuple(axes)))
    if indexing == "xy" and count > 1:
        values = [swapaxes(value, 0, 1) for value in values]
    if sparse:
        return tuple(values)
    shape = broadcast_shapes("meshgrid", [value.shape for value in values])
    return tuple(xp.broadcast_to(value, shape) for value in values)
