"""The settings of a search: its budget and its strategy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from linalg_ext.errors import ArgumentError, ArgumentTypeError

from ._strategies import STRATEGIES, Strategy


@dataclass(frozen=True)
class Search:
    """The settings of a search for groups.

    >>> lx.compile(module, search=Search("anneal", seconds=5, seed=1, measure=3), trusted=True)

    Attributes:
        strategy: `"greedy"`, `"beam"`, `"anneal"`, or a function of an `Exploration`.
        moves: the most moves that are tried.
        seconds: the most time that it takes. The result does not depend on it where the moves are
            used up first.
        seed: of random choices: the same seed, moves and strategy find the same.
        restarts: how often the strategy begins once more, each time from another grouping. All
            begin from their share of the budget.
        measure: how many of the best groupings are compiled and measured in the end; the fastest is
            taken. Measured too are a few other tilings of these, the result of upstream's fusion of
            element-wise ops, and the function without groups. 0: the model alone decides.
    """

    strategy: str | Strategy = "greedy"
    moves: int = 20_000
    seconds: float = 1.0
    seed: int = 0
    restarts: int = 2
    measure: int = 0

    def __post_init__(self) -> None:
        _count("moves", self.moves, 1)
        _count("restarts", self.restarts, 0)
        _count("measure", self.measure, 0)
        _count("seed", self.seed, None)
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float):
            raise ArgumentTypeError(f"seconds = {self.seconds!r}", expected="a number")
        if not self.seconds > 0 or math.isnan(self.seconds):
            raise ArgumentError(
                f"seconds = {self.seconds!r}: nothing can be searched in no time",
                expected="a number above 0",
            )
        if isinstance(self.strategy, str):
            if self.strategy not in STRATEGIES:
                raise ArgumentError(
                    f"{self.strategy!r} is not a strategy",
                    expected=f"one of {', '.join(STRATEGIES)}, or a function of an Exploration",
                )
        elif not callable(self.strategy):
            raise ArgumentTypeError(
                f"strategy = {self.strategy!r}",
                expected=f"one of {', '.join(STRATEGIES)}, or a function of an Exploration",
            )

    @classmethod
    def of(cls, value: object) -> Search | None:
        """Return the settings for a value of `search=`; None where it is False or None.

        The value is a `Search`, the name of a strategy, or True for `SMALL`.

        Raises:
            ArgumentError: it is none of these.
        """
        if value is None or value is False:
            return None
        if value is True:
            return SMALL
        if isinstance(value, Search):
            return value
        if isinstance(value, str):
            return cls(value)
        raise ArgumentTypeError(
            f"search is {value!r}",
            expected=f"True, False, one of {', '.join(STRATEGIES)}, or a Search",
        )

    @property
    def key(self) -> tuple[object, ...] | None:
        """All that it says as plain data; None where the strategy is a function."""
        if not isinstance(self.strategy, str):
            return None
        rest = (self.moves, float(self.seconds), self.seed, self.restarts, self.measure)
        return (self.strategy, *rest)

    @property
    def function(self) -> Strategy:
        """The strategy as a function."""
        return STRATEGIES[self.strategy] if isinstance(self.strategy, str) else self.strategy

    @property
    def name(self) -> str:
        """The name of the strategy."""
        if isinstance(self.strategy, str):
            return self.strategy
        return getattr(self.strategy, "__name__", type(self.strategy).__name__)


def _count(name: str, value: object, least: int | None) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(f"{name} = {value!r}", expected="a whole number")
    if least is not None and value < least:
        what = ": a budget of no moves finds nothing" if least else ""
        raise ArgumentError(f"{name} = {value}{what}", expected=f"{least} or more")


SMALL = Search(moves=100, seconds=0.25, restarts=0)
"""The default settings: less than 50 ms for 20 ops, on a machine at rest."""
