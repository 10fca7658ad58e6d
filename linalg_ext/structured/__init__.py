"""Structured ops as live IR: definitions to ops, and back.

Public as `linalg_ext.structured`: `definition_of(op)` is the definition of a `linalg.generic` (or a
named op), `recognize(op)` tells its operands as well. `interface(op)` and `destination_style(op)`
answer what any op is, loop by loop and operand by operand; `covered_memory(view)` says which bytes
of its buffer a view covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linalg_ext.structured.contraction.explanation import (
        ContractionExplanation,
        explain_contraction,
    )
    from linalg_ext.structured.interfaces.destination_style import (
        DestinationStyle,
        check_destination_style,
        destination_style,
        is_destination_style,
    )
    from linalg_ext.structured.interfaces.destinations import declare_destination_style
    from linalg_ext.structured.interfaces.footprints import Footprint, OperandFootprint
    from linalg_ext.structured.interfaces.iteration_space import LoopRange
    from linalg_ext.structured.interfaces.loops import Loop
    from linalg_ext.structured.interfaces.structured_interface import (
        StructuredInterface,
        interface,
        is_structured,
    )
    from linalg_ext.structured.recognition import RecognizedOp, definition_of, recognize
    from linalg_ext.structured.views.memory import CoveredMemory, covered_memory

_HOMES = {
    "ContractionExplanation": "contraction.explanation",
    "CoveredMemory": "views.memory",
    "DestinationStyle": "interfaces.destination_style",
    "Footprint": "interfaces.footprints",
    "Loop": "interfaces.loops",
    "LoopRange": "interfaces.iteration_space",
    "OperandFootprint": "interfaces.footprints",
    "RecognizedOp": "recognition",
    "StructuredInterface": "interfaces.structured_interface",
    "check_destination_style": "interfaces.destination_style",
    "covered_memory": "views.memory",
    "declare_destination_style": "interfaces.destinations",
    "definition_of": "recognition",
    "destination_style": "interfaces.destination_style",
    "explain_contraction": "contraction.explanation",
    "interface": "interfaces.structured_interface",
    "is_destination_style": "interfaces.destination_style",
    "is_structured": "interfaces.structured_interface",
    "recognize": "recognition",
}
"""The public names, and the modules that they live in."""

__all__ = [
    "ContractionExplanation",
    "CoveredMemory",
    "DestinationStyle",
    "Footprint",
    "Loop",
    "LoopRange",
    "OperandFootprint",
    "RecognizedOp",
    "StructuredInterface",
    "check_destination_style",
    "covered_memory",
    "declare_destination_style",
    "definition_of",
    "destination_style",
    "explain_contraction",
    "interface",
    "is_destination_style",
    "is_structured",
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
