"""Static arguments by annotation: values that a function is traced for, once each.

@lx.jit
def scaled(x: np.ndarray, times: lx.Static[int], mode: Literal["up", "down"]): ...
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

T = TypeVar("T")


class _Mark:
    """The mark of a static parameter, among the metadata of its annotation."""

    def __repr__(self) -> str:
        return "static"


_MARK = _Mark()

Static = Annotated[T, _MARK]
"""The type of a static parameter: `times: Static[int]` is an int to a type checker."""


def static_by_annotation(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the parameters of a function that are annotated as `Static`, or as a `Literal`."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception:  # names that are there for type checkers alone, or no function of Python's
        return ()
    return tuple(name for name, hint in hints.items() if name != "return" and _is_static(hint))


def _is_static(hint: Any) -> bool:
    return typing.get_origin(hint) is Literal or _MARK in getattr(hint, "__metadata__", ())
