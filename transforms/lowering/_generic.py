"""What several passes ask of an op with indexing maps: a generic, or a contraction."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir


def maps_of(op: Any) -> list[Any]:
    """The indexing map of each operand, those of the outputs last."""
    return [ir.AffineMapAttr(one).value for one in ir.ArrayAttr(op.attributes["indexing_maps"])]


def parallel_loops(op: Any) -> tuple[bool, ...]:
    """Of each loop of a `linalg.generic`, outermost first, whether it is parallel."""
    return tuple("parallel" in str(one) for one in ir.ArrayAttr(op.attributes["iterator_types"]))


def input_count(op: Any) -> int:
    """How many of the operands are inputs; the outputs come after them."""
    return int(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0])
