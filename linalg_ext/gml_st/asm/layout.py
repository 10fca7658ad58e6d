"""The layout of the ops of `gml_st` in MLIR's generic form, shared by the text form and the ops.

Operands of several types have an optional slot each, and `operandSegmentSizes` counts them:

    loop        lower.., upper.., step.., inputs (slots), outputs (slots)
    for         lower.., upper.., step.., outputs (slots)
    parallel    lower.., upper.., step..
    yield       values (slots), subsets (slots)
    set_yield   sources (slots), destinations (slots), sets (slots)
    tile        superset, offsets.., sizes.., strides..

A loop's results have slots as well, which `resultSegmentSizes` counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from linalg_ext.structured.mixed import (
    OPERAND_SEGMENTS,
    STATIC_OFFSETS,
    STATIC_SIZES,
    STATIC_STRIDES,
)

INPUT_SLOTS, OUTPUT_SLOTS = 16, 8
"""The greatest number of inputs and of outputs of a loop."""

DYNAMIC = -(2**63)
"""Stands in an array of numbers for one that an operand gives."""

STATIC_INDICES = "static_indices"
REMAINING_DIMS, PERMUTATION = "remaining_dims", "permutation"
ITERATOR_TYPES, DISTRIBUTION = "iterator_types", "distribution"
ACCUMULATOR_FLAGS = "accumulator_flags"
RESULT_SEGMENTS = "resultSegmentSizes"

GENERATED = frozenset(
    (
        STATIC_OFFSETS,
        STATIC_SIZES,
        STATIC_STRIDES,
        STATIC_INDICES,
        REMAINING_DIMS,
        PERMUTATION,
        ITERATOR_TYPES,
        DISTRIBUTION,
        ACCUMULATOR_FLAGS,
        OPERAND_SEGMENTS,
        RESULT_SEGMENTS,
    )
)
"""The attributes that stand elsewhere in the readable form."""


def slots(count: int, room: int) -> list[int]:
    """The segments of `count` values in optional slots."""
    return [1] * count + [0] * (room - count)


def segment_array(name: str, sizes: Iterable[int]) -> str:
    """`operandSegmentSizes = array<i32: 1, 2>`."""
    return f"{name} = array<i32: {', '.join(map(str, sizes))}>"


def number_array(name: str, numbers: Iterable[int | str]) -> str:
    """`static_sizes = array<i64: 4, 8>`."""
    listed = ", ".join(map(str, numbers))
    return f"{name} = array<i64{': ' if listed else ''}{listed}>"


def flag_array(flags: Iterable[bool]) -> str:
    """`accumulator_flags = array<i1: true, false>`."""
    listed = ", ".join("true" if flag else "false" for flag in flags)
    return f"{ACCUMULATOR_FLAGS} = array<i1{': ' if listed else ''}{listed}>"
