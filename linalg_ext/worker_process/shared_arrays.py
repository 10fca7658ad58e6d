"""Arrays in memory that two processes share: a file without a name, described in plain data.

An array keeps its strides: what a view of a larger array looks like, its copy looks like too.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linalg_ext.errors import LayoutError
from linalg_ext.executable.conversion import as_array, is_python_number
from linalg_ext.runtime.dtypes import DType, dtype_named

Array = np.ndarray[Any, Any]
Plain = Any
"""A value that JSON can represent."""

_ALIGNED = 64


class SharedBlock:
    """Memory that a file descriptor stands for.

    Attributes:
        descriptor: to be handed to the other process, and closed here.
    """

    def __init__(self, descriptor: int) -> None:
        """Map all of a file, which from now on keeps its size in all processes."""
        self.descriptor = descriptor
        if hasattr(fcntl, "F_ADD_SEALS"):
            # Without them the other process could take away memory that this one reads.
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self._memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)

    def array(self, data: Plain) -> Array:
        """The array that `data` describes. It keeps the memory.

        Raises:
            ValueError: it does not lie within the memory.
        """
        array: Array = np.ndarray(
            tuple(data["shape"]),
            _dtype(data["dtype"]),
            buffer=self._memory,
            offset=data["offset"],
            strides=tuple(data["strides"]),
        )
        array.flags.writeable = data["writable"]
        return array

    def close(self) -> None:
        """Close the file; what is mapped stays as long as an array needs it."""
        os.close(self.descriptor)


def taken(value: Any, name: str) -> Any:
    """An argument as `share` takes it: an array without a copy, where it is one.

    Raises:
        ArgumentError, DTypeError: no array and no number; `name` is what errors call it.
    """
    if isinstance(value, list | tuple) or is_python_number(value):
        return value
    if isinstance(value, np.generic):
        as_array(value, name)
        return value
    if hasattr(value, "__index__") and not hasattr(value, "__array__"):
        return value.__index__()
    return as_array(value, name)


def share(values: Sequence[Any]) -> tuple[SharedBlock, list[Plain]]:
    """Copy arrays into a new block.

    Args:
        values: arrays, NumPy's scalars and Python's numbers, and lists of numbers.

    Returns:
        The block, and for each value what `received` makes of it again.

    Raises:
        ArgumentError, DTypeError: a value is none of these.
    """
    plain: list[Plain] = []
    arrays: list[tuple[Plain, Array]] = []
    size = 0
    for number, value in enumerate(values):
        described = _number(value)
        if described is None:
            kind, array = _as_array(value, f"argument {number}")
            low, high = _extent(array)
            described = {
                "kind": kind,
                "dtype": _dtype_text(array.dtype),
                "shape": array.shape,
                "strides": array.strides,
                "offset": size - low,
                "writable": bool(array.flags.writeable),
            }
            arrays.append((described, array))
            size = -(-(size + high - low) // _ALIGNED) * _ALIGNED
        plain.append(described)
    block = SharedBlock(_file(max(size, 1)))
    for described, array in arrays:
        np.copyto(block.array({**described, "writable": True}), array)
    return block, plain


def received(block: SharedBlock, plain: Sequence[Plain]) -> list[Any]:
    """The values that `share` was given; arrays lie in the block."""
    values: list[Any] = []
    for data in plain:
        if data["kind"] == "number":
            values.append(data["value"])
        elif data["kind"] == "complex":
            values.append(complex(*data["value"]))
        else:
            array = block.array(data)
            values.append(_MADE_OF[data["kind"]](array))
    return values


_MADE_OF: dict[str, Callable[[Array], Any]] = {
    "array": lambda array: array,
    "scalar": lambda array: array[()],
    "list": lambda array: array.tolist(),
}


def _number(value: Any) -> Plain | None:
    """Python's numbers, and nested lists of them, as plain data."""
    if isinstance(value, np.generic):
        return None
    if isinstance(value, complex):
        return {"kind": "complex", "value": [value.real, value.imag]}
    return {"kind": "number", "value": value} if _is_plain(value) else None


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, bool | int | float)


def _as_array(value: Any, name: str) -> tuple[str, Array]:
    if isinstance(value, np.ndarray):
        return "array", np.asarray(value)
    if isinstance(value, np.generic):
        return "scalar", np.asarray(value)
    # A list with numbers of NumPy's in it, or with complex ones.
    array = as_array(value, name)
    return "list", array


def _extent(array: Array) -> tuple[int, int]:
    """Return the start and the end of an array, in bytes from its first element.

    Raises:
        LayoutError: the span exceeds both 1 GiB and 64 times the bytes of the array.
    """
    if not array.size:
        return 0, 0
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low = sum(step for step in steps if step < 0)
    high = sum(step for step in steps if step > 0) + array.itemsize
    if high - low > max(64 * array.nbytes, 1 << 30):
        raise LayoutError(
            f"an array of {array.nbytes} bytes is strewn over {high - low}",
            hint="pass a contiguous copy of it",
        )
    return low, high


def _dtype_text(dtype: DType) -> str:
    # Those that were added to NumPy have no text of the array protocol's.
    return dtype.name if dtype.isbuiltin == 2 else dtype.str


def _dtype(text: str) -> DType:
    dtype = np.dtype(text) if text[0] in "<>|=" else dtype_named(text)
    if dtype.hasobject:
        raise ValueError(f"{text} is no dtype of numbers")
    return dtype


def _file(size: int) -> int:
    """The descriptor of a new file of zeros that has no name."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("linalg_ext", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    else:
        descriptor, name = tempfile.mkstemp()
        os.unlink(name)
    os.truncate(descriptor, size)
    return descriptor
