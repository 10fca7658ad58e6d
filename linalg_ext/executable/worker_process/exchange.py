"""Plain data between a process and its worker processes: arrays, errors, limits, cache entries.

Arrays lie in memory that two processes share: a file without a name. A copy of an array keeps its
strides, even those of a view of a larger array.

A worker process reads and writes no cache. It sends its entries to its parent, which puts all
entries of a kernel into one. The files of that entry have other names than those of kernels: code
that a worker process made runs in worker processes only.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import resource
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linalg_ext import errors
from linalg_ext.cache.store import Entry
from linalg_ext.errors import ArgumentError, CrashError, IRError, LayoutError, LinalgExtError
from linalg_ext.executable.arguments import as_array, is_python_number
from linalg_ext.runtime import kernel_cache
from linalg_ext.runtime.dtypes import DType, dtype_named
from linalg_ext.runtime.helper_process import lower_limit

Array = np.ndarray[Any, Any]
Plain = Any
"""A value that JSON can represent."""

_ALIGNMENT = 64


class SharedBlock:
    """Memory behind a file descriptor.

    Attributes:
        descriptor: it is sent to the other process, and closed in this one.
    """

    def __init__(self, descriptor: int) -> None:
        """Map all of a file, which from now on keeps its size in all processes."""
        self.descriptor = descriptor
        if hasattr(fcntl, "F_ADD_SEALS"):
            # Without seals the other process could take away memory that this one reads.
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self._memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)

    def array(self, data: Plain) -> Array:
        """Return the array that `data` describes; a ValueError where it exceeds the memory."""
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
        """Close the file; the mapping lives as long as its arrays."""
        os.close(self.descriptor)


def as_shareable(value: Any, name: str) -> Any:
    """Return an argument as `share` takes it, arrays without a copy; or raise an ArgumentError."""
    if isinstance(value, list | tuple) or is_python_number(value):
        return value
    if isinstance(value, np.generic):
        as_array(value, name)
        return value
    if hasattr(value, "__index__") and not hasattr(value, "__array__"):
        return value.__index__()
    return as_array(value, name)


def share(values: Sequence[Any]) -> tuple[SharedBlock, list[Plain]]:
    """Copy values into a new block: arrays, NumPy's scalars, Python's numbers and lists of them.

    Returns:
        The block, and for each value the data from which `received` rebuilds it.

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
            size = -(-(size + high - low) // _ALIGNMENT) * _ALIGNMENT
        plain.append(described)
    block = SharedBlock(_file(max(size, 1)))
    for described, array in arrays:
        np.copyto(block.array({**described, "writable": True}), array)
    return block, plain


def received(block: SharedBlock, plain: Sequence[Plain]) -> list[Any]:
    """Return the values that `share` sent; arrays lie in the block."""
    values: list[Any] = []
    for data in plain:
        if data["kind"] == "number":
            values.append(data["value"])
        elif data["kind"] == "complex":
            values.append(complex(*data["value"]))
        else:
            array = block.array(data)
            values.append(_REBUILD[data["kind"]](array))
    return values


_REBUILD: dict[str, Callable[[Array], Any]] = {
    "array": lambda array: array,
    "scalar": lambda array: array[()],
    "list": lambda array: array.tolist(),
}


def _number(value: Any) -> Plain | None:
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

    A LayoutError where the span exceeds both 1 GiB and 64 times the bytes of the array.
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
    # Dtypes of other packages have no text in the array protocol.
    return dtype.name if dtype.isbuiltin == 2 else dtype.str


def _dtype(text: str) -> DType:
    dtype = np.dtype(text) if text[0] in "<>|=" else dtype_named(text)
    if dtype.hasobject:
        raise ValueError(f"{text} is not a dtype of numbers")
    return dtype


def _file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("linalg_ext", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    else:
        descriptor, name = tempfile.mkstemp()
        os.unlink(name)
    os.truncate(descriptor, size)
    return descriptor


def error_data(error: BaseException) -> dict[str, Any]:
    """Return an error as JSON."""
    if not isinstance(error, LinalgExtError):
        trace = "".join(traceback.format_exception(error)).splitlines()
        return {"class": None, "what": f"{type(error).__name__}: {error}", "notes": trace}
    return {
        "class": type(error).__name__,
        "what": error.what,
        "where": None if error.where is None else str(error.where),
        "expected": error.expected,
        "hint": error.hint,
        "notes": list(error.notes),
    }


def error_of(data: dict[str, Any]) -> LinalgExtError:
    """Rebuild an error, of its own class."""
    kind = getattr(errors, data["class"] or "", None)
    if not (isinstance(kind, type) and issubclass(kind, LinalgExtError)):
        return CrashError(f"a worker process failed with {data['what']}", notes=data["notes"])
    if issubclass(kind, errors.RecognitionError):
        kind = IRError  # its further attributes are not sent
    more = {"diagnostics" if issubclass(kind, IRError) else "notes": data["notes"]}
    return kind(
        data["what"],
        where=data["where"],
        expected=data["expected"],
        hint=data["hint"],
        **more,
    )


_CONTENTS = "apart"
"""The file with the entries of a worker process."""


def entries_data(entries: Sequence[tuple[Entry, str]]) -> tuple[list[dict[str, Any]], bytes]:
    """Return entries and their names as JSON and one block of bytes."""
    described = [
        {
            "key": entry.key,
            "name": name,
            "record": entry.record,
            "files": {file: len(content) for file, content in entry.files.items()},
        }
        for entry, name in entries
    ]
    return described, b"".join(content for entry, _ in entries for content in entry.files.values())


def entries_of(described: Any, contents: bytes) -> list[tuple[Entry, str]]:
    """Return the entries that `entries_data` wrote.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the data has another form.
    """
    entries, start = [], 0
    for data in described:
        files = {}
        for file, size in data["files"].items():
            if type(size) is not int or not 0 <= size <= len(contents) - start:
                raise ValueError(f"{file} has {size} bytes")
            files[file] = contents[start : start + size]
            start += size
        entries.append((Entry(str(data["key"]), data["record"], files), str(data["name"])))
    return entries


def kept_entries(key: str | None) -> list[tuple[Entry, str]]:
    """Return the entries kept for the kernel of a key; none if absent or damaged."""
    entry = kernel_cache.read(key)
    try:
        return [] if entry is None else entries_of(entry.record["kept"], entry.files[_CONTENTS])
    except (AttributeError, KeyError, TypeError, ValueError):
        return []


def keep_entries(key: str | None, entries: Sequence[tuple[Entry, str]]) -> None:
    """Keep all entries of the kernel of a key, in the place of earlier ones."""
    described, contents = entries_data(entries)
    kernel_cache.replace(
        key, f"{entries[0][1]}, isolated", {"kept": described}, {_CONTENTS: contents}
    )


@dataclass(frozen=True)
class Limits:
    """Bounds on a process that runs untrusted code.

    Attributes:
        seconds: of the clock, for one compilation and for each call.
        memory: bytes of data, beyond those of the process when it begins.
        stack: bytes of the stack of the thread that compiles and runs.

    Raises:
        ArgumentError: a bound is not a positive number, or too small or large.
    """

    seconds: float = 60.0
    memory: int = 4 << 30
    stack: int = 8 << 20

    def __post_init__(self) -> None:
        for name in ("seconds", "memory", "stack"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 < value <= _MOST[name]:
                raise ArgumentError(
                    f"{name} is {value!r}",
                    expected=f"a positive number, at most {_MOST[name]}",
                )
        if self.stack < _LEAST_STACK:
            raise ArgumentError(f"stack is {self.stack} bytes", expected=f"at least {_LEAST_STACK}")

    def named(self, error: LinalgExtError) -> LinalgExtError:
        """Add the bound on memory to an error of the process for want of memory; return it."""
        notes = error.diagnostics if isinstance(error, IRError) else error.notes
        if _OF_MEMORY.search("\n".join([error.what, *map(str, notes)])):
            limit = int(self.memory)
            size = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit} bytes"
            error.expected = (
                f"no more than {size} of data on top of the memory that the process begins with"
            )
            error.hint = f"the limit is Limits(memory={limit}): allow more"
        return error


_OF_MEMORY = re.compile(r"bad_alloc|MemoryError|[Oo]ut of memory|no memory|allocate memory|SIGKILL")
"""Messages of a failed allocation; SIGKILL is among them, as the system ends a process by it."""

_MOST = {"seconds": 10**9, "memory": 1 << 60, "stack": 1 << 60}
"""The largest bounds that the system accepts."""

_LEAST_STACK = 256 << 10
"""The least stack on which Python itself runs."""


def apply_limits(limits: Limits) -> None:
    """Bound this process for the rest of its life."""
    lower_limit(resource.RLIMIT_CORE, 0)
    lower_limit(resource.RLIMIT_STACK, int(limits.stack))
    lower_limit(resource.RLIMIT_DATA, _data() + int(limits.memory))


def _data() -> int:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux
        return 0
    match = re.search(r"^VmData:\s*(\d+) kB", status, re.MULTILINE)
    return int(match[1]) << 10 if match else 0
