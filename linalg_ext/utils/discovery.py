"""Modules that are found by being there: the files below a package, imported when asked for."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator


def public_modules(package: str) -> Iterator[str]:
    """Return the full names of all modules below a package; only the folders are imported.

    Modules whose names begin with `_` are left out.
    """
    root = importlib.import_module(package)
    for info in pkgutil.walk_packages(root.__path__, prefix=package + "."):
        if not info.name.rpartition(".")[2].startswith("_"):
            yield info.name


def import_all(package: str) -> None:
    """Import every module below a package, so that they register what they make."""
    for name in public_modules(package):
        importlib.import_module(name)
