"""Structured ops as live IR: definitions to ops, and back.

Public as `linalg_ext.structured`: `definition_of(op)` is the definition of a `linalg.generic` (or a
named op), `recognize(op)` tells its operands as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linalg_ext.structured.contraction.explanation import (
        ContractionExplanation,
        explain_contraction,
    )
    from linalg_ext.structured.recognition import RecognizedOp, definition_of, recognize

_HOMES = {
    "ContractionExplanation": "contraction.explanation",
    "RecognizedOp": "recognition",
    "definition_of": "recognition",
    "explain_contraction": "contraction.explanation",
    "recognize": "recognition",
}
"""The public names, and the modules that they live in."""

__all__ = [
    "ContractionExplanation",
    "RecognizedOp",
    "definition_of",
    "explain_contraction",
    "recognize",
]


def _load(name: str) -> Any:
    # Importing a module of this room must not load all of it: the language registers handlers here.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from importlib import import_module

    value = getattr(import_module(f"linalg_ext.structured.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists
    __getattr__ = _load


def __dir__() -> list[str]:
    return list(__all__)
