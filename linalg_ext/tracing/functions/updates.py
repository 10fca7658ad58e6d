"""Writes into arrays: `x[index] = v`, `x.at[index].add(v)`, copyto, put, fill_diagonal, add.at.

A write makes an array of which one part is other than of another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linalg_ext.bindings import ir, tensor
from linalg_ext.errors import DTypeError, ShapeError
from linalg_ext.structured.constants import integer_constant
from linalg_ext.tracing.functions.concatenation import resize
from linalg_ext.tracing.functions.indexing import (
    along_axis,
    block_axis,
    by_mode,
    expanded,
    indexed,
    is_array,
    is_whole,
    parts_of,
    places_in,
)
from linalg_ext.tracing.functions.shaping import flip, reshape, squeeze, transpose
from linalg_ext.tracing.functions.slicing import Part as Places
from linalg_ext.tracing.functions.slicing import extracted, inserted
from linalg_ext.tracing.functions.ufuncs import fitted
from linalg_ext.tracing.values.conversion import (
    arrays_of,
    as_traced,
    cast_to,
    common_dtype,
    is_weak,
)
from linalg_ext.tracing.values.emission import (
    Values,
    as_index,
    broadcast_shapes,
    counted,
    demand,
    shape_text,
)
from linalg_ext.tracing.values.sizes import same
from linalg_ext.tracing.values.trace import at_users_line
from linalg_ext.tracing.values.traced import Traced, current_trace, xp
from linalg_ext.tracing.values.unsupported import refuse


def replaced(before: Any, new: Any) -> Any:
    """Return the new value in the place of the one before."""
    return new


def updated(value: Traced, index: Any, combine: Callable[[Any, Any], Any], values: Any) -> Traced:
    """Record an array of which one part is `combine` of its elements and of other values.

    These are cast to the dtype of the array first.
    """
    return _updated(value, index, combine, fitted(values, value.dtype))


def _updated(
    value: Traced, index: Any, combine: Callable[[Any, Any], Any], values: Traced
) -> Traced:
    listed = index if isinstance(index, tuple) else (index,)
    masks = [item for item in listed if _is_mask(item)]
    if len(masks) == 1 and (len(listed) == 1 or isinstance(masks[0], Traced)):
        return _masked(value, listed, masks[0], combine, values)
    items = expanded(value, index)
    if any(is_array(item) for item in items):
        return _scattered(value, items, index, combine, values)
    parts = parts_of(value, items)
    before = indexed(value, tuple(items))
    new = cast_to(combine(before, _of_rank(values, before.ndim)), value.dtype)
    new = xp.broadcast_to(new, before.shape)
    kept_items = [item for item in items if item is None or isinstance(item, slice)]
    new = squeeze(new, tuple(axis for axis, item in enumerate(kept_items) if item is None))
    left = [part for part in parts if not part.is_dropped]
    backwards = tuple(axis for axis, part in enumerate(left) if part.is_backwards)
    return inserted(flip(new, backwards) if backwards else new, value, parts)


def _of_rank(values: Traced, rank: int) -> Traced:
    """Return values without first axes of size 1 beyond a rank, which NumPy's assignments drop."""
    while values.ndim > rank and same(values.shape[0], 1):
        values = values[0]
    return values


def _is_mask(index: Any) -> bool:
    return isinstance(index, Traced | np.ndarray) and index.dtype == np.bool_ and index.ndim > 0


def _masked(
    value: Traced,
    listed: tuple[Any, ...],
    mask: Any,
    combine: Callable[[Any, Any], Any],
    values: Traced,
) -> Traced:
    """Return a choice at each place, of the part that the other items of the index select."""
    place = next(number for number, item in enumerate(listed) if item is mask)
    whole = (slice(None),) * mask.ndim
    index = (*listed[:place], *whole, *listed[place + 1 :])
    items = expanded(value, index)
    if any(item is None or is_array(item) for item in items):
        refuse(
            "an update by a mask beside integer arrays or None",
            "write np.where(mask, values, x) for the part",
        )
    part = indexed(value, tuple(items))
    after = len(listed) - place - 1
    start = value.ndim - mask.ndim - after if any(i is ... for i in listed[:place]) else place
    axis = sum(isinstance(item, slice) for item in items[:start])
    trailing = part.ndim - axis - mask.ndim
    if any(same(x, y) is False for x, y in zip(mask.shape, part.shape[axis:], strict=False)):
        raise ShapeError(
            f"an index by a mask of shape {shape_text(mask.shape)}",
            expected=f"shape {shape_text(part.shape[axis : axis + mask.ndim])}, as the array has",
        )
    chosen = as_traced(mask)
    values = _of_rank(values, trailing + 1 if not axis else 0)
    if values.ndim == trailing + 1 and not axis:
        if same(values.shape[0], 1) is True:
            values = values[0]
        else:
            values = by_number_of_true(chosen, values, is_exact=True)
    elif values.ndim > trailing:
        refuse(
            "an update by a mask and a slice, of values with an axis for both",
            "write np.where(mask, values, x) for the part",
        )
    wide = xp.expand_dims(chosen, tuple(range(mask.ndim, mask.ndim + trailing)))
    new = xp.where(wide, cast_to(combine(part, values), value.dtype), part)
    return new if len(listed) == 1 else updated(value, tuple(items), replaced, new)


def by_number_of_true(mask: Traced, values: Traced, *, is_exact: bool = False) -> Traced:
    """For each place of a mask the value of the number of true places before it, over again.

    Args:
        values: along their first axis.
        is_exact: True where the run checks that there is one value for each true place.
    """
    size = values.shape[0]
    number = xp.cumsum(xp.ravel(mask).astype(np.int64)) - 1
    if is_exact:
        rule = "as many values as there are true places in the mask were expected"
        demand(xp.sum(mask) == size, rule)
        number = xp.clip(number, 0, size - 1)
    else:
        number = number % size
    return xp.reshape(xp.take(values, number, axis=0), (*mask.shape, *values.shape[1:]))


def _scattered(
    value: Traced,
    items: list[Any],
    index: Any,
    combine: Callable[[Any, Any], Any],
    values: Traced,
) -> Traced:
    """Writes into the part that integer arrays name, beside integers and slices."""
    if any(item is None for item in items):
        refuse("an update with None in its index", "leave None out: the values are broadcast")
    slices = [item if isinstance(item, slice) else slice(None) for item in items]
    chosen = [axis for axis, item in enumerate(items) if not isinstance(item, slice)]
    kept_axes = [axis for axis in range(len(items)) if axis not in chosen]
    if all(map(is_whole, slices)) and chosen == list(range(len(chosen))):
        return _scattered_rows(value, items[: len(chosen)], combine, values)
    # The axes of the index arrays go to the front, of the part that the slices select.
    part = indexed(value, tuple(slices))
    arrays = [items[axis] for axis in chosen]
    block = max(np.ndim(array) for array in arrays)
    first = block_axis(index, chosen)
    before = sum(axis < first for axis in kept_axes)
    rank = block + len(kept_axes)
    values = _of_rank(values, rank)
    values = xp.expand_dims(values, tuple(range(rank - values.ndim)))
    values = xp.moveaxis(values, tuple(range(before, before + block)), tuple(range(block)))
    order = [*chosen, *kept_axes]
    rows = _scattered_rows(transpose(part, order), arrays, combine, values)
    back = transpose(rows, [int(axis) for axis in np.argsort(order)])
    return updated(value, tuple(slices), replaced, back)


def _scattered_rows(
    value: Traced, items: list[Any], combine: Callable[[Any, Any], Any], values: Traced
) -> Traced:
    """Write one value after another, for an index may name a place twice."""
    trace = current_trace([value])
    arrays = [places_in(item, value.shape[axis], axis) for axis, item in enumerate(items)]
    block = broadcast_shapes(
        "index arrays", [array.shape for array in arrays if isinstance(array, Traced)]
    )
    rest = value.shape[len(items) :]
    values = _of_rank(values, len(block) + len(rest))
    new = xp.broadcast_to(values, (*block, *rest))
    new = xp.reshape(new, (-1, *rest)) if len(block) != 1 else new
    total = new.shape[0]
    rows = [
        xp.ravel(xp.broadcast_to(array, block)).value if isinstance(array, Traced) else array.value
        for array in arrays
    ]
    source = Traced(new.value, new.dtype, new.shape)

    def step(at: ir.Value, carried: Values) -> Values:
        target = Traced(carried[0], value.dtype, value.shape)
        places = [
            as_index(tensor.ExtractOp(row, [at]).result)
            if isinstance(row, ir.Value)
            else integer_constant(ir.IndexType.get(), int(row.real))
            for row in rows
        ]
        where = _parts(places, target)
        row_value = extracted(source, _parts([at], source))
        combined = cast_to(combine(extracted(target, where), row_value), value.dtype)
        return [inserted(combined, target, where).value]

    with at_users_line():
        (result,) = counted(trace.value(total), [value.value], step)
    return Traced(result, value.dtype, value.shape)


def _parts(places: list[ir.Value], value: Traced) -> list[Any]:
    leading = [Places(place, 1, is_dropped=True) for place in places]
    return [*leading, *(Places(0, size) for size in value.shape[len(places) :])]


def _target(name: str, value: Any) -> Traced:
    if not isinstance(value, Traced):
        refuse(
            f"numpy.{name} into an array of outside, or into none",
            "make the array inside the function, with np.zeros or np.empty; or take a copy of it",
        )
    value.check_writable()
    return value


def add_at(ufunc: Any, a: Any, indices: Any, values: Any = 0) -> None:
    """`ufunc.at`, one element after another, each cast to the dtype of the array, whatever it is.

    No number is weak there: NumPy takes one of Python for an array of int64 or float64.
    """
    target = _target(f"{ufunc.__name__}.at", a)
    (operand,) = arrays_of(values)

    def combine(before: Any, new: Any) -> Any:
        return ufunc(before) if ufunc.nin == 1 else ufunc(before, new)

    target.become(_updated(target, indices, combine, operand))


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    target = _target("copyto", dst)
    dtype = common_dtype("copyto", [target, src]) if is_weak(src) else as_traced(src).dtype
    if not np.can_cast(dtype, target.dtype, casting):
        raise DTypeError(
            f"copyto of {dtype} into an array of {target.dtype}",
            hint="cast the values with .astype(...), or say casting='unsafe'",
        )
    new = xp.broadcast_to(fitted(src, target.dtype), target.shape)
    target.become(new if where is True else xp.where(where, new, target))


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """`numpy.put`: the last value counts where an index comes twice."""
    target = _target("put", a)
    size = target.size
    index = by_mode("put", xp.ravel(ind) if isinstance(ind, Traced) else np.ravel(ind), size, mode)
    values = fitted(v, target.dtype)
    if not index.shape[0]:
        return
    _write_in_a_row(target, index, resize(values, index.shape))


def _write_in_a_row(target: Traced, index: Any, values: Any) -> None:
    new = updated(reshape(target, (target.size,)), index, replaced, values)
    target.become(reshape(new, target.shape))


def putmask(a: Any, mask: Any, values: Any) -> None:
    """`numpy.putmask`: values are repeated over all places, masked or not."""
    target = _target("putmask", a)
    new = resize(fitted(values, target.dtype), target.shape)
    target.become(xp.where(_like("putmask", mask, target), new, target))


def place(arr: Any, mask: Any, vals: Any) -> None:
    """`numpy.place`: values are repeated over the masked places."""
    target = _target("place", arr)
    chosen = _like("place", mask, target)
    new = by_number_of_true(chosen, xp.ravel(fitted(vals, target.dtype)))
    target.become(xp.where(chosen, new, target))


def _like(name: str, mask: Any, target: Traced) -> Traced:
    """Return a mask in the shape of the written array, which has as many elements."""
    flags = cast_to(mask, bool)
    if not current_trace().agree(flags.size, target.size, f"{name} by a mask"):
        raise ShapeError(
            f"{name} by a mask of shape {shape_text(flags.shape)}",
            expected=f"as many elements as the array of shape {shape_text(target.shape)} has",
        )
    return reshape(flags, target.shape)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    target = _target("fill_diagonal", a)
    sizes = [size.__index__() for size in target.shape]
    if len(sizes) < 2 or (len(sizes) > 2 and len(set(sizes)) > 1):
        raise ShapeError(
            f"fill_diagonal of an array of shape {target.shape}",
            expected="two axes, or several of one size",
        )
    step = 1 + sum(int(np.prod(sizes[place:])) for place in range(1, len(sizes)))
    end = None if wrap or len(sizes) > 2 else sizes[1] * sizes[1]
    index = slice(None, end, step)
    count = len(range(*index.indices(target.size)))
    values = fitted(val, target.dtype)
    if count:
        _write_in_a_row(target, index, resize(values, (count,)))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    target = _target("put_along_axis", arr)
    if axis is None:
        _write_in_a_row(target, indices, values)
        return
    index = along_axis("put_along_axis", target, indices, axis)
    target.become(updated(target, index, replaced, values))


WRITERS: Mapping[Any, Callable[..., None]] = {
    getattr(np, record.__name__): record
    for record in (copyto, put, putmask, place, fill_diagonal, put_along_axis)
}
"""NumPy's functions without a result, and the functions that record their change of the first
argument.
"""
