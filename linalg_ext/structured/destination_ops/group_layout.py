"""The layout of groups in MLIR's generic form, shared by the text form and the ops.

Inputs, destinations and results have an optional slot each, and attributes count the slots that are
taken: a variadic operand would have to be of one type.
"""

from __future__ import annotations

GROUPS = ("isolated_group", "group")
YIELD = "group_yield"

INPUT_SLOTS, INIT_SLOTS = 64, 16

LABEL, TILING, PRESERVE = "label", "tiling", "preserve"
OPERAND_SEGMENTS, RESULT_SEGMENTS = "operandSegmentSizes", "resultSegmentSizes"

SAID = frozenset((LABEL, TILING, PRESERVE, OPERAND_SEGMENTS, RESULT_SEGMENTS))
"""The attributes that have a place of their own in the readable form."""
