"""Parts of values, and values put into others: hsplit, insert, delete, resize, block, choose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, ShapeError, caller_location
from linalg_ext.tracing.axes import normal_axis
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.concatenation import concatenate, split, stack
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.emission import demand
from linalg_ext.tracing.traced import Traced, xp
from linalg_ext.tracing.ufuncs import fitted
from linalg_ext.tracing.unsupported import refuse


def hsplit(ary: Any, indices_or_sections: Any) -> list[Traced]:
    """`numpy.hsplit`."""
    value = as_traced(ary)
    return split(value, indices_or_sections, 0 if value.ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Traced]:
    """`numpy.vsplit`."""
    return split(_of_rank("vsplit", ary, 2), indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Traced]:
    """`numpy.dsplit`."""
    return split(_of_rank("dsplit", ary, 3), indices_or_sections, 2)


def _of_rank(name: str, value: Any, rank: int) -> Traced:
    found = as_traced(value)
    if found.ndim < rank:
        raise ShapeError(
            f"{name} of an array of rank {found.ndim}",
            where=caller_location(),
            expected=f"rank {rank} or more",
        )
    return found


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Traced, ...]:
    """`numpy.unstack`."""
    value = as_traced(x)
    front = xp.moveaxis(value, normal_axis(axis, value.ndim, "unstack"), 0)
    return tuple(front[place] for place in range(front.shape[0].__index__()))


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Traced:
    """`numpy.insert`, at places that are known."""
    value, place, size = _cut("insert", arr, obj, axis)
    new = fitted(values, value.dtype)
    rest = (*value.shape[:place], *value.shape[place + 1 :])
    is_one = hasattr(obj, "__index__")
    if is_one and new.ndim == value.ndim:
        count = new.shape[place].__index__()
    else:
        count = 1 if is_one else len(np.arange(size)[obj] if isinstance(obj, slice) else obj)
        if is_one and new.ndim:
            new = xp.expand_dims(new, place)
        elif new.ndim and count == 1 and place == value.ndim - 1:
            count = new.shape[-1].__index__()  # one place may be given many
    new = xp.broadcast_to(new, (*rest[:place], count, *rest[place:]))
    both = concatenate([value, new], place)
    where: Any = [obj] * count if is_one else obj
    try:
        order = np.insert(np.arange(size), where, size + np.arange(count))
    except (IndexError, ValueError) as error:
        raise ArgumentError(f"insert: {error}", where=caller_location()) from None
    return xp.take(both, order, place)


def delete(arr: Any, obj: Any, axis: Any = None) -> Traced:
    """`numpy.delete`, at places that are known."""
    value, place, size = _cut("delete", arr, obj, axis)
    try:
        left = np.delete(np.arange(size), obj)
    except IndexError as error:
        raise ArgumentError(f"delete: {error}", where=caller_location()) from None
    return xp.take(value, left, place)


def _cut(name: str, arr: Any, obj: Any, axis: Any) -> tuple[Traced, int, int]:
    """The value that is meant, the axis, and its size."""
    if isinstance(obj, Traced):
        refuse(f"numpy.{name} at traced places", "make them static, or use np.where")
    value = xp.ravel(as_traced(arr)) if axis is None else as_traced(arr)
    place = 0 if axis is None else normal_axis(axis, value.ndim, name)
    return value, place, value.shape[place].__index__()


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Traced:
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
    places = np.resize(np.arange(value.shape[0].__index__()), new_shape)
    return value[places]


def block(arrays: Any) -> Traced:
    """`numpy.block`: lists of lists, the innermost along the last axis."""
    depth = _depth(arrays)
    rank = max(depth, *(each.ndim for each in _leaves(arrays)))

    def joined(part: Any, level: int) -> Traced:
        if not isinstance(part, list):
            value = as_traced(part)
            return xp.reshape(value, ((1,) * (rank - value.ndim) + tuple(value.shape)))
        if not part:
            raise ArgumentError("block of an empty list", where=caller_location())
        return concatenate([joined(each, level + 1) for each in part], rank - depth + level)

    return joined(arrays, 0)


def _depth(part: Any) -> int:
    return 1 + max(map(_depth, part), default=0) if isinstance(part, list) else 0


def _leaves(part: Any) -> list[Traced]:
    if not isinstance(part, list):
        return [as_traced(part)]
    return [leaf for each in part for leaf in _leaves(each)]


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Traced:
    """`numpy.choose`; where a place is out of bounds, the call raises an ExecutionError."""
    if isinstance(choices, Traced):
        choices = list(unstack(choices))
    values = xp.broadcast_arrays(as_traced(a), *choices)
    place, *others = values
    if mode == "clip":
        place = xp.clip(place, 0, len(others) - 1)
    elif mode == "wrap":
        place = xp.remainder(place, len(others))
    elif mode != "raise":
        refuse(f"numpy.choose with mode={mode!r}", "use raise, clip or wrap")
    return xp.take_along_axis(stack(others), place[None], 0)[0]


def ix_(*args: Any) -> tuple[Traced, ...]:
    """`numpy.ix_`."""
    count = len(args)
    if any(as_traced(each).dtype == np.bool_ for each in args):
        refuse(
            "numpy.ix_ of a traced mask",
            "the shape of the result depends on the values: give places",
        )
    return tuple(
        xp.expand_dims(
            xp.ravel(as_traced(each)), tuple(axis for axis in range(count) if axis != place)
        )
        for place, each in enumerate(args)
    )


def unravel_index(indices: Any, shape: Sequence[int], order: str = "C") -> tuple[Traced, ...]:
    """`numpy.unravel_index`; a number that is no place in the shape is an error of the run."""
    sizes = [shape] if hasattr(shape, "__index__") else list(shape)
    left, found = as_traced(indices), list[Traced]()
    is_place = (left >= 0) & (left < math.prod(map(int, sizes)))
    demand(xp.all(is_place), f"unravel_index: an index is out of bounds for shape {tuple(sizes)}")
    for size in sizes if order == "F" else reversed(sizes):
        found.append(cast_to(xp.remainder(left, size), np.int64))
        left = xp.floor_divide(left, size)
    return tuple(found if order == "F" else reversed(found))


def rollaxis(a: Any, axis: int, start: int = 0) -> Traced:
    """`numpy.rollaxis`."""
    value = as_traced(a)
    place = normal_axis(axis, value.ndim, "rollaxis")
    goal = start + value.ndim if start < 0 else start
    return xp.moveaxis(value, place, goal - (place < goal))


def diagflat(v: Any, k: int = 0) -> Traced:
    """`numpy.diagflat`."""
    return xp.diag(xp.ravel(as_traced(v)), k)


def shifted(sign: int) -> Any:
    """`numpy.fft.fftshift` and its inverse."""

    def shift(x: Any, axes: Any = None) -> Traced:
        value = as_traced(x)
        chosen = range(value.ndim) if axes is None else np.atleast_1d(axes).tolist()
        if not value.ndim:
            raise ShapeError("fftshift of an array of rank 0", where=caller_location())
        for axis in chosen:
            size = value.shape[axis].__index__()
            value = xp.roll(value, size // 2 if sign > 0 else -(size // 2), axis)
        return value

    return shift
