"""Functions of Python that native code calls, with descriptors of arrays.

Native code passes the key of a function, and for each array a pointer to its descriptor, those of
the results last:

    struct { T *allocated; T *aligned; int64_t offset; int64_t sizes[RANK]; int64_t strides[RANK]; }

It reads 0 where the function did its work, and 1 where it raised: who called the native code then
asks for the exception, by the key that stands in the message of the failure.
"""

from __future__ import annotations

import ctypes
import secrets
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from linalg_ext.errors import ExecutionError
from linalg_ext.runtime.calling_convention import Descriptor, word_count
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.libraries import publish, unpublish
from linalg_ext.runtime.machine_code import address_of_function

PREFIX = "lx.callback."
"""Begins the names by which compiled code knows such functions, before their keys."""

Kind = tuple[DType, int]
"""The dtype and the rank of an array."""

_known: weakref.WeakValueDictionary[int, Callback] = weakref.WeakValueDictionary()
_raised: dict[tuple[int, int], BaseException] = {}
"""Exceptions of functions that were not asked for yet, by the key and the thread."""


class Callback:
    """A function of Python with a name for native code, as long as this lives.

    Attributes:
        name: in the module that calls it.
        key: tells it from all others, those of other processes included.
    """

    def __init__(
        self,
        function: Callable[[Sequence[Any], Sequence[Any]], None],
        inputs: Sequence[Kind],
        outputs: Sequence[Kind],
    ) -> None:
        """Publish `function`, of the inputs and the outputs, which it writes.

        These arrays show memory of the kernel, and are gone when it returns.
        """
        self.function = function
        self.key = secrets.randbits(62)
        self.name = f"{PREFIX}{self.key}"
        self._kinds = (*inputs, *outputs)
        self._inputs = len(inputs)
        _known[self.key] = self
        linked = f"_mlir_ciface_{self.name}"
        publish(linked, address_of_function(_trampoline(len(self._kinds))))
        weakref.finalize(self, unpublish, linked)

    def run(self, descriptors: Sequence[int]) -> None:
        """Call the function on arrays in memory."""
        arrays = []
        for address, (dtype, rank) in zip(descriptors, self._kinds, strict=True):
            words = (ctypes.c_int64 * word_count(rank)).from_address(address)
            arrays.append(Descriptor.from_words(words[:], rank).view(dtype))
        for array in arrays[: self._inputs]:
            array.flags.writeable = False
        self.function(arrays[: self._inputs], arrays[self._inputs :])


def raised_by(message: str) -> BaseException | None:
    """Return the exception behind the message of a failure, once; None if absent."""
    if not message.startswith(PREFIX):
        return None
    key = int(message.removeprefix(PREFIX).partition(" ")[0])
    error = _raised.pop((key, threading.get_ident()), None)
    if error is None:  # another thread ran it for this one
        error = next((_raised.pop(other) for other in list(_raised) if other[0] == key), None)
    return error


@cache
def _trampoline(count: int) -> Any:
    """The function of C that calls functions of a number of arrays. It lives for ever."""

    def call(key: int, *descriptors: int) -> int:
        try:
            callback = _known.get(key)
            if callback is None:
                raise ExecutionError(
                    "the code calls a function of Python that is gone",
                    hint="keep the jitted function, or the result of compile(), beside its kernel",
                )
            callback.run(descriptors)
        except BaseException as error:
            _raised[key, threading.get_ident()] = error
            return 1
        return 0

    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p] * count)(call)
