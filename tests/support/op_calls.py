"""Ops of the library on small arrays, evaluated by the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.model import OperandKind
from linalg_ext.definition.reference import evaluate
from linalg_ext.definition.shapes import check_shapes, infer_extents
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.opdsl import StructuredOp

Array = NDArray[Any]


def reference(
    op: StructuredOp,
    inputs: list[Array],
    before: Array,
    attributes: Mapping[str, Any] | None = None,
) -> Array:
    """The result of an op with one output.

    Args:
        op: the op.
        inputs: an array for each input, of rank 0 for a scalar.
        before: what the output holds before the op.
        attributes: those of the call.
    """
    if not op.definition.is_rank_polymorphic:
        return _evaluate(op, inputs, before, attributes or {})
    result = np.empty_like(before)
    scalar = [operand.kind is OperandKind.SCALAR for operand in op.definition.inputs]
    for place in np.ndindex(*before.shape):
        elements = [
            array if is_scalar else np.asarray(array[place])
            for array, is_scalar in zip(inputs, scalar, strict=True)
        ]
        result[place] = _evaluate(op, elements, np.asarray(before[place]), attributes or {})
    return result


def _evaluate(
    op: StructuredOp, inputs: list[Array], before: Array, attributes: Mapping[str, Any]
) -> Array:
    definition = op.definition
    arrays = {
        operand.name: array
        for operand, array in zip(
            (*definition.inputs, *definition.outputs), [*inputs, before], strict=True
        )
    }
    dtypes = {
        str(definition.operand(name).type_var): array.dtype
        for name, array in arrays.items()
        if str(definition.operand(name).type_var) not in PREDEFINED
    }
    call = resolve_attributes(definition, attributes)
    shapes = {
        operand.name: arrays[operand.name].shape
        for operand in definition.operands
        if operand.kind.is_tensor
    }
    extents = infer_extents(definition, shapes, call.symbols)
    check_shapes(definition, shapes, call.symbols, extents)
    (result,) = evaluate(definition, arrays, extents, dtypes, call)
    return result
