"""Structured ops as live IR: definitions to ops, and back.

Public as `linalg_ext.structured`: `definition_of(op)` is the definition of a `linalg.generic` (or a
named op), `recognize(op)` tells its operands as well. `interface(op)` and `destination_style(op)`
describe any op, loop by loop and operand by operand; `covered_memory(view)` says which bytes of its
buffer a view covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linalg_ext.utils.hooks import lazy_names

if TYPE_CHECKING:
    from linalg_ext.structured.contraction import ContractionExplanation, explain_contraction
    from linalg_ext.structured.destination_style_interface import (
        DestinationStyle,
        check_destination_style,
        destination_style,
        is_destination_style,
    )
    from linalg_ext.structured.destinations import declare_destination_style
    from linalg_ext.structured.footprints import Footprint, OperandFootprint
    from linalg_ext.structured.recognition import RecognizedOp, definition_of, recognize
    from linalg_ext.structured.structured_interface import (
        Loop,
        LoopRange,
        StructuredInterface,
        interface,
        is_structured,
    )
    from linalg_ext.structured.views import CoveredMemory, covered_memory

_HOMES = {
    "contraction": "ContractionExplanation explain_contraction",
    "destination_style_interface": (
        "DestinationStyle check_destination_style destination_style is_destination_style"
    ),
    "destinations": "declare_destination_style",
    "footprints": "Footprint OperandFootprint",
    "structured_interface": "Loop LoopRange StructuredInterface interface is_structured",
    "recognition": "RecognizedOp definition_of recognize",
    "views": "CoveredMemory covered_memory",
}
"""The files of this room, and the public names in each."""

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

# Importing a module of this room must not load all of it: the language registers handlers here.
if not TYPE_CHECKING:  # hidden from type checkers, which would accept any name
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return list(__all__)
