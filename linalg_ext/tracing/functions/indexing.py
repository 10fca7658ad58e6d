"""`x[...]` of a traced value, and elements at places: take, take_along_axis, sliding_window_view.

An index is of integers, slices, None and `...`, and of arrays of integers, as NumPy's. `x[mask]` of
a traced mask is a selection, whose number of elements only a call tells.

x[x < 0] *= -1              # computed everywhere, and written where the mask is true
y = x[x > 0].sum()          # reductions leave the others out
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from linalg_ext.definition.initial import neutral_element
from linalg_ext.errors import (
    ArgumentError,
    DTypeError,
    ShapeError,
    SourceLocation,
    TraceError,
    caller_location,
)
from linalg_ext.tracing.functions.creation import arange
from linalg_ext.tracing.functions.shaping import along, as_shape, flip, ravel, with_axes_of_one
from linalg_ext.tracing.functions.slicing import Part, extracted, part_of
from linalg_ext.tracing.values.axes import normal_axis
from linalg_ext.tracing.values.conversion import as_traced, cast_to, holds_traced
from linalg_ext.tracing.values.elements import INT64, Element, select
from linalg_ext.tracing.values.emission import (
    broadcast_shapes,
    demand,
    gathered,
    pointwise,
    shape_text,
)
from linalg_ext.tracing.values.sizes import Shape, Size
from linalg_ext.tracing.values.traced import Number, Traced, current_trace, xp
from linalg_ext.tracing.values.unsupported import refuse


def indexed(value: Traced, index: Any) -> Traced:
    """Return the part of a value that an index names."""
    items = expanded(value, index)
    if any(is_array(item) for item in items):
        return _by_arrays(value, items, index)
    return _by_slices(value, items)


def block_axis(index: Any, chosen: Sequence[int]) -> int:
    """Return the axis at which those of index arrays come, in the place of the chosen axes.

    They come first where a slice, None or `...` stands between the arrays, as NumPy has it; `...`
    parts them where it stands for no axis, too.
    """
    listed = index if isinstance(index, tuple) else (index,)
    at = next((number for number, item in enumerate(listed) if item is ...), 0)
    sides = listed[:at], listed[at + 1 :]
    is_parted = all(any(not isinstance(i, slice) and i is not None for i in s) for s in sides)
    is_one_run = list(chosen) == list(range(chosen[0], chosen[0] + len(chosen)))
    return chosen[0] if is_one_run and not is_parted else 0


def expanded(value: Traced, index: Any) -> list[Any]:
    """Return an index as a list with an item for each axis, and None for each new one.

    Raises:
        ShapeError: too many.
        TraceError: a mask, whose result has a shape that depends on its values.
    """
    listed = [
        np.asarray(item, None if len(item) else np.int64) if _is_plain_sequence(item) else item
        for item in (index if isinstance(index, tuple) else (index,))
    ]
    items: list[Any] = []
    for item in listed:
        items += _normal_item(item)
    count = sum(item is not None and item is not Ellipsis for item in items)
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    if count > value.ndim or len(places) > 1:
        raise ShapeError(
            f"{count} indices for an array of rank {value.ndim}"
            if len(places) < 2
            else "an index with two ellipses"
        )
    fill = [slice(None)] * (value.ndim - count)
    axis = 0
    for item in listed:
        is_mask = isinstance(item, np.ndarray) and item.dtype == np.bool_
        if is_mask:
            _check_mask(item.shape, value.shape[axis:])
        axis += len(fill) if item is Ellipsis else item.ndim if is_mask else item is not None
    if not places:
        return items + fill
    return items[: places[0]] + fill + items[places[0] + 1 :]


def _is_plain_sequence(item: Any) -> bool:
    return isinstance(item, list | tuple | range) and not holds_traced(item)


def _check_mask(own: Shape, shape: Shape) -> None:
    """Refuse a mask of other sizes than those of the axes that it selects from."""
    call = f"an index by a mask of shape {shape_text(own)}"
    if not all(map(partial(current_trace().agree, operation=call), shape, own)):
        raise ShapeError(call, expected=f"the sizes of the axes, {shape_text(shape[: len(own)])}")


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
    if isinstance(item, list | tuple):
        return [as_traced(item)]
    if isinstance(item, np.ndarray):
        if item.dtype == np.bool_:
            return list(item.nonzero())
        if item.dtype.kind in "iu":
            return [item] if item.ndim else [int(item)]
    elif hasattr(item, "__index__"):
        return [item.__index__()]
    raise ArgumentError(
        f"an index by {item!r}", expected="integers, slices, None, `...` and integer arrays"
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
    taken_part = extracted(value, parts)
    left = [part for part in parts if not part.is_dropped]
    backwards = tuple(axis for axis, part in enumerate(left) if part.is_backwards)
    if backwards:
        taken_part = flip(taken_part, backwards)
    other_items = [item for item in items if not _is_integer(item)]
    new = [axis for axis, item in enumerate(other_items) if item is None]
    return with_axes_of_one(taken_part, new, len(other_items)) if new else taken_part


def _is_integer(item: Any) -> bool:
    return item is not None and not isinstance(item, slice) and not is_array(item)


def _by_arrays(value: Traced, items: Sequence[Any], index: Any) -> Traced:
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
    first = block_axis(index, chosen)
    kept_axes = [axis for axis in range(base.ndim) if axis not in chosen]
    before, after = [a for a in kept_axes if a < first], [a for a in kept_axes if a >= first]
    shape: Shape = (
        *(base.shape[axis] for axis in before),
        *block,
        *(base.shape[axis] for axis in after),
    )
    where_kept = {axis: place for place, axis in enumerate(before)}
    where_kept |= {axis: len(before) + len(block) + n for n, axis in enumerate(after)}
    tensors = [_aligned(array, len(after)) for array in arrays if isinstance(array, Traced)]

    def places(positions: list[Element], elements: list[Element]) -> list[Element]:
        remaining = iter(elements)
        by_axis = {
            axis: next(remaining)
            if isinstance(array, Traced)
            else positions[0].like(array.value)
            if positions
            else elements[0].like(array.value)
            for axis, array in zip(chosen, arrays, strict=True)
        }
        return [
            by_axis[axis] if axis in by_axis else positions[where_kept[axis]]
            for axis in range(base.ndim)
        ]

    return gathered(base, tensors, shape, places)


def _aligned(array: Traced, trailing: int) -> Traced:
    rank = array.ndim + trailing
    return with_axes_of_one(array, range(array.ndim, rank), rank)


def places_in(index: Any, size: Any, axis: int) -> Traced | Number:
    """Return an index array as places from 0 to a size, checked to be there.

    A constant is checked at once, a traced one by the run: then a wrong one is an ExecutionError.
    """
    if not isinstance(index, Traced) and not isinstance(size, Size):
        array = np.asarray(index)
        if ((array < -size) | (array >= size)).any():
            raise ShapeError(f"an index of axis {axis}, of size {size}, is out of bounds")
        wrapped = np.where(array < 0, array + size, array).astype(np.int64)
        return as_traced(wrapped) if wrapped.ndim else Number(int(wrapped), INT64)
    traced = cast_to(index, INT64)
    if traced.dtype.kind not in "iu":
        refuse(f"an index by {index!r}", "give an integer array")
    limit = as_traced(size if isinstance(size, Size) else np.int64(size))

    def wrap(x: Element, n: Element) -> Element:
        return select(x < 0, x + n, x)

    wrapped_places = pointwise("index", wrap, [traced, limit], INT64)
    is_inside = (wrapped_places >= 0) & (wrapped_places < limit)
    demand(xp.all(is_inside), "an index is out of bounds")
    return wrapped_places


def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Traced:
    """`numpy.take`; where a traced index is out of bounds, the call raises an ExecutionError."""
    value = ravel(a) if axis is None else as_traced(a)
    place = 0 if axis is None else normal_axis(axis, value.ndim, "take")
    size = value.shape[place]
    places: Any = indices if isinstance(indices, Traced) else np.asarray(indices)
    places = by_mode("take", places, size, mode)
    if isinstance(places, np.ndarray) and not places.ndim:
        places = int(places)
    return value[(*(slice(None),) * place, places)]


def by_mode(name: str, places: Any, size: Any, mode: str) -> Any:
    """Return places along an axis of a size, those beyond it by NumPy's `mode=`."""
    if mode == "clip":
        return xp.clip(places, 0, size - 1)
    if mode == "wrap":
        return xp.remainder(places, size)
    if mode != "raise":
        refuse(f"numpy.{name} with mode={mode!r}", "use raise, clip or wrap")
    return places


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Traced:
    if axis is None:
        arr, axis = ravel(arr), 0
    value = as_traced(arr)
    return value[along_axis("take_along_axis", value, indices, axis)]


def along_axis(name: str, value: Traced, indices: Any, axis: Any) -> tuple[Any, ...]:
    """Return the index that takes other places along one axis, and all of the other axes."""
    places_along = as_traced(indices)
    if places_along.ndim != value.ndim:
        raise ShapeError(
            f"{name} at places of shape {shape_text(places_along.shape)}",
            expected=f"as many axes as the array has, {value.ndim}",
        )
    if places_along.dtype.kind not in "iu":
        raise DTypeError(f"{name} at places of {places_along.dtype}", expected="integers")
    places = cast_to(places_along, np.int64)
    chosen = normal_axis(axis, value.ndim, name)
    return tuple(
        places if number == chosen else along(arange(size), number, value.ndim)
        for number, size in enumerate(value.shape)
    )


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Traced:
    value = as_traced(x)
    sizes = as_shape(window_shape)
    axes = tuple(range(value.ndim)) if axis is None else axis
    axes = axes if isinstance(axes, tuple | list) else (axes,)
    places = [normal_axis(own_axis, value.ndim, "sliding_window_view") for own_axis in axes]
    if len(places) != len(sizes):
        raise ShapeError(
            f"sliding_window_view of windows of shape {shape_text(sizes)} along {len(places)} axes",
            expected="one size for each axis",
        )
    shape = list(value.shape)
    for place, size in zip(places, sizes, strict=True):
        trace = current_trace([value])
        if not trace.at_least(size, 0, "window") or not trace.at_least(
            shape[place], size, "window"
        ):
            raise ShapeError(
                f"a window of {size} along axis {place}, of size {shape[place]}",
                expected="a window that is no larger than the array",
            )
        shape[place] = shape[place] - size + 1

    def at(positions: list[Element], _: list[Element]) -> list[Element]:
        indices = positions[: value.ndim]
        for number, place in enumerate(places):
            indices[place] = indices[place] + positions[value.ndim + number]
        return indices

    return gathered(value, [], (*shape, *sizes), at)


_REDUCTIONS = ("sum", "prod", "mean", "var", "std", "any", "all")
_EXTREMA = {"max": "max_signed", "min": "min_signed", "amax": "max_signed", "amin": "min_signed"}


class Selection(NDArrayOperatorsMixin):
    """The elements of a value where a mask of its shape is true: a copy, as in NumPy.

    Attributes:
        value: all elements.
        mask: the mask.
        line: the place where they are selected.
    """

    __array_priority__ = 2000

    def __init__(self, value: Traced, mask: Traced) -> None:
        self.value, self.mask = value.apart(), mask.apart()
        self.line = caller_location()

    @property
    def dtype(self) -> Any:
        """Return the dtype."""
        return self.value.dtype

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Compute everywhere, with numbers and with selections by an equal mask."""
        out = keywords.pop("out", None)
        is_other = any(
            not isinstance(operand, Selection) and np.ndim(operand) for operand in inputs
        )
        if method != "__call__" or is_other or (out is not None and out[0] is not self):
            self.refuse(f"numpy.{ufunc.__name__} with an array")
        values = [
            self.chosen(operand) if isinstance(operand, Selection) else operand
            for operand in inputs
        ]
        return Selection(ufunc(*values, **keywords), self.mask)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        """Reduce the selected elements: sums, means, extrema."""
        name = function.__name__
        if name not in (*_REDUCTIONS, *_EXTREMA) or arguments != (self,) or keywords:
            self.refuse(f"numpy.{name}")
        if name in _EXTREMA:
            # NumPy raises a ValueError.
            demand(xp.any(self.mask), f"{name} of no elements: the mask is true nowhere")
            keywords = {"initial": neutral_element(_EXTREMA[name], self.dtype)}
        return function(self.value, where=self.mask, **keywords)

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Selection:
        """Return the elements cast."""
        return Selection(self.value.astype(dtype), self.mask)

    def chosen(self, other: Selection) -> Traced:
        """Return all elements of a selection, which has to be by an equal mask."""
        if other.mask.tensor != self.mask.tensor:
            same = xp.all(other.mask == self.mask)
            demand(same, "two selections of elements are by masks that differ")
        return other.value

    def refuse(self, operation: str, line: SourceLocation | None = None) -> NoReturn:
        """Raise the TraceError for a function that needs the number of the elements."""
        raise TraceError(
            f"{operation} of x[mask]: how many elements a traced mask selects is not known",
            where=line or caller_location(),
            hint="write np.where(mask, x, otherwise), or say how many: x[lx.nonzero(mask, size=n)]",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in (*_REDUCTIONS, *_EXTREMA):
            return lambda: getattr(np, name)(self)
        return self.refuse(f"`{name}`")

    def __len__(self) -> NoReturn:
        self.refuse("the length")

    def __getitem__(self, index: Any) -> NoReturn:
        self.refuse(f"the part {index}")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse("an array")
