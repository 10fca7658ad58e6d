"""Log messages of the library, through Python's `logging`.

    linalg_ext.compile     compiled functions, and the time of each stage (info)
    linalg_ext.cache       entries found on disk (info), kept there, or not found (debug)
    linalg_ext.tuning      the plan that was chosen (info), each plan that was measured (debug)
    linalg_ext.fallbacks   ops that take a slower way, with reasons: one that is left to loops over
                           scalars or to PyTorch, an einsum that is left to NumPy (info)

Nothing is shown by default. A program chooses with `logging.getLogger("linalg_ext")`, as for any
library. Without a line of code, the variable `LINALG_EXT_LOG` directs the messages to standard
error. Its value is `info`, `debug`, or a level for each, as in `compile=info,cache=debug`.

A record holds text and names only, so a collection of records keeps no kernel alive.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING

from linalg_ext.errors import ArgumentError

if TYPE_CHECKING:
    import logging

VARIABLE = "LINALG_EXT_LOG"
"""The environment variable that has the log written to standard error."""

NAMES = ("compile", "cache", "tuning", "fallbacks")
"""Names of the loggers below `linalg_ext`."""

_LEVELS = {"debug": 10, "info": 20, "warning": 30}
"""As `logging` numbers them."""

_ROOT = "linalg_ext"
_FORMAT = "%(asctime)s %(name)s: %(message)s"


class Unheard:
    """A stand-in for a logger without listeners: `logging` itself takes long to load."""

    def isEnabledFor(self, level: int) -> bool:  # as a logger has it
        """Return False."""
        return False

    def info(self, text: str, *values: object) -> None:
        """Drop the message."""

    debug = info


def logger(name: str) -> logging.Logger | Unheard:
    """Return the logger of one of `NAMES`; if `logging` is not loaded, a stand-in for it.

    Raises:
        ArgumentError: the environment variable names no level, or no logger.
    """
    setting = os.environ.get(VARIABLE, "").strip()
    if not setting and "logging" not in sys.modules:
        return Unheard()
    import logging

    _follow_environment(setting)
    return logging.getLogger(f"{_ROOT}.{name}")


def quick_logger(name: str) -> logging.Logger | Unheard:
    """Return the result of `logger`, for frequent calls: the variable is read once."""
    return _cached_logger(name, "logging" in sys.modules)


@functools.cache
def _cached_logger(name: str, is_loaded: bool) -> logging.Logger | Unheard:
    return logger(name)


@functools.cache
def _follow_environment(setting: str) -> None:
    if not setting:
        return
    import logging

    chosen = {f"{_ROOT}.{name}".rstrip("."): level for name, level in _parsed(setting).items()}
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.getLogger(_ROOT).addHandler(handler)
    for name, level in chosen.items():
        logging.getLogger(name).setLevel(level)


def _parsed(setting: str) -> dict[str, int]:
    """Return levels by the names of loggers; the empty name is all of them."""
    levels = {}
    for part in setting.split(","):
        name, _, level = part.strip().lower().rpartition("=")
        if level not in _LEVELS or name not in ("", *NAMES):
            raise ArgumentError(
                f"{VARIABLE} is {setting!r}",
                expected=f"{', '.join(_LEVELS)}; or NAME=LEVEL with commas between, where NAME is "
                f"{', '.join(NAMES)}",
            )
        levels[name] = _LEVELS[level]
    return levels
