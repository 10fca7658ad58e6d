"""The errors that a kernel raises when its code reports a failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from linalg_ext.errors import ExecutionError, caller_location
from linalg_ext.runtime.callbacks import raised_by

OF_OP = "\nin: "
"""The separator between the message of an assertion and its op."""


def told(message: str) -> tuple[str, list[str]]:
    """Return the message of an assertion, and the notes on it: the op, and its location."""
    what, _, notes = message.partition(OF_OP)
    return what, notes.splitlines()


class Failures:
    """The messages behind the statuses of a kernel: of status 1, 2, ... in their order."""

    def __init__(self, name: str, assertions: Sequence[str]) -> None:
        self._name = name
        self._assertions = tuple(assertions)

    def report(self, status: int) -> NoReturn:
        """Raise the error for a status that is not 0.

        Raises:
            ExecutionError: with the message of the assertion, and the caller's line.
            BaseException: that which a function of Python raised that the code called.
        """
        known = 0 < status <= len(self._assertions)
        message = self._assertions[status - 1] if known else f"status {status}"
        if (raised := raised_by(message)) is not None:
            raise raised
        message, notes = told(message)
        raise ExecutionError(
            f"`{self._name}` stopped: {message}", where=caller_location(), notes=notes
        )
