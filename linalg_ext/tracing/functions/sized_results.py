"""Functions whose results have a shape by the values, with a shape that is told: `size=`.

    (rows,) = lx.nonzero(x > 0, size=8)     # the first 8 places; beyond the last one, `fill_value`

They are NumPy's otherwise, on traced values and on arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, caller_location


def flatnonzero(x: Any, *, size: int, fill_value: Any = 0) -> Any:
    """Return the places of the elements that are not 0 in the row of all elements.

    Args:
        x: an array.
        size: how many places.
        fill_value: stands where there are fewer.

    Returns:
        int64 of shape (size,). Places beyond the first `size` are left out.
    """
    flags = np.ravel(x) != 0
    return _filled(_first_of_each(np.cumsum(flags), size), np.sum(flags), fill_value)


def nonzero(x: Any, *, size: int, fill_value: Any = 0) -> tuple[Any, ...]:
    """Return the places of the elements that are not 0, along each axis: `x[nonzero(x, size=n)]`.

    Args:
        x: an array of rank 1 or more.
        size: how many places.
        fill_value: stands where there are fewer.

    Returns:
        For each axis int64 of shape (size,).
    """
    flags = np.ravel(x) != 0
    flat, shape = _first_of_each(np.cumsum(flags), size), np.shape(x)
    if not shape:
        raise ArgumentError(
            "nonzero of an array of rank 0", where=caller_location(), hint="write x.reshape(1)"
        )
    places = []
    for extent in shape[:0:-1]:
        places.append(flat % extent)
        flat = flat // extent
    return tuple(_filled(place, np.sum(flags), fill_value) for place in (flat, *places[::-1]))


def argwhere(x: Any, *, size: int, fill_value: Any = 0) -> Any:
    """Return the places of the elements that are not 0, one a row.

    Args:
        x, size, fill_value: as of `nonzero`.

    Returns:
        int64 of shape (size, rank of x).
    """
    return np.stack(nonzero(x, size=size, fill_value=fill_value), axis=1)


def unique(
    x: Any,
    *,
    size: int,
    fill_value: Any = None,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """Return the values of an array in order, each once; NaN is one value.

    Args:
        x: an array with elements.
        size: how many values.
        fill_value: stands where there are fewer; the least value for None.
        return_index: also the place of the first of each value in the row of all elements.
        return_inverse: also, in the shape of x, which of the values each element is.
        return_counts: also how often each value comes; 0 where there are fewer.

    Returns:
        Of shape (size,), and so are places and counts. Values beyond the first `size` are left out.
    """
    flat = np.ravel(x)
    if isinstance(flat.shape[0], int) and not flat.shape[0]:
        raise ArgumentError("unique of no elements", where=caller_location())
    order = np.argsort(flat, kind="stable")
    values = np.take(flat, order)
    differs = values[1:] != values[:-1]
    if np.dtype(values.dtype).kind in "fc":
        differs = differs & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    running = np.cumsum(np.concatenate([np.ones(1, bool), differs]))
    starts = _first_of_each(running, size + 1)
    first = np.minimum(starts[:-1], values.shape[0] - 1)
    least = values[0] if fill_value is None else fill_value
    results = [_filled(np.take(values, first), running[-1], least)]
    if return_index:
        results.append(_filled(np.take(order, first), running[-1], 0))
    if return_inverse:
        results.append(np.reshape(np.take(running - 1, np.argsort(order)), np.shape(x)))
    if return_counts:
        results.append(starts[1:] - starts[:-1])
    return results[0] if len(results) == 1 else tuple(results)


def _first_of_each(running: Any, size: Any) -> Any:
    """Return the first places where a count is 1, 2, ...; then the number of places."""
    if not hasattr(size, "__index__") or size.__index__() < 0:
        raise ArgumentError(
            f"size={size!r}", where=caller_location(), expected="an integer of 0 or more"
        )
    return np.searchsorted(running, np.arange(1, size + 1))


def _filled(values: Any, count: Any, fill_value: Any) -> Any:
    is_there = np.arange(values.shape[0]) < count
    fill = fill_value if hasattr(fill_value, "astype") else np.asarray(fill_value)
    return np.where(is_there, values, fill.astype(values.dtype))
