"""Work in a process of its own, so that what ends the process is seen from outside."""

from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from linalg_ext.errors import LinalgExtError

Tell: TypeAlias = Callable[[str], object]
"""Called with what is done next."""


@dataclass(frozen=True)
class Outcome:
    """What came of it: a value, or what was wrong."""

    value: Any = None
    wrong: str = ""


def apart(work: Callable[[Tell], Any], seconds: float) -> Outcome:
    """Do some work in a copy of this process: a crash or an endless loop is an outcome, too."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(work, there))
    child.start()
    there.close()
    told, end = "", time.monotonic() + seconds
    try:
        while here.poll(max(0.0, end - time.monotonic())):
            said = here.recv()
            if isinstance(said, Outcome):
                return said
            told = said
        return Outcome(wrong=f"no end after {seconds:g} s: {told}")
    except EOFError:
        child.join()
        return Outcome(wrong=f"died by {_reason(child.exitcode)}: {told}")
    finally:
        child.kill()
        child.join()
        here.close()


def _send(work: Callable[[Tell], Any], there: Connection) -> None:
    try:
        there.send(Outcome(work(there.send)))
    except Exception as error:
        notes = "\n".join(getattr(error, "__notes__", ()))
        is_known = isinstance(error, AssertionError | LinalgExtError)
        trace = "" if is_known else traceback.format_exc()
        there.send(Outcome(wrong=f"{type(error).__name__}: {error}\n{notes}\n{trace}"))


def _reason(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
