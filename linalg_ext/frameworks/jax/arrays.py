"""Arrays of JAX as arrays of NumPy in the same memory, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, DTypeError, LayoutError, ShapeError
from linalg_ext.frameworks.jax.requirements import jax

Array = np.ndarray[Any, Any]


def as_array(value: Any, like: Any, name: str) -> Array:
    """Return an argument of a caller as the array that the kernel takes.

    Args:
        value: an array of any kind, or a number.
        like: the shape and the dtype that the function was compiled for.
        name: the name of the argument.

    Raises:
        ArgumentError: the value is no array, or has another shape or dtype.
    """
    try:
        if isinstance(value, jax().Array) and value.is_fully_addressable:
            _refuse_other_devices(value, name)
        found = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} is a {type(value).__name__}, no array: {error}") from error
    wanted = np.dtype(like.dtype)
    if found.dtype != wanted:
        # As JAX takes them: numbers by their kind, and 64 bits as 32 where it has no more.
        is_number = isinstance(value, bool | int | float | complex)
        if not is_number and jax().dtypes.canonicalize_dtype(found.dtype) != wanted:
            raise DTypeError(
                f"{name} is of {found.dtype}",
                expected=f"{wanted}, which the function was compiled for",
                hint=f"convert it: {name}.astype({wanted.name!r})"
                if name.isidentifier()
                else f"convert it with .astype({wanted.name!r})",
            )
        found = found.astype(wanted)
    if found.shape != tuple(like.shape):
        raise ShapeError(
            f"{name} is of shape {found.shape}",
            expected=f"{tuple(like.shape)}, which the function was compiled for",
            hint="compile it again for this shape: lx.from_jax(fn, ...)",
        )
    return found


def as_jax(array: Any) -> Any:
    """An array of the kernel's as one of JAX's; in the same memory where JAX takes it."""
    given = np.asarray(array)
    if given.dtype.isbuiltin == 1 and given.dtype != np.bool_:
        return jax().dlpack.from_dlpack(given)
    return jax().numpy.asarray(given)


def _refuse_other_devices(value: Any, name: str) -> None:
    platforms = {device.platform for device in value.devices()}
    if platforms != {"cpu"}:
        raise LayoutError(
            f"{name} is on {', '.join(sorted(platforms))}",
            expected="an array on the CPU",
            hint="bring it there: jax.device_put(x, jax.devices('cpu')[0])",
        )
