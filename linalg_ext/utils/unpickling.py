"""Objects that arrived in this process by pickling, kept so that each is made once.

An op, a kernel or a jitted function that goes to a worker process goes with every task that needs
it. Each copy would be compiled again. So a copy has a key that identifies it, and the second copy
to arrive under a key is replaced by the first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .locks import Lock

Thing = TypeVar("Thing")


class Arrivals(Generic[Thing]):
    """Things by their keys: the last `most` that were asked for. Any thread may ask."""

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
