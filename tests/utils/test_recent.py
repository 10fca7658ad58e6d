"""What arrives by pickling is made once, and the last that were asked for are kept."""

from __future__ import annotations

import threading

from linalg_ext.utils.recent import Arrivals


def test_the_first_of_a_key_is_the_one() -> None:
    arrivals: Arrivals[list[int]] = Arrivals(most=2)
    first = arrivals.get("a", lambda: [1])
    assert arrivals.get("a", lambda: [2]) is first
    arrivals.get("b", list)
    arrivals.get("a", list)
    arrivals.get("c", list)  # b was asked for longest ago
    assert arrivals.get("a", lambda: [3]) is first
    assert arrivals.get("b", lambda: [4]) == [4]


def test_many_threads_get_the_same() -> None:
    arrivals: Arrivals[object] = Arrivals(most=4)
    start, found = threading.Barrier(8), []

    def ask() -> None:
        start.wait()
        found.append(arrivals.get("one", object))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
