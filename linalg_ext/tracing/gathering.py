"""Elements at places: take, take_along_axis, sliding_window_view."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.errors import ShapeError, caller_location
from linalg_ext.tracing.axes import normal_axis
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.creation import arange
from linalg_ext.tracing.elements import Element
from linalg_ext.tracing.emission import gathered, shape_text
from linalg_ext.tracing.shaping import as_shape, ravel, reshape
from linalg_ext.tracing.traced import Traced, current_trace, xp
from linalg_ext.tracing.unsupported import refuse


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Traced:
    """`numpy.take`; where a traced index is out of bounds, the call raises an ExecutionError."""
    value = ravel(a) if axis is None else as_traced(a)
    place = 0 if axis is None else normal_axis(axis, value.ndim, "take")
    size = value.shape[place]
    found: Any = indices if isinstance(indices, Traced) else np.asarray(indices)
    if mode == "clip":
        found = xp.clip(found, 0, size - 1)
    elif mode == "wrap":
        found = xp.remainder(found, size)
    elif mode != "raise":
        refuse(f"numpy.take with mode={mode!r}", "use raise, clip or wrap")
    if isinstance(found, np.ndarray) and not found.ndim:
        found = int(found)
    return value[(*(slice(None),) * place, found)]


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Traced:
    """`numpy.take_along_axis`."""
    if axis is None:
        return ravel(arr)[indices]
    value = as_traced(arr)
    return value[along_axis("take_along_axis", value, indices, axis)]


def along_axis(name: str, value: Traced, indices: Any, axis: Any) -> tuple[Any, ...]:
    """The index that takes other places along one axis, and along the others each its own."""
    places = cast_to(indices, np.int64)
    along = normal_axis(axis, value.ndim, name)
    index: list[Any] = []
    for number, size in enumerate(value.shape):
        if number == along:
            index.append(places)
            continue
        ones: list[Any] = [1] * value.ndim
        ones[number] = size
        index.append(reshape(arange(size), tuple(ones)))
    return tuple(index)


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Traced:
    """`numpy.lib.stride_tricks.sliding_window_view`."""
    value = as_traced(x)
    sizes = as_shape(window_shape)
    axes = tuple(range(value.ndim)) if axis is None else axis
    axes = axes if isinstance(axes, tuple | list) else (axes,)
    places = [normal_axis(each, value.ndim, "sliding_window_view") for each in axes]
    if len(places) != len(sizes):
        raise ShapeError(
            f"sliding_window_view of windows of shape {shape_text(sizes)} along {len(places)} axes",
            where=caller_location(),
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
                where=caller_location(),
                expected="a window that is no larger than the array",
            )
        shape[place] = shape[place] - size + 1

    def at(positions: list[Element], _: list[Element]) -> list[Element]:
        found = positions[: value.ndim]
        for number, place in enumerate(places):
            found[place] = found[place] + positions[value.ndim + number]
        return found

    return gathered(value, [], (*shape, *sizes), at)
