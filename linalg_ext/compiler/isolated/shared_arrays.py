"""Arrays in memory that two processes share: a file without a name, described in plain data.

An array keeps its strides: what a view of a larger array looks like, its copy looks like too.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, LayoutError
from linalg_ext.runtime.dtypes import DType, by_dtype, dtype_named

Array = np.ndarray[Any, Any]
Plain = Any
"""What JSON can hold."""

_ALIGNED = 64


class SharedBlock:
    """Memory that a file descriptor stands for.

    Attributes:
        descriptor: to be handed to the other process, and closed here.
    """

    def __init__(self, descriptor: int) -> None:
        """Map all of a file."""
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)

    def array(self, data: Plain) -> Array:
        """The array that `data` describes. It keeps the memory."""
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


def share(values: Sequence[Any]) -> tuple[SharedBlock, list[Plain]]:
    """Copy arrays into a new block.

    Args:
        values: arrays, NumPy's scalars and Python's numbers, and lists of numbers.

    Returns:
        The block, and for each value what `received` makes it of again.

    Raises:
        ArgumentError, DTypeError: a value is none of these.
    """
    plain: list[Plain] = []
    arrays: list[tuple[Plain, Array]] = []
    size = 0
    for number, value in enumerate(values):
        described = _number(value) if not isinstance(value, np.ndarray | np.generic) else None
        if described is None:
            array = _checked(value, number)
            low, high = _extent(array)
            described = {
                "kind": "array" if isinstance(value, np.ndarray) else "scalar",
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
            values.append(array if data["kind"] == "array" else array[()])
    return values


def _number(value: Any) -> Plain | None:
    """Python's numbers, and nested lists of them, as plain data."""
    if isinstance(value, complex):
        return {"kind": "complex", "value": [value.real, value.imag]}
    return {"kind": "number", "value": value} if _is_plain(value) else None


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, bool | int | float)


def _checked(value: Any, number: int) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            f"argument {number} is a masked array",
            cure="fill it first: array.filled(value)",
        )
    if not isinstance(value, np.ndarray | np.generic):
        raise ArgumentError(
            f"argument {number} is a {type(value).__name__}", expected="an array or a number"
        )
    array = np.asarray(value)
    by_dtype(array.dtype if array.dtype.isnative else array.dtype.newbyteorder("="))
    return array


def _extent(array: Array) -> tuple[int, int]:
    """Where an array begins and ends, in bytes from its first element."""
    if not array.size:
        return 0, 0
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low = sum(step for step in steps if step < 0)
    high = sum(step for step in steps if step > 0) + array.itemsize
    if high - low > max(64 * array.nbytes, 1 << 30):
        raise LayoutError(
            f"an array of {array.nbytes} bytes is strewn over {high - low}",
            cure="pass a contiguous copy of it",
        )
    return low, high


def _dtype_text(dtype: DType) -> str:
    # Those that were added to NumPy have no text of the array protocol's.
    return dtype.name if dtype.isbuiltin == 2 else dtype.str


def _dtype(text: str) -> DType:
    return np.dtype(text) if text[0] in "<>|=" else dtype_named(text)


def _file(size: int) -> int:
    """The descriptor of a new file of zeros that has no name."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("linalg_ext")
    else:
        descriptor, name = tempfile.mkstemp()
        os.unlink(name)
    os.truncate(descriptor, size)
    return descriptor
