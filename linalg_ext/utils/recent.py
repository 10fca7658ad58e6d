"""Tables that keep the last entries: results of calls, and objects that arrived by pickling."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .locks import Lock

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


Thing = TypeVar("Thing")


class Arrivals(Generic[Thing]):
    """Things that arrived by pickling, by keys that identify them: the last `most` of them.

    An op, a kernel or a jitted function that goes to a worker process goes with every task that
    needs it. Each copy would be compiled again; so the second copy to arrive under a key is
    replaced by the first. Any thread may ask.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._things: OrderedDict[Hashable, Thing] = OrderedDict()
        # Making one thing may have another arrive.
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """The thing of a key, made where it is not there yet."""
        with self._lock:
            if key not in self._things:
                self._things[key] = make()
                if len(self._things) > self._most:
                    self._things.popitem(last=False)
            self._things.move_to_end(key)
            return self._things[key]
