"""The native way into native code: the function that the interpreter calls for a kernel.

The code is in `vectorcall.mlir`, compiled when calls have come again so often that it pays, and
kept on disk: other processes load it, sooner. Where the interpreter or NumPy is not as it expects
there is none: calls then go through Python, and mean the same.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from linalg_ext.errors import LinalgExtError
from linalg_ext.runtime.kernel_cache import kept_own_code, own_code
from linalg_ext.runtime.libraries import Libraries, in_force, watch
from linalg_ext.runtime.machine_code import Code, NativeCall, keep_for_ever
from linalg_ext.utils.locks import Lock
from linalg_ext.utils.vectorcall import AVAILABLE, quickly_called

if TYPE_CHECKING:
    from linalg_ext.runtime.vectorcall_record import Record


LOADING_PAYS = 100
"""Calls through Python after which the caller is loaded, where it is kept on disk: in 3 ms."""

COMPILING_PAYS = 2_000
"""Calls through Python after which the caller is compiled.

They cost 10 ms, compiling it 100: who calls that often is likely to call on.
"""

MOST_RECORDS = 8
"""The most records of one object.

They are tried in turn, 10 ns each. Other calls go through Python's dictionaries.
"""

SHORT = 10_000
"""Ticks, 2 to 5 us: a run keeps the GIL if the one before took less.

To release the GIL and take it again costs 0.1 us without contention, and much more with it.
"""

BEGUN = 1_000_000
"""Ticks, 0.2 to 0.5 ms, within which a record's `begin` is not called a second time.

The cells of a notebook, each of which sets Python's handler of signals, start further apart.
"""

_NEW_FROM_DESCR, _RETURN = 94, 76
"""PyArray_NewFromDescr, PyArray_Return in NumPy's table of functions, whose order is of its ABI."""

_OUT, _CALL = sys.intern("out"), sys.intern("__call__")


class Caller:
    """The compiled caller."""

    def __init__(self, engine: Any) -> None:
        """Made by `caller`, of the functions of `vectorcall.mlir`.

        They are kept for ever: objects that they answer for may be called at the interpreter's end.
        """
        self._engine = engine
        address = ctypes.c_void_p()
        NativeCall(engine.function("address"), [ctypes.addressof(address)])()
        self._code = address.value
        self._words = (ctypes.c_int64 * 12)(
            id(np.ndarray),
            id(_OUT),
            id(None),
            id(_CALL),
            _function(_NEW_FROM_DESCR),
            SHORT,
            _function(_RETURN),
            id(str),
            id(int),
            id(float),
            BEGUN,
            0,
        )
        self.world = ctypes.addressof(self._words)
        self._answered: WeakSet[Any] = WeakSet()
        self._adding = Lock()
        keep_for_ever(self)

    def install(self, target: Any, record: Record, libraries: Libraries | None = None) -> None:
        """Have calls of `target` that fit the record answered; its class is by `quickly_called`.

        `libraries` were in force when the kernel was chosen; None where that does not matter.
        """
        if not target._native_code:
            target._native_records = []
            target._native_world = self.world
            target._native_code = self._code
            with self._adding:
                self._answered.add(target)
        records = target._native_records
        if record not in records:
            records.insert(0, record)
            del records[MOST_RECORDS:]
        if libraries is not None and libraries != in_force():
            records.clear()  # they changed meanwhile

    def forget(self) -> None:
        """Have all calls go through Python once more, which chooses their kernels."""
        with self._adding:
            answered = list(self._answered)
        for target in answered:
            target._native_records.clear()


class Records:
    """The records of calls that are resolved alike, by their other conditions."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Record | None] = {}

    def install(
        self,
        native: Caller,
        function: Any,
        key: Hashable,
        make: Callable[[int], Record | None],
        libraries: Libraries | None = None,
    ) -> None:
        """Have native code answer calls of a function from now on, where it can.

        `key` has the conditions of the record, `known_calls.sharing_key` among it; `make` makes it,
        of the world of the caller, if it can. For `libraries` see `Caller.install`.
        """
        if key not in self._made:
            self._made[key] = make(native.world)
        if (record := self._made[key]) is not None:
            native.install(function, record, libraries)


class _Provider:
    """The native caller, once calls have come often enough to make it."""

    def __init__(self) -> None:
        self.caller: Caller | None = None
        self._lock = threading.Lock()
        self._calls = 0
        self._is_refused = not AVAILABLE

    def __call__(self) -> Caller | None:
        if self.caller is not None or self._is_refused:
            return self.caller
        self._calls += 1
        is_loading = self._calls == LOADING_PAYS
        # A call of another thread, while it is being made, goes through Python once more.
        if (is_loading or self._calls >= COMPILING_PAYS) and self._lock.acquire(blocking=False):
            try:
                self._make(kept_own_code if is_loading else own_code)
            finally:
                self._lock.release()
        return self.caller

    def forget(self) -> None:
        if self.caller is not None:
            self.caller.forget()

    def make(self) -> None:
        """Make the caller now, where it can be made."""
        self._make(own_code)

    def _make(self, code: Callable[[str], Code | None]) -> None:
        if self.caller is not None or self._is_refused:
            return
        if not is_as_expected():
            self._is_refused = True
            return
        try:
            if (engine := code("vectorcall")) is not None:
                self.caller = Caller(engine)
        except LinalgExtError:
            self._is_refused = True  # functions of the C API that the interpreter does not show


caller = _Provider()
"""The native caller; None if absent, or calls did not come often enough yet."""

watch(caller.forget)


def _function(number: int) -> int:
    from numpy._core import multiarray

    pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_in.restype, pointer_in.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = pointer_in(multiarray._ARRAY_API, None)
    return int(ctypes.c_int64.from_address(table + 8 * number).value)


@quickly_called
class _Probe:
    """An object with room for native code."""


def is_as_expected() -> bool:
    """Return whether each thing that is read lies where it is looked for, asked of some objects."""
    # Only now: most programs end before calls come so often.
    from linalg_ext.runtime.vectorcall_record import ALIGNED, CONTIGUOUS, WRITABLE

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
