"""Calls that were resolved before, and the records by which native code answers their like."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from linalg_ext.runtime.libraries import Libraries
    from linalg_ext.runtime.vectorcall import Caller
    from linalg_ext.runtime.vectorcall_record import Record

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class CallCache(OrderedDict[Key, Value]):
    """Results of the resolution of calls, by all that it looks at; the oldest are forgotten.

    Threads may share one. `get` is a dict's own: there are calls that take 3 us.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def remember(self, key: Key, value: Value) -> Value:
        """Keep the value of a key, and return it."""
        self[key] = value
        if len(self) > self._most:
            self.popitem(last=False)
        return value


class Records:
    """The records of calls that are resolved alike, by what else they depend on."""

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

        Args:
            native: the native caller.
            function: what is called.
            key: what the record depends on, as `native_call.situation` gives it, and more.
            make: makes the record, of the world of the caller; None where there can be none.
            libraries: those in force when the kernel was chosen; None where it does not matter.
        """
        if key not in self._made:
            self._made[key] = make(native.world)
        if (record := self._made[key]) is not None:
            native.install(function, record, libraries)
