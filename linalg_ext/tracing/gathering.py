"""Elements at the places that integer arrays name: take, take_along_axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.tracing.axes import normal_axis
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.shaping import ravel, reshape
from linalg_ext.tracing.traced import Traced, xp
from linalg_ext.tracing.unsupported import refuse, refuse_out


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Traced:
    """`numpy.take`; where a traced index is out of bounds, the call raises an ExecutionError."""
    refuse_out("take", out)
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
        index.append(reshape(np.arange(size.__index__()), tuple(ones)))
    return tuple(index)
