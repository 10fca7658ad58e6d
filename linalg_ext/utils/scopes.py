"""Values of context variables that hold inside `with` blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Value = TypeVar("Value")


@contextmanager
def holding(variable: ContextVar[Any], value: Value) -> Iterator[Value]:
    """Give a variable a value inside the `with` block, which receives the value."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)
