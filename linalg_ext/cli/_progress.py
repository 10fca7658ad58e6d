"""Progress in a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show on standard error what is done, and for how long, until the block ends.

    Nothing is shown where standard error is no terminal, or one that cannot go back in its line.
    """
    if not _is_animated():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    # What the command prints meanwhile goes where it belongs, and not through the animation.
    with Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as progress:
        progress.add_task(what, total=None)
        yield


def _is_animated() -> bool:
    return (
        sys.stderr is not None
        and sys.stderr.isatty()
        and os.environ.get("TERM") not in (None, "", "dumb")
    )
