"""Arrays of other libraries in a call: they become NumPy's, and results become theirs.

    y = lx.einsum("ij,jk->ik", s, t)     # of torch's tensors: a tensor of torch's
    kernel(s, b, out=t)                  # into a tensor of torch's, which is returned

No memory is copied, in either direction. If all arrays of a call come from one other library, its
results do too; with arrays of NumPy's among them, or of two libraries, results are NumPy's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from linalg_ext.errors import ArgumentError, LayoutError, caller_location
from linalg_ext.runtime.dlpack import exported, from_dlpack, is_exported

_FROM = "from_dlpack"
"""The function's name in the namespace of every library (the Python array API standard)."""


def has_foreign_arrays(values: Iterable[Any], out: Any = None) -> bool:
    """Return whether a call has arrays of other libraries, or an `out=` other than NumPy's."""
    if any(type(value) is not np.ndarray and is_exported(value) for value in values):
        return True
    outs = out if isinstance(out, tuple | list) else (out,)
    return any(_may_be_written(array) for array in outs)


def call_on_foreign_arrays(
    kernel: Callable[..., Any],
    arguments: Sequence[Any],
    name: Callable[[int], str],
    out: Any,
    threads: int | None,
) -> Any:
    """Call a kernel with arrays of other libraries; `name` gives the names for errors."""
    foreign = ForeignArrays()
    arrays = [foreign.array(value, name(index)) for index, value in enumerate(arguments)]
    return foreign.back(kernel(*arrays, out=foreign.place(out, "out"), threads=threads))


class ForeignArrays:
    """The arrays of one call that are of other libraries."""

    def __init__(self) -> None:
        """Begin with none."""
        self._libraries: dict[int, Any] = {}
        self._outs: dict[int, tuple[Any, Any]] = {}

    def array(self, value: Any, name: str) -> Any:
        """Return the memory of an argument as an array of NumPy's; other arguments as they are."""
        if isinstance(value, np.ndarray):
            self._libraries[id(np)] = None
            return value
        if not is_exported(value):
            return value
        library = (
            value.__array_namespace__()
            if hasattr(value, "__array_namespace__")
            else _library(type(value))
        )
        self._libraries[id(library)] = library
        return from_dlpack(value, name)

    def place(self, out: Any, name: str) -> Any:
        """Return the memory of `out=` as an array of NumPy's, or of each array in it.

        A value without memory to write is returned as it is.

        Raises:
            LayoutError: the memory is read-only.
            ArgumentError, DTypeError: as `from_dlpack`.
        """
        if isinstance(out, tuple | list):
            arrays = [self.place(part, f"{name}[{index}]") for index, part in enumerate(out)]
            return type(out)(arrays) if type(out) in (tuple, list) else tuple(arrays)
        if not _may_be_written(out):
            return out
        array = from_dlpack(out, name) if is_exported(out) else np.asarray(_interface(out))
        self._outs[id(array)] = array, out
        if isinstance(out, np.ndarray):
            return array  # a mapped file, which is checked as all arrays are
        if not array.flags.writeable:
            raise LayoutError(
                f"{name} is read-only: a {type(out).__module__}.{type(out).__qualname__} "
                "does not let others write its memory",
                where=caller_location(),
                hint="leave out= away (from JAX's arrays alone comes an array of JAX's), "
                "or pass something writable",
            )
        return array

    def back(self, result: Any) -> Any:
        """Return a result as an array of the caller's library, or the very object of `out=`."""
        if id(result) in self._outs:
            return self._outs[id(result)][1]
        if type(result) is tuple:
            return tuple(map(self.back, result))
        if len(self._libraries) != 1 or not isinstance(result, np.ndarray | np.generic):
            return result
        (library,) = self._libraries.values()
        return result if library is None else _exported(np.asarray(result), library)


def _may_be_written(out: Any) -> bool:
    """Return whether a value other than a plain NumPy array has memory for a result."""
    if out is None or type(out) is np.ndarray or isinstance(out, np.ma.MaskedArray | np.generic):
        return False
    return is_exported(out) or _interface(out) is not None


def _interface(value: Any) -> Any:
    """Return an object that NumPy reads as an array without a copy; None if absent."""
    if hasattr(value, "__array_interface__"):
        return value
    try:
        return memoryview(value)
    except TypeError:
        return None


_libraries: WeakKeyDictionary[type, Any] = WeakKeyDictionary()


def _library(kind: type) -> Any:
    """Return the namespace that arrays of a class belong to, if it imports arrays."""
    if kind not in _libraries:
        packages = (sys.modules.get(base.__module__.partition(".")[0]) for base in kind.__mro__)
        _libraries[kind] = next((package for package in packages if hasattr(package, _FROM)), None)
    return _libraries[kind]


def _exported(array: np.ndarray[Any, Any], library: Any) -> Any:
    """Return an array of a library in the memory of one of NumPy's, or else in a copy."""
    take = getattr(library, _FROM)
    try:
        return take(exported(array))
    except (BufferError, RuntimeError, TypeError, ValueError):
        pass  # read-only memory, or strides that the library does not support
    try:
        return take(exported(np.array(array, order="C")))
    except (BufferError, RuntimeError, ValueError, TypeError) as error:
        raise ArgumentError(
            f"{library.__name__} does not take a result of {array.dtype}: {error}",
            where=caller_location(),
            hint="pass one argument as an array of NumPy's: the result is NumPy's, too",
        ) from None
