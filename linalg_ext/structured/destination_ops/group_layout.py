"""How groups are laid out in MLIR's generic form: what the text and the ops agree on.

Inputs, destinations and results have an optional slot each, and attributes count those that are
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
