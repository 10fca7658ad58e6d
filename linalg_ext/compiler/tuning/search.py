"""The search: the model's plan against its neighbours, measured in turn."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from linalg_ext.compiler.tuning.timing import Call, Clock, in_turn
from linalg_ext.errors import ArgumentError, LinalgExtError, caller_location
from linalg_ext.target.text import seconds_text
from linalg_ext.transforms.codegen.base.choices import Choices, Variation
from linalg_ext.transforms.codegen.contractions.plan_selection import PlannedContraction
from linalg_ext.transforms.codegen.vectorization.vectorize_loops import PlannedLoops
from linalg_ext.utils.logs import logger
from linalg_ext.utils.progress import Progress

Measure = Callable[[Sequence[Call], float], Sequence[float]]
"""Takes calls and the seconds that they may take in all; gives the seconds of one of each."""

WORTHWHILE = 1.02
"""The least speed-up that a plan is taken for: less may be noise."""


@dataclass(frozen=True)
class Tuning:
    """Options for the measurement of plans.

    Attributes:
        seconds: the time that measuring may take for one kernel, compilation included.
        candidates: the largest number of plans of one contraction that are tried.
        measure: the function that times calls; by default in turn, medians.
        clock: the function that returns the time.

    Raises:
        ArgumentError: no such time or number.
    """

    seconds: float = 10.0
    candidates: int = 10
    measure: Measure | None = None
    clock: Clock = time.perf_counter

    def __post_init__(self) -> None:
        is_number = isinstance(self.seconds, int | float) and not isinstance(self.seconds, bool)
        if not is_number or not 0 < self.seconds < math.inf:
            raise ArgumentError(
                f"tuning for {self.seconds!r} seconds",
                where=caller_location(),
                expected="a number above 0",
            )
        if type(self.candidates) is not int or self.candidates < 1:
            raise ArgumentError(
                f"tuning over {self.candidates!r} candidates",
                where=caller_location(),
                expected="a whole number of at least 1",
            )

    @classmethod
    def of(cls, value: object) -> Tuning | None:
        """Return the options that `tune=` gives; None where it is False.

        The argument is a `Tuning`, True, or a number of seconds.

        Raises:
            ArgumentError: it is none of these.
        """
        if value is None or value is False:
            return None
        if value is True:
            return cls()
        if isinstance(value, Tuning):
            return value
        if isinstance(value, int | float):
            return cls(seconds=value)
        raise ArgumentError(
            f"tune is {value!r}",
            where=caller_location(),
            expected="True, False, a number of seconds, or a linalg_ext.compiler.tuning.Tuning",
        )


@dataclass(frozen=True)
class Finding:
    """The result of tuning a kernel.

    Attributes:
        choices: the choices that replace the model's; none where the model's are the best.
        speed_up: the speed relative to that of the model's plans.
        before, after: seconds of a call with the model's plans, and with these.
        tried: the number of other plans that were measured.
        why: the reason why nothing was measured; empty where something was.
        is_remembered: True where the result is from the file, and nothing was measured now.
    """

    choices: Choices
    speed_up: float = 1.0
    before: float = 0.0
    after: float = 0.0
    tried: int = 0
    why: str = ""
    is_remembered: bool = False

    def rows(self) -> tuple[tuple[str, str], ...]:
        """For the table of `kernel.explain()`."""
        if self.why:
            return (("measured", f"no plan: {self.why}"),)
        source = "remembered" if self.is_remembered else "measured"
        times = f"{seconds_text(self.before)} -> {seconds_text(self.after)}"
        chosen = [*map(str, self.choices.plans.values())]
        if self.choices.vector_bits:
            chosen.append(f"vectors of {self.choices.vector_bits} bits")
        if self.choices.streams is not None:
            chosen.append(f"stores {'past' if self.choices.streams else 'into'} the caches")
        if not chosen:
            return ((source, f"the model's plan is the fastest of {self.tried + 1}"),)
        return (
            (source, f"{self.speed_up:.2f} times as fast as the model's plan: {times}"),
            ("chosen", f"{'; '.join(chosen)}; the best of {self.tried + 1}"),
        )


Kernel = Callable[..., Any]
Change = Callable[[Choices], Choices]


def trials_of(decisions: Sequence[object], most: int) -> list[Change]:
    """Return the changes to try, one by one, on top of the choices made before."""
    trials: list[Change] = []
    for decision in decisions:
        if isinstance(decision, PlannedContraction):
            for candidate in decision.candidates(most + 1)[1:]:
                trials.append(_with_plan(decision.key, candidate.variation))
    loops = [decision for decision in decisions if isinstance(decision, PlannedLoops)]
    if loops:
        bits = max(loop.vector_bits for loop in loops)
        streams = any(loop.streams for loop in loops)
        if bits > 128:
            trials.append(lambda chosen: replace(chosen, vector_bits=bits // 2))
        trials.append(lambda chosen: replace(chosen, streams=not streams))
    return trials


def _with_plan(key: str, variation: Variation) -> Change:
    return lambda chosen: replace(chosen, plans={**chosen.plans, key: variation})


def search(
    first: Kernel,
    decisions: Sequence[object],
    make: Callable[[Choices], Kernel],
    arguments: Callable[[], Sequence[Any]],
    results: Callable[[Sequence[Any], Any], Sequence[Any]],
    tuning: Tuning,
) -> Finding:
    """Measure plans one after the other, each against the best so far.

    Args:
        first: the kernel with the model's plans.
        decisions: the choices that were made in it.
        make: a kernel with other choices.
        arguments: makes arguments, the same at every call.
        results: a function from the arguments and the return value of a call to the arrays that it
            computed.
        tuning: the time, the number of plans, and the measure.
    """
    trials = trials_of(decisions, tuning.candidates)
    if not trials:
        return Finding(Choices(), why="every op has one plan only")
    measure = tuning.measure or in_turn
    end = tuning.clock() + tuning.seconds
    share = tuning.seconds / (len(trials) + 1) / 2
    best, best_kernel, tried = Choices(), first, 0
    log = logger("tuning")
    first_arguments = arguments()
    try:
        expected = [np.array(array) for array in results(first_arguments, first(*first_arguments))]
        with Progress("tuning", len(trials), tuning.clock) as progress:
            for trial in trials:
                if tuning.clock() >= end:
                    break
                choices = trial(best)
                kernel = make(choices)
                progress.advance(_shown(choices))
                new_arguments = arguments()
                if not all(
                    map(_is_close, results(new_arguments, kernel(*new_arguments)), expected)
                ):
                    continue
                tried += 1
                old, new = measure(
                    [partial(best_kernel, *first_arguments), partial(kernel, *new_arguments)], share
                )
                log.debug("%s: %.3g s, the best so far %.3g s", _shown(choices), new, old)
                if old >= WORTHWHILE * new:
                    best, best_kernel = choices, kernel
    except LinalgExtError as error:
        return Finding(
            Choices(), why=f"the kernel cannot be run on made-up arguments: {error.what}"
        )
    if best_kernel is first:
        return Finding(Choices(), tried=tried)
    before, after = measure(
        [partial(first, *first_arguments), partial(best_kernel, *arguments())], share
    )
    if before < WORTHWHILE * after:
        return Finding(Choices(), tried=tried)
    return Finding(best, before / after, before, after, tried)


def _is_close(result: Any, other: Any) -> bool:
    """Return whether a result differs by no more than another order of sums explains."""
    result, other = np.asarray(result), np.asarray(other)
    if result.dtype.kind in "biu":
        return bool(np.array_equal(result, other))
    kind: Any = np.complex128 if result.dtype.kind == "c" else np.float64
    wide, reference = result.astype(kind), other.astype(kind)
    tolerance = 1e-9 if result.dtype.itemsize >= 8 * (1 + (kind is np.complex128)) else 1e-3
    if result.dtype.itemsize <= 2:
        tolerance = 3e-2
    largest = float(np.max(np.abs(reference), initial=0.0, where=np.isfinite(reference)))
    return bool(
        np.allclose(wide, reference, rtol=tolerance, atol=tolerance * largest, equal_nan=True)
    )


def _shown(choices: Choices) -> str:
    return str(next(reversed(list(choices.plans.values())), "loops"))
