"""NumPy's functions that write into their first argument: copyto, put, fill_diagonal, add.at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linalg_ext.errors import DTypeError, ShapeError, caller_location
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.emission import shape_text
from linalg_ext.tracing.gathering import along_axis
from linalg_ext.tracing.shaping import reshape
from linalg_ext.tracing.splitting import resize
from linalg_ext.tracing.traced import Traced, current_trace, xp
from linalg_ext.tracing.ufuncs import fitted, resolve
from linalg_ext.tracing.unsupported import refuse
from linalg_ext.tracing.updates import by_number_of_true, replaced, updated


def _target(name: str, value: Any) -> Traced:
    if not isinstance(value, Traced):
        refuse(
            f"numpy.{name} into an array of outside, or into none",
            "make the array inside the function, with np.zeros or np.empty; or take a copy of it",
        )
    value.check_writable()
    return value


def add_at(ufunc: Any, a: Any, indices: Any, values: Any = None) -> None:
    """`ufunc.at`, one element after another."""
    target = _target(f"{ufunc.__name__}.at", a)
    operands = [target] if ufunc.nin == 1 else [target, values]
    result = resolve(ufunc, operands)[-1]
    if not np.can_cast(result, target.dtype, "same_kind"):
        raise DTypeError(
            f"{ufunc.__name__}.at: a result of {result} does not go into an array of "
            f"{target.dtype}",
            where=caller_location(),
            hint="cast the values with .astype(...)",
        )

    def combine(before: Any, new: Any) -> Any:
        return ufunc(before) if ufunc.nin == 1 else ufunc(before, new)

    target.become(updated(target, indices, combine, 0 if ufunc.nin == 1 else values))


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """`numpy.copyto`."""
    target = _target("copyto", dst)
    source = as_traced(src) if isinstance(src, Traced) else fitted(src, target.dtype)
    if not np.can_cast(source.dtype, target.dtype, casting):
        raise DTypeError(
            f"copyto of {source.dtype} into an array of {target.dtype}",
            where=caller_location(),
            hint="cast the values with .astype(...), or say casting='unsafe'",
        )
    new = xp.broadcast_to(cast_to(source, target.dtype), target.shape)
    target.become(new if where is True else xp.where(where, new, target))


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """`numpy.put`: the last value counts where an index comes twice."""
    target = _target("put", a)
    index = xp.ravel(ind) if isinstance(ind, Traced) else np.ravel(ind)
    size = target.size
    if mode == "clip":
        index = np.clip(index, 0, size - 1)
    elif mode == "wrap":
        index = index % size
    elif mode != "raise":
        refuse(f"numpy.put with mode={mode!r}", "use raise, clip or wrap")
    values = fitted(v, target.dtype)
    if not index.shape[0]:
        return
    flat = reshape(target, (size,))
    new = updated(flat, index, replaced, resize(values, index.shape))
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
    """A mask in the shape of what is written, which has as many elements."""
    given = cast_to(mask, bool)
    if not current_trace().agree(given.size, target.size, f"{name} by a mask"):
        raise ShapeError(
            f"{name} by a mask of shape {shape_text(given.shape)}",
            where=caller_location(),
            expected=f"as many elements as the array of shape {shape_text(target.shape)} has",
        )
    return reshape(given, target.shape)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """`numpy.fill_diagonal`."""
    target = _target("fill_diagonal", a)
    sizes = [size.__index__() for size in target.shape]
    if len(sizes) < 2 or (len(sizes) > 2 and len(set(sizes)) > 1):
        raise ShapeError(
            f"fill_diagonal of an array of shape {target.shape}",
            where=caller_location(),
            expected="two axes, or several of one size",
        )
    step = 1 + sum(int(np.prod(sizes[place:])) for place in range(1, len(sizes)))
    end = None if wrap or len(sizes) > 2 else sizes[1] * sizes[1]
    flat = reshape(target, (target.size,))
    index = slice(None, end, step)
    count = len(range(*index.indices(target.size)))
    values = fitted(val, target.dtype)
    if not count:
        return
    new = updated(flat, index, replaced, resize(values, (count,)))
    target.become(reshape(new, target.shape))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    """`numpy.put_along_axis`."""
    target = _target("put_along_axis", arr)
    if axis is None:
        flat = reshape(target, (target.size,))
        target.become(reshape(updated(flat, indices, replaced, values), target.shape))
        return
    index = along_axis("put_along_axis", target, indices, axis)
    target.become(updated(target, index, replaced, values))


WRITERS: Mapping[Any, Callable[..., None]] = {
    np.copyto: copyto,
    np.put: put,
    np.putmask: putmask,
    np.place: place,
    np.fill_diagonal: fill_diagonal,
    np.put_along_axis: put_along_axis,
}
"""NumPy's functions that give nothing, and the records of what they do to their first argument."""
