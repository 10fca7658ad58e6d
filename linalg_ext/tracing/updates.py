"""An array of which one part is other than of another: `x.at[index].add(v)`, `x[index] = v`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linalg_ext.bindings import ir, tensor
from linalg_ext.errors import ShapeError, caller_location
from linalg_ext.structured.constants import integer_constant
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.emission import broadcast_shapes, demand, shape_text
from linalg_ext.tracing.indexing import expanded, indexed, is_array, is_whole, parts_of, places_in
from linalg_ext.tracing.regions import Values, as_index, counted
from linalg_ext.tracing.shaping import flip, squeeze, transpose
from linalg_ext.tracing.sizes import same
from linalg_ext.tracing.slicing import Part as Places
from linalg_ext.tracing.slicing import extracted, inserted
from linalg_ext.tracing.trace import at_users_line
from linalg_ext.tracing.traced import Traced, current_trace, xp
from linalg_ext.tracing.ufuncs import fitted
from linalg_ext.tracing.unsupported import refuse


def replaced(before: Any, new: Any) -> Any:
    """The new value in the place of the one before."""
    return new


def updated(value: Traced, index: Any, combine: Callable[[Any, Any], Any], values: Any) -> Traced:
    """Record an array of which one part is `combine` of what is there and of other values."""
    values = fitted(values, value.dtype)
    given = index if isinstance(index, tuple) else (index,)
    masks = [item for item in given if _is_mask(item)]
    if len(masks) == 1 and (len(given) == 1 or isinstance(masks[0], Traced)):
        return _masked(value, given, masks[0], combine, values)
    items = expanded(value, index)
    if any(is_array(item) for item in items):
        return _scattered(value, items, combine, values)
    parts = parts_of(value, items)
    before = indexed(value, tuple(items))
    new = cast_to(combine(before, _of_rank(values, before.ndim)), value.dtype)
    new = xp.broadcast_to(new, before.shape)
    kept = [item for item in items if item is None or isinstance(item, slice)]
    new = squeeze(new, tuple(axis for axis, item in enumerate(kept) if item is None))
    left = [part for part in parts if not part.is_dropped]
    backwards = tuple(axis for axis, part in enumerate(left) if part.is_backwards)
    return inserted(flip(new, backwards) if backwards else new, value, parts)


def _of_rank(values: Traced, rank: int) -> Traced:
    """Values without first axes of size 1 beyond a rank, which NumPy's assignments drop."""
    while values.ndim > rank and same(values.shape[0], 1):
        values = values[0]
    return values


def _is_mask(index: Any) -> bool:
    return isinstance(index, Traced | np.ndarray) and index.dtype == np.bool_ and index.ndim > 0


def _masked(
    value: Traced,
    given: tuple[Any, ...],
    mask: Any,
    combine: Callable[[Any, Any], Any],
    values: Traced,
) -> Traced:
    """A choice at each place, of the part that the other items of the index select."""
    place = next(number for number, item in enumerate(given) if item is mask)
    whole = (slice(None),) * mask.ndim
    index = (*given[:place], *whole, *given[place + 1 :])
    items = expanded(value, index)
    if any(item is None or is_array(item) for item in items):
        refuse(
            "an update by a mask beside integer arrays or None",
            "write np.where(mask, values, x) for the part",
        )
    part = indexed(value, tuple(items))
    after = len(given) - place - 1
    start = value.ndim - mask.ndim - after if any(i is ... for i in given[:place]) else place
    axis = sum(isinstance(item, slice) for item in items[:start])
    trailing = part.ndim - axis - mask.ndim
    if any(same(x, y) is False for x, y in zip(mask.shape, part.shape[axis:], strict=False)):
        raise ShapeError(
            f"an index by a mask of shape {shape_text(mask.shape)}",
            where=caller_location(),
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
    new = cast_to(xp.where(wide, combine(part, values), part), value.dtype)
    return new if len(given) == 1 else updated(value, tuple(items), replaced, new)


def by_number_of_true(mask: Traced, values: Traced, *, is_exact: bool = False) -> Traced:
    """For each place of a mask the value of the number of true places before it, over again.

    Args:
        mask: booleans.
        values: along their first axis.
        is_exact: True where the run checks that there is one value for each true place.
    """
    size = values.shape[0]
    number = xp.cumsum(xp.ravel(mask).astype(np.int64)) - 1
    if is_exact:
        what = "as many values as there are true places in the mask were expected"
        demand(xp.sum(mask) == size, what)
        number = xp.clip(number, 0, size - 1)
    else:
        number = number % size
    return xp.reshape(xp.take(values, number, axis=0), (*mask.shape, *values.shape[1:]))


def _scattered(
    value: Traced, items: list[Any], combine: Callable[[Any, Any], Any], values: Traced
) -> Traced:
    """Writes into the part that integer arrays name, beside integers and slices."""
    if any(item is None for item in items):
        refuse("an update with None in its index", "leave None out: the values are broadcast")
    slices = [item if isinstance(item, slice) else slice(None) for item in items]
    chosen = [axis for axis, item in enumerate(items) if not isinstance(item, slice)]
    kept = [axis for axis in range(len(items)) if axis not in chosen]
    if all(map(is_whole, slices)) and chosen == list(range(len(chosen))):
        return _scattered_rows(value, items[: len(chosen)], combine, values)
    # The axes of the index arrays go to the front, of the part that the slices select.
    part = indexed(value, tuple(slices))
    arrays = [items[axis] for axis in chosen]
    block = max(np.ndim(array) for array in arrays)
    is_together = chosen == list(range(chosen[0], chosen[0] + len(chosen)))
    before = sum(axis < chosen[0] for axis in kept) if is_together else 0
    rank = block + len(kept)
    values = _of_rank(values, rank)
    values = xp.expand_dims(values, tuple(range(rank - values.ndim)))
    values = xp.moveaxis(values, tuple(range(before, before + block)), tuple(range(block)))
    order = [*chosen, *kept]
    made = _scattered_rows(transpose(part, order), arrays, combine, values)
    back = transpose(made, [int(axis) for axis in np.argsort(order)])
    return updated(value, tuple(slices), replaced, back)


def _scattered_rows(
    value: Traced, items: list[Any], combine: Callable[[Any, Any], Any], values: Traced
) -> Traced:
    """One write after another, for an index may name a place twice."""
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
    source = Traced(new.value, value.dtype, new.shape)

    def step(at: ir.Value, carried: Values) -> Values:
        target = Traced(carried[0], value.dtype, value.shape)
        places = [
            as_index(tensor.ExtractOp(row, [at]).result)
            if isinstance(row, ir.Value)
            else integer_constant(ir.IndexType.get(), int(row.real))
            for row in rows
        ]
        where = _parts(places, target)
        given = extracted(source, _parts([at], source))
        made = cast_to(combine(extracted(target, where), given), value.dtype)
        return [inserted(made, target, where).value]

    with at_users_line():
        (result,) = counted(trace.value(total), [value.value], step)
    return Traced(result, value.dtype, value.shape)


def _parts(places: list[ir.Value], value: Traced) -> list[Any]:
    taken = [Places(place, 1, is_dropped=True) for place in places]
    return [*taken, *(Places(0, size) for size in value.shape[len(places) :])]
