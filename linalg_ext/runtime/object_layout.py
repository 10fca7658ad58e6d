"""A check that objects of the interpreter and of NumPy have the layout `vectorcall.mlir` reads."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from linalg_ext.runtime.vectorcall_record import ALIGNED, CONTIGUOUS, WRITABLE
from linalg_ext.utils.vectorcall import quickly_called


@quickly_called
class _Probe:
    """An object with room for native code."""


def is_as_expected() -> bool:
    """Return whether each thing that is read lies where it is looked for, asked of some objects."""

    def word(of: Any, offset: int) -> int:
        return ctypes.c_int64.from_address(id(of) + offset).value

    def bits(of: Any, offset: int) -> bytes:
        return ctypes.string_at(id(of) + offset, 8)

    array = np.zeros((4, 6), np.int16)[1:, ::2]
    order = {char: np.dtype(char + "i2") for char in "<>"}
    items = ["one", "two", "three"]
    record = (ctypes.c_int64 * 16)()
    flags = ctypes.c_int32.from_address(id(array) + 64).value
    probe: Any = _Probe()
    probe._native_records = items
    at = word(_Probe, 56)
    return (
        word(array, 8) == id(np.ndarray)
        and word(array, 16) == array.__array_interface__["data"][0]
        and ctypes.c_int32.from_address(id(array) + 24).value == 2
        and [_at(word(array, 32), axis) for axis in range(2)] == list(array.shape)
        and [_at(word(array, 40), axis) for axis in range(2)] == list(array.strides)
        and word(array, 56) == id(array.dtype)
        and flags == array.flags.num
        and flags & (CONTIGUOUS | ALIGNED | WRITABLE) == ALIGNED | WRITABLE
        and np.zeros(1).flags.num & CONTIGUOUS != 0
        and all(bits(order[c], 26)[0] in b"=|" for c in "<>" if order[c].isnative)
        and all(bits(order[c], 26)[0] not in b"=|" for c in "<>" if not order[c].isnative)
        and bits(np.dtype(np.bool_), 26)[:1] == b"|"
        and bits(2.5, 16) == np.float64(2.5).tobytes()
        and bits(np.float32(2.5), 16)[:4] == np.float32(2.5).tobytes()
        and bits(np.int64(-7), 16) == np.int64(-7).tobytes()
        and word(items, 16) == 3
        and [_at(word(items, 24), at) for at in range(3)] == [id(item) for item in items]
        and [word((1, 2), 16), word(tuple(items), 24)] == [2, id(items[0])]
        and word(dict.fromkeys(items), 16) == 3
        and word(record, 16) == ctypes.addressof(record)
        and word(probe, at + 16) == id(items)
    )


def _at(address: int, number: int) -> int:
    return ctypes.c_int64.from_address(address + 8 * number).value
