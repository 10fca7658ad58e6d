"""A bar for work that takes longer than a second, in a terminal alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich import progress as rich_progress

PATIENCE = 1.0
"""Seconds before it is shown."""


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
        if self._bar is None and sys.stderr.isatty() and self._clock() - self._start > PATIENCE:
            self._bar = self._shown()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, step=text)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _shown(self) -> rich_progress.Progress:
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
