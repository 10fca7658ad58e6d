"""Where a lower room needs a higher one: a table of handlers, filled from above, loaded when used.

The language knows ops and no MLIR; a call of an op on arrays must all the same reach the compiler.
So the rooms above say here, by name, who does what, and nothing is imported before it is needed.
"""

from __future__ import annotations

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


def is_dask(value: object) -> bool:
    """Whether this is a collection of dask's, such as a dask array: it has handlers of its own."""
    return hasattr(type(value), "__dask_graph__")
