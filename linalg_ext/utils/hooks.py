"""Handlers that lower rooms need from higher ones: a table, filled from above, loaded when used.

The language has ops and no MLIR. A call of an op on arrays must reach the compiler all the same. So
the rooms above register their handlers here by name, and nothing is imported before it is needed.
The public names of a room can be imported on first use in the same way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_HANDLERS: dict[str, str] = {}


def register(task: str, handler: str) -> None:
    """Say who handles a task, as `"module:function"`. The last word counts."""
    _HANDLERS[task] = handler


def handler(task: str) -> Any:
    """The function that handles a task.

    Raises:
        LookupError: no function is registered for it.
    """
    module, _, function = _HANDLERS[task].partition(":")
    return getattr(import_module(module), function)


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`, which imports the file that defines a name, once.

    Args:
        package: its full name, `__name__` there.
        homes: the files of the package, and the public names in each, with spaces between.
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
    """Return whether a value is one of dask's collections, such as a dask array.

    Such collections have handlers of their own.
    """
    return hasattr(type(value), "__dask_graph__")
