"""`x[...]` of a traced value: integers, slices, None and `...`; arrays of integers, as NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, ShapeError, caller_location
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.elements import INT64, Element, select
from linalg_ext.tracing.emission import broadcast_shapes, demand, gathered, pointwise
from linalg_ext.tracing.shaping import flip, with_axes_of_one
from linalg_ext.tracing.sizes import Shape, Size
from linalg_ext.tracing.slicing import Part, extracted, part_of
from linalg_ext.tracing.traced import Number, Traced, xp
from linalg_ext.tracing.unsupported import refuse


def indexed(value: Traced, index: Any) -> Traced:
    """The part of a value that an index names."""
    items = expanded(value, index)
    if any(is_array(item) for item in items):
        return _by_arrays(value, items)
    return _by_slices(value, items)


def expanded(value: Traced, index: Any) -> list[Any]:
    """An index as a list with an item for each axis, and None for each new one.

    Raises:
        ShapeError: too many.
        TraceError: a mask, whose result has a shape that depends on its values.
    """
    given = list(index) if isinstance(index, tuple) else [index]
    items: list[Any] = []
    for item in given:
        items += _normal_item(item)
    count = sum(item is not None and item is not Ellipsis for item in items)
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    if count > value.ndim or len(places) > 1:
        raise ShapeError(
            f"{count} indices for an array of rank {value.ndim}"
            if len(places) < 2
            else "an index with two ellipses",
            where=caller_location(),
        )
    fill = [slice(None)] * (value.ndim - count)
    if not places:
        return items + fill
    return items[: places[0]] + fill + items[places[0] + 1 :]


def _normal_item(item: Any) -> list[Any]:
    if item is None or item is Ellipsis or isinstance(item, slice | Size):
        return [item]
    if isinstance(item, Traced):
        if item.dtype == np.bool_:
            refuse(
                "an index by a mask that is traced: the shape of the result depends on its values",
                "write np.where(mask, x, otherwise), or say how many: x[lx.nonzero(mask, size=n)]; "
                "to replace, x[mask] = value",
            )
        return [item]
    if isinstance(item, bool | np.bool_):
        refuse(f"an index by {item}", "write x[None] for an axis of size 1")
    if isinstance(item, list):
        return (
            _normal_item(np.asarray(item, np.int64 if not item else None))
            if not any(isinstance(each, Traced) for each in item)
            else [xp.stack(item)]
        )
    if isinstance(item, np.ndarray):
        if item.dtype == np.bool_:
            return list(item.nonzero())
        if item.dtype.kind in "iu":
            return [item] if item.ndim else [int(item)]
    if hasattr(item, "__index__"):
        return [item.__index__()]
    raise ArgumentError(
        f"an index by {item!r}",
        where=caller_location(),
        expected="integers, slices, None, `...` and integer arrays",
    )


def is_array(item: Any) -> bool:
    """Return whether an item of an index is an array of places."""
    return isinstance(item, np.ndarray) or (isinstance(item, Traced) and item.ndim > 0)


def is_whole(item: Any) -> bool:
    """Return True for the slice of all that there is."""
    return isinstance(item, slice) and item.start is item.stop is item.step is None


def parts_of(value: Traced, items: Sequence[Any]) -> list[Part]:
    """Return the part of each axis that integers and slices select."""
    own = [item for item in items if item is not None]
    return [
        part_of(item, size, axis)
        for axis, (item, size) in enumerate(zip(own, value.shape, strict=True))
    ]


def _by_slices(value: Traced, items: Sequence[Any]) -> Traced:
    parts = parts_of(value, items)
    found = extracted(value, parts)
    left = [part for part in parts if not part.is_dropped]
    backwards = tuple(axis for axis, part in enumerate(left) if part.is_backwards)
    if backwards:
        found = flip(found, backwards)
    kept = [item for item in items if not _is_integer(item)]
    new = [axis for axis, item in enumerate(kept) if item is None]
    return with_axes_of_one(found, new, len(kept)) if new else found


def _is_integer(item: Any) -> bool:
    return item is not None and not isinstance(item, slice) and not is_array(item)


def _by_arrays(value: Traced, items: Sequence[Any]) -> Traced:
    """NumPy's advanced indexing: integers count as arrays beside arrays."""
    plain = [
        slice(None) if item is not None and not isinstance(item, slice) else item for item in items
    ]
    base = _by_slices(value, plain)
    chosen = [
        axis for axis, item in enumerate(items) if item is not None and not isinstance(item, slice)
    ]
    arrays = [places_in(items[axis], base.shape[axis], axis) for axis in chosen]
    block = broadcast_shapes(
        "index arrays", [array.shape for array in arrays if isinstance(array, Traced)]
    )
    is_together = chosen == list(range(chosen[0], chosen[0] + len(chosen)))
    first = chosen[0] if is_together else 0
    kept = [axis for axis in range(base.ndim) if axis not in chosen]
    before, after = [a for a in kept if a < first], [a for a in kept if a >= first]
    shape: Shape = (
        *(base.shape[axis] for axis in before),
        *block,
        *(base.shape[axis] for axis in after),
    )
    where_kept = {axis: place for place, axis in enumerate(before)}
    where_kept |= {axis: len(before) + len(block) + n for n, axis in enumerate(after)}
    tensors = [_aligned(array, len(after)) for array in arrays if isinstance(array, Traced)]

    def places(positions: list[Element], elements: list[Element]) -> list[Element]:
        given = iter(elements)
        found = {
            axis: next(given)
            if isinstance(array, Traced)
            else positions[0].like(array.value)
            if positions
            else elements[0].like(array.value)
            for axis, array in zip(chosen, arrays, strict=True)
        }
        return [
            found[axis] if axis in found else positions[where_kept[axis]]
            for axis in range(base.ndim)
        ]

    return gathered(base, tensors, shape, places)


def _aligned(array: Traced, trailing: int) -> Traced:
    rank = array.ndim + trailing
    return with_axes_of_one(array, range(array.ndim, rank), rank)


def places_in(index: Any, size: Any, axis: int) -> Traced | Number:
    """An index array as places from 0 to a size, checked to be there.

    A constant is checked at once, a traced one by the run: then a wrong one is an ExecutionError.
    """
    if not isinstance(index, Traced) and not isinstance(size, Size):
        array = np.asarray(index)
        if ((array < -size) | (array >= size)).any():
            raise ShapeError(
                f"an index of axis {axis}, of size {size}, is out of bounds",
                where=caller_location(),
            )
        wrapped = np.where(array < 0, array + size, array).astype(np.int64)
        return as_traced(wrapped) if wrapped.ndim else Number(int(wrapped), INT64)
    traced = cast_to(index, INT64)
    if traced.dtype.kind not in "iu":
        refuse(f"an index by {index!r}", "give an integer array")
    limit = as_traced(size if isinstance(size, Size) else np.int64(size))

    def wrap(x: Element, n: Element) -> Element:
        return select(x < 0, x + n, x)

    wrapped_places = pointwise("index", wrap, [traced, limit], INT64)
    check_bounds(wrapped_places, limit)
    return wrapped_places


def check_bounds(places: Traced, limit: Traced) -> None:
    """Have the run check that places are from 0 to a limit."""
    demand(xp.all((places >= 0) & (places < limit)), "an index is out of bounds")
