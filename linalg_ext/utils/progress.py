"""A bar for work that takes longer than a second, in a terminal alone.

The variable `LINALG_EXT_PROGRESS`, set to `off`, leaves the bars out.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich import progress as rich_progress

PATIENCE = 1.0
"""Seconds before it is shown."""

VARIABLE = "LINALG_EXT_PROGRESS"

_shown = threading.Semaphore()
"""The right to draw: two bars at a time would overwrite each other."""


def is_animated() -> bool:
    """Return whether standard error is a terminal that can go back in its line."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return is_terminal and os.environ.get("TERM") not in (None, "", "dumb")


@contextmanager
def alone() -> Iterator[None]:
    """Show no bar of `Progress` in the block under `with`, which draws by itself."""
    has_right = _shown.acquire(blocking=False)
    try:
        yield
    finally:
        if has_right:
            _shown.release()


class Progress:
    """A counter of steps; a terminal shows it on the standard error after `PATIENCE` seconds."""

    def __init__(self, title: str, steps: int, clock: Callable[[], float]) -> None:
        """Count steps, at most `steps`; `clock` returns seconds."""
        self._title = title
        self._steps = steps
        self._clock = clock
        self._start = clock()
        self._done = 0
        self._bar: rich_progress.Progress | None = None

    def __enter__(self) -> Progress:
        return self

    def advance(self, text: str) -> None:
        """Report that one more step begins."""
        self.reach(self._done, text)
        self._done += 1

    def reach(self, done: int, text: str) -> None:
        """Report the number of steps that are done."""
        if self._bar is None and self._clock() - self._start > PATIENCE and self._may_show():
            self._bar = self._new_bar()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, step=text)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            _shown.release()

    def _may_show(self) -> bool:
        is_wanted = os.environ.get(VARIABLE) != "off" and is_animated()
        return is_wanted and _shown.acquire(blocking=False)

    def _new_bar(self) -> rich_progress.Progress:
        from rich import progress
        from rich.console import Console

        bar = progress.Progress(
            progress.TextColumn(self._title),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[step]}"),
            console=Console(stderr=True),
            transient=True,
        )
        bar.add_task(self._title, total=self._steps, step="")
        bar.start()
        return bar
