"""Tables that keep the last entries: results of calls, and objects that arrived by pickling."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .locks import Lock

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class CallCache(OrderedDict[Key, Value]):
    """Resolved calls, by all that their resolution reads; the oldest are forgotten.

    Threads may share a cache. `get` is a dict's own: there are calls that take 3 us.
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


Object = TypeVar("Object")


class Arrivals(Generic[Object]):
    """Objects that arrived by pickling, by keys that identify them: the last `most` of them.

    An op, a kernel or a jitted function that goes to a worker process goes with every task that
    needs it. Each copy would be compiled again; so the second copy to arrive under a key is
    replaced by the first. Any thread may ask.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._objects: OrderedDict[Hashable, Object] = OrderedDict()
        # Making an object may have another arrive.
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Object]) -> Object:
        """Return the object of a key, made if absent."""
        with self._lock:
            if key not in self._objects:
                self._objects[key] = make()
                if len(self._objects) > self._most:
                    self._objects.popitem(last=False)
            self._objects.move_to_end(key)
            return self._objects[key]
