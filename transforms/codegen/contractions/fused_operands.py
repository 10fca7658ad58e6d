"""Operands that a contraction computes while it packs them, and contractions that pack."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import RecognitionError
from linalg_ext.structured.contraction_form import contraction_of
from linalg_ext.structured.recognition import recognize
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.base.payload import captured_scalars, read_payload
from linalg_ext.transforms.ir_utils.generics import maps_of
from linalg_ext.transforms.ir_utils.walking import producer

from ._products import SUMS


def is_contraction(op: Any) -> bool:
    """Return whether a generic is a contraction of two tensors."""
    if len(op.operands) != 3 or len(op.results) != 1:
        return False
    if not all(isinstance(value.type, ir.ShapedType) for value in op.operands):
        return False  # a scalar is no operand of a matrix product
    try:
        contraction = contraction_of(recognize(op))
    except RecognitionError:
        return False
    return contraction is not None and bool(contraction.contracted) and not contraction.lone


def is_packed(op: Any) -> bool:
    """Return whether a generic is a contraction of tensors whose operands are packed."""
    return str(op.results[0].type.element_type) in SUMS and is_contraction(op)


def is_widened(value: Any) -> bool:
    """Return whether packing can compute a value from an operand of fewer bits.

    A cast is an example, or a dequantization: the wide operand is then never in memory. Every loop
    of the value's op must index the narrow operand.
    """
    if not this_machine().has_fma:
        return False
    op = producer(value)
    inside = list(op.regions[0].blocks[0].arguments)[:-1]
    maps = maps_of(op)
    if len(op.results) != 1 or not all(map_.is_projected_permutation for map_ in maps):
        return False
    largest = max(maps[:-1], key=lambda map_: len(map_.results), default=None)
    if largest is None or len(largest.results) < maps[-1].n_dims:
        return False
    read = op.operands[maps.index(largest)].type
    if not isinstance(read, ir.ShapedType) or _bits(read) >= _bits(op.results[0].type):
        return False
    known = {value: number for number, value in enumerate([*inside, *captured_scalars(op)])}
    payload = read_payload(op, known, len(known))
    return not isinstance(payload, str) and not payload.is_long


def _bits(type_: Any) -> int:
    element = str(type_.element_type).lstrip("bfi")
    return int(element) if element.isdigit() else 64
