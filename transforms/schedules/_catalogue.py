"""All steps by name: the files of this folder, and what users declare."""

from __future__ import annotations

from difflib import get_close_matches

from linalg_ext.rewriting.registry import Catalogue

from .step import Step, steps

_own = Catalogue(__package__)


def all_steps() -> dict[str, Step]:
    """Every step by the name that it has as a method of a schedule."""
    if not _imported:
        _own.import_all()
        _imported.append(True)
    return dict(sorted(steps.items()))


def similar(name: str) -> list[str]:
    """Names of steps that `name` may have meant."""
    return get_close_matches(name, [*all_steps(), "match"], n=3)


_imported: list[bool] = []
