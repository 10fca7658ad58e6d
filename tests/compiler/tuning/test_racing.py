"""Calls that race: on a clock that only the calls move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from linalg_ext.compiler.tuning.timing import race


class Track:
    """A clock, and calls that take as long as they are told."""

    def __init__(self) -> None:
        self.now, self.runs = 0.0, Counter[str]()

    def clock(self) -> float:
        return self.now

    def call(self, name: str, seconds: Iterable[float]) -> Callable[[], None]:
        times = iter(seconds)

        def run() -> None:
            self.runs[name] += 1
            self.now += next(times)

        return run


def steady(seconds: float) -> Iterable[float]:
    while True:
        yield seconds


def disturbed(seconds: float, every: int) -> Iterable[float]:
    """All but every so manieth takes three times as long."""
    number = 0
    while True:
        number += 1
        yield seconds if number % every == 0 else 3 * seconds


def test_the_least_time_counts_however_rare() -> None:
    track = Track()
    calls = [track.call("quiet", steady(2e-3)), track.call("disturbed", disturbed(1e-3, 4))]
    assert race(calls, 1.0, clock=track.clock) == pytest.approx([2e-3, 1e-3])


def test_what_is_clearly_slower_drops_out() -> None:
    track = Track()
    calls = [track.call("slow", steady(5e-3))]
    calls += [track.call(name, (1e-3 * 0.997**at for at in range(10**6))) for name in "ab"]
    race(calls, 1.0, clock=track.clock)
    assert track.runs["slow"] < 80 < track.runs["a"] == track.runs["b"]


def test_nothing_drops_out_before_the_machine_is_at_its_speed() -> None:
    track = Track()
    at_first_slow = (3e-3 if number < 12 else 1e-3 for number in range(10**6))
    calls = [track.call("a", at_first_slow), track.call("b", steady(2e-3))]
    assert race(calls, 1.0, clock=track.clock) == pytest.approx([1e-3, 2e-3])


def test_it_ends_when_no_time_gets_better_and_when_one_is_left() -> None:
    for second in (1e-3, 1.0):
        track = Track()
        calls = [track.call("a", steady(1e-3)), track.call("b", steady(second))]
        race(calls, 60.0, clock=track.clock)
        assert track.now < 10.0


def test_it_ends_when_the_time_is_over() -> None:
    track = Track()
    falling = (1e-2 * 0.99**number for number in range(10**6))
    race([track.call("a", falling), track.call("b", steady(1e-3))], 0.05, clock=track.clock)
    assert track.now < 0.3


def test_short_calls_are_repeated() -> None:
    track = Track()
    race([track.call("a", steady(1e-6)), track.call("b", steady(1e-6))], 1.0, clock=track.clock)
    assert track.runs["a"] > 1000
