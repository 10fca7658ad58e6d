"""Parts of arrays of known sizes, at places that only a call tells, as JAX has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.bindings import ir, tensor
from linalg_ext.errors import ShapeError, caller_location
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.elements import INT64
from linalg_ext.tracing.emission import shape_text
from linalg_ext.tracing.regions import as_index
from linalg_ext.tracing.shaping import as_shape
from linalg_ext.tracing.sizes import Shape
from linalg_ext.tracing.slicing import Part, extracted, inserted
from linalg_ext.tracing.trace import at_users_line, running
from linalg_ext.tracing.traced import Traced, current_trace, xp


def dynamic_slice(x: Any, starts: Any, sizes: Sequence[Any]) -> Any:
    """Return the part of an array that begins at some place.

        lx.dynamic_slice(x, (n, 0), (2, 4))     # x[n:n + 2, 0:4]

    Args:
        x: an array.
        starts: for each axis the first place, which may be traced. It is moved so that the part is
            in the array, as in JAX.
        sizes: of the part, which are known.

    Raises:
        ShapeError: there is not one for each axis, or a size is larger than the array's.
    """
    if running() is None:
        places = _plain_starts("dynamic_slice", x, starts, sizes)
        return np.array(np.asarray(x)[places])
    value = as_traced(x)
    return extracted(value, _parts("dynamic_slice", value, starts, as_shape(tuple(sizes)))).apart()


def dynamic_update_slice(x: Any, update: Any, starts: Any) -> Any:
    """Return an array with a part that begins at some place replaced.

        lx.dynamic_update_slice(x, row, (n, 0))

    Args:
        x: an array.
        update: the new part, of the rank of the array; cast to its dtype.
        starts: for each axis the first place, which may be traced. It is moved so that the part is
            in the array, as in JAX.

    Raises:
        ShapeError: there is not one for each axis, or a size is larger than the array's.
    """
    if running() is None:
        changed = np.array(x)
        changed[_plain_starts("dynamic_update_slice", x, starts, np.shape(update))] = update
        return changed
    value = as_traced(x)
    new = cast_to(update, value.dtype)
    return inserted(new, value, _parts("dynamic_update_slice", value, starts, new.shape))


def _plain_starts(name: str, x: Any, starts: Any, sizes: Sequence[int]) -> tuple[slice, ...]:
    shape = np.shape(x)
    _check(name, shape, len(starts), tuple(sizes))
    return tuple(
        slice(place, place + size)
        for place, size in (
            (min(max(int(start), 0), extent - size), size)
            for start, extent, size in zip(starts, shape, sizes, strict=True)
        )
    )


def _parts(name: str, value: Traced, starts: Any, sizes: Shape) -> list[Part]:
    places = [starts[axis] for axis in range(len(starts))]
    _check(name, value.shape, len(places), sizes)
    return [
        Part(_place(start, extent - size), size)
        for start, extent, size in zip(places, value.shape, sizes, strict=True)
    ]


def _place(start: Any, last: Any) -> Any:
    if not isinstance(start, Traced) and isinstance(last, int):
        return min(max(int(start), 0), last)
    with at_users_line():
        place = xp.clip(xp.reshape(cast_to(start, INT64), ()), 0, as_traced(last))
        given: ir.Value = tensor.ExtractOp(place.value, []).result
        return as_index(given)


def _check(name: str, shape: Shape, starts: int, sizes: Shape) -> None:
    fits = len(shape) == starts == len(sizes)
    trace = running()
    for extent, size in zip(shape, sizes, strict=False):
        is_large = extent >= size if trace is None else current_trace().at_least(extent, size, name)
        fits = fits and is_large
    if not fits:
        raise ShapeError(
            f"{name}: {starts} starts, and a part of shape {shape_text(sizes)}, of an array of "
            f"shape {shape_text(shape)}",
            where=caller_location(),
            expected="one start and one size for each axis, and no size beyond the array's",
        )
