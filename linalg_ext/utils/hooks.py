"""Where a lower room needs a higher one: a table of handlers, filled from above, loaded when used.

The language knows ops and no MLIR; a call of an op on arrays must all the same reach the compiler.
So the rooms above say here, by name, who does what, and nothing is imported before it is needed.
The public names of a room can wait likewise until somebody asks for them.
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
        LookupError: nobody does.
    """
    module, _, function = _HANDLERS[task].partition(":")
    return getattr(import_module(module), function)


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """What a package has for `__getattr__`: it imports the file that a name lives in, once.

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
