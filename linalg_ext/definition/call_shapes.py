"""The shapes of the operands when an op is called on arrays or on traced values."""

from __future__ import annotations

from collections.abc import Mapping

from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.operand_maps import add_readings
from linalg_ext.definition.shapes import check_rank, check_shapes, infer_extents, output_shape
from linalg_ext.errors import ShapeError

Shape = tuple[int, ...]


def resolve_shapes(
    definition: OpDefinition,
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    attributes: CallAttributes,
) -> dict[str, Shape]:
    """The shape of each tensor operand; those of outputs that are not given follow from the rest.

    Raises:
        ShapeError: shapes do not fit together, or do not determine an output's.
    """
    try:
        return _resolved(definition, inputs, outputs, attributes)
    except ShapeError as error:
        raise add_readings(error, definition, {**inputs, **outputs}, attributes.symbols) from None


def _resolved(
    definition: OpDefinition,
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    attributes: CallAttributes,
) -> dict[str, Shape]:
    if definition.is_rank_polymorphic:
        return _elementwise(definition, inputs, outputs)
    shapes = {**inputs, **outputs}
    for name, shape in shapes.items():
        check_rank(definition, name, len(shape))
    extents = infer_extents(definition, shapes, attributes.symbols)
    for output in definition.outputs:
        shapes.setdefault(output.name, output_shape(definition, output.name, extents))
    check_shapes(definition, shapes, attributes.symbols, extents)
    return shapes


def _elementwise(
    definition: OpDefinition, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]
) -> dict[str, Shape]:
    """An element-wise op takes operands of one shape, and inputs of rank 0; none is broadcast."""
    given = {**inputs, **outputs}
    if not given:
        raise ShapeError(
            f"{definition.name}: no operand has a shape", hint="give out=, which says how large"
        )
    ranked = {name: shape for name, shape in given.items() if shape}
    first, shape = next(iter((ranked or given).items()))
    for name, other in given.items():
        if other != shape and (other or name in outputs):
            raise ShapeError(
                f"{definition.name}: {name} has shape {other}, but {first} has shape {shape}",
                expected="operands of one shape; inputs may be of rank 0",
                hint="broadcast it yourself: numpy.broadcast_to(array, shape)",
            )
    return {**inputs, **{output.name: shape for output in definition.outputs}}
