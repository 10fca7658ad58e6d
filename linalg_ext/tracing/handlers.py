"""Methods of traced values whose files record.

The facade `tracing`; each function imports what handles it when it is first called: those files
need the class of traced values, which calls them.
"""

from __future__ import annotations

from typing import Any


def ufunc(ufunc: Any, method: Any, inputs: Any, keywords: Any) -> Any:
    """Record a ufunc."""
    from linalg_ext.tracing.dispatch import on_ufunc as handle

    return handle(ufunc, method, inputs, keywords)


def function(function: Any, arguments: Any, keywords: Any) -> Any:
    """Record one of NumPy's functions."""
    from linalg_ext.tracing.dispatch import on_function as handle

    return handle(function, arguments, keywords)


def names() -> Any:
    """Return the names of all functions that are recorded."""
    from linalg_ext.tracing.numpy_functions import recorded_names as handle

    return handle()


def namespace() -> Any:
    """Return the module of `x.__array_namespace__()`."""
    from linalg_ext.tracing.array_api import namespace as handle

    return handle()


def part(value: Any, index: Any) -> Any:
    """Record the part that an index names."""
    from linalg_ext.tracing.dispatch import on_part as handle

    return handle(value, index)


def update(value: Any, index: Any, combine: Any, values: Any) -> Any:
    """Record an array with one part updated."""
    from linalg_ext.tracing.dispatch import on_update as handle

    return handle(value, index, combine, values)


def assign(value: Any, index: Any, new: Any) -> None:
    """Record a write into a value."""
    from linalg_ext.tracing.dispatch import on_assignment as handle

    handle(value, index, new)


def make(recorded: Any, arguments: Any, keywords: Any) -> Any:
    """Record an array made of traced values, or of open sizes."""
    from linalg_ext.tracing.dispatch import on_made as handle

    return handle(recorded, arguments, keywords)
