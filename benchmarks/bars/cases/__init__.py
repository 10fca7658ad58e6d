"""The cases, a file for each kind: each has `cases()`, and is found by being here."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from benchmarks.bars.case import Case


def all_cases() -> Iterator[Case]:
    """All of them, file by file."""
    for module in iter_modules(__path__):
        yield from import_module(f"{__name__}.{module.name}").cases()
