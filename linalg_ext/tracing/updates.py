"""`x.at[index].set(v)`, `.add(v)`, ...: a new array, of which one part is other than of `x`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linalg_ext.bindings import ir, tensor
from linalg_ext.structured.utils.constants import integer_constant
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.emission import broadcast_shapes
from linalg_ext.tracing.indexing import expanded, indexed, is_array, parts_of, places_in
from linalg_ext.tracing.regions import Values, as_index, counted
from linalg_ext.tracing.shaping import flip
from linalg_ext.tracing.slicing import Part as Places
from linalg_ext.tracing.slicing import extracted, inserted
from linalg_ext.tracing.trace import at_users_line
from linalg_ext.tracing.traced import Traced, current_trace, xp
from linalg_ext.tracing.ufuncs import fitted
from linalg_ext.tracing.unsupported import refuse


def updated(value: Traced, index: Any, combine: Callable[[Any, Any], Any], values: Any) -> Traced:
    """Record an array of which one part is `combine` of what is there and of other values."""
    values = fitted(values, value.dtype)
    if _is_mask(index):
        mask = xp.expand_dims(as_traced(index), tuple(range(index.ndim, value.ndim)))
        return cast_to(xp.where(mask, combine(value, values), value), value.dtype)
    items = expanded(value, index)
    if any(is_array(item) for item in items):
        return _scattered(value, items, combine, values)
    if None in [item if item is None else 0 for item in items]:
        refuse("x.at[...] with None", "leave None out: the values are broadcast")
    parts = parts_of(value, items)
    before = indexed(value, tuple(items))
    new = cast_to(combine(before, values), value.dtype)
    new = xp.broadcast_to(new, before.shape)
    left = [part for part in parts if not part.is_dropped]
    backwards = tuple(axis for axis, part in enumerate(left) if part.is_backwards)
    return inserted(flip(new, backwards) if backwards else new, value, parts)


def _is_mask(index: Any) -> bool:
    return isinstance(index, Traced | np.ndarray) and index.dtype == np.bool_


def _scattered(
    value: Traced, items: list[Any], combine: Callable[[Any, Any], Any], values: Any
) -> Traced:
    """One write after another, for an index may name a place twice."""
    trace = current_trace([value])
    count = len(items)
    while count and isinstance(items[count - 1], slice) and items[count - 1] == slice(None):
        count -= 1
    if any(item is None or isinstance(item, slice) for item in items[:count]):
        refuse(
            "x.at[...] with slices before or between integer arrays",
            "bring the indexed axes to the front with np.moveaxis first",
        )
    arrays = [places_in(item, value.shape[axis], axis) for axis, item in enumerate(items[:count])]
    block = broadcast_shapes(
        "index arrays", [array.shape for array in arrays if isinstance(array, Traced)]
    )
    rest = value.shape[count:]
    new = xp.broadcast_to(cast_to(as_traced(values), value.dtype), (*block, *rest))
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
