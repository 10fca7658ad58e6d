"""Ops of the library on small arrays, evaluated by the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from core_ops import Problem
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.shapes import check_shapes, infer_extents
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
    (result,) = references(op, inputs, [before], attributes)
    return result


def references(
    op: StructuredOp,
    inputs: list[Array],
    before: list[Array],
    attributes: Mapping[str, Any] | None = None,
) -> list[Array]:
    """The results of an op, one for each output."""
    return problem_of(op, inputs, before, attributes).reference()


def problem_of(
    op: StructuredOp,
    inputs: list[Array],
    before: list[Array],
    attributes: Mapping[str, Any] | None = None,
) -> Problem:
    """An op with the arrays that it is called on, its shapes checked."""
    definition = op.definition
    operands = (*definition.inputs, *definition.outputs)
    arrays = {o.name: a for o, a in zip(operands, [*inputs, *before], strict=True)}
    dtypes = {str(definition.operand(name).type_var): a.dtype for name, a in arrays.items()}
    call = resolve_attributes(definition, attributes or {})
    extents: Mapping[str, int] = {}
    if not definition.is_rank_polymorphic:
        shapes = {o.name: arrays[o.name].shape for o in definition.operands if o.kind.is_tensor}
        extents = infer_extents(definition, shapes, call.symbols)
        check_shapes(definition, shapes, call.symbols, extents)
    return Problem(op, arrays, extents, dtypes, attributes or {})
