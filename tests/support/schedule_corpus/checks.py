"""What must hold of a schedule on a subject: it verifies after each step, and keeps the numbers."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.errors import LinalgExtError, ScheduleError
from schedule_corpus.compositions import Composition, compose, compositions
from schedule_corpus.nine import NINE, transform_all
from schedule_corpus.subjects import Subject
from schedule_corpus.tally import Tally


def check_nine(subject: Subject, name: str) -> Tally:
    """One of the nine on every op of a subject.

    Raises:
        AssertionError: the numbers changed.
    """
    module = subject.module()
    tally = transform_all(module, name)
    if tally.taken:
        subject.check(module)
    return tally


def check_random(
    subject: Subject,
    *,
    count: int,
    seed: int = 0,
    shrink: bool = False,
    tell: Callable[[str], object] = lambda text: None,
) -> Tally:
    """Random schedules of up to six steps around each of the nine.

    Args:
        subject: what they are taken on.
        count: how many.
        seed: of the first.
        shrink: look for the shortest schedule that fails.
        tell: is told each schedule before its steps are taken.

    Raises:
        AssertionError, LinalgExtError: a step left an invalid module, or the numbers changed; a
            note has the schedule.
    """
    tally = Tally()
    around = st.sampled_from(sorted(NINE)).flatmap(compositions)

    @hypothesis.seed(f"{seed} {subject.name}")  # else every subject would get the same ones
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
        suppress_health_check=list(HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(st.integers(0, 63), around)
    def run(position: int, steps: Composition) -> None:
        tell(f"op {position}, {steps}")
        tally.add(check_steps(subject, position, steps))

    run()
    return tally


def check_steps(subject: Subject, position: int, steps: Composition) -> Tally:
    """One schedule, as `check_random` has it; `position` counts ops, those beyond the last anew."""
    module = subject.module()
    schedule = lx.Schedule(module)
    try:
        ops = schedule.match().taken[-1].report.matched.total()
        schedule.match(position=position % ops)
    except ScheduleError:
        return Tally()  # a module without ops of linalg
    tally = compose(schedule, steps)
    try:
        subject.check(module)
    except (AssertionError, LinalgExtError) as error:
        error.add_note(str(schedule))
        raise
    return tally
