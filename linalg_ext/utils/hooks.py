"""Facades by which lower rooms reach higher ones, loaded when used.

The language has ops and no MLIR. A call of an op on arrays must reach the compiler all the same. So
a room above has a file of functions for those below, its facade, which imports what it needs when a
function is called. `docs/design.md` lists the facades, under Hooks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_FACADES: dict[str, str] = {}


def register(name: str, module: str) -> None:
    """Say which module is a facade. The last word counts."""
    _FACADES[name] = module


def facade(name: str) -> Any:
    """Return a facade; a LookupError where no module is registered for it."""
    return import_module(_FACADES[name])


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`, which imports the file that defines a name, once.

    `homes` are the files of the package, and the public names in each, with spaces between.
    """

    def load(name: str) -> Any:
        for home, names in homes.items():
            if name in names.split():
                value = getattr(import_module(f"{package}.{home}"), name)
                setattr(sys.modules[package], name, value)
                return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)

    return load


def is_dask(value: object) -> bool:
    """Return whether a value is one of dask's collections, which have handlers of their own."""
    return hasattr(type(value), "__dask_graph__")
