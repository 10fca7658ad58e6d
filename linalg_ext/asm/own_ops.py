"""The ops of our own dialect in their readable form.

%r = linalg_ext.contract ins(%a, %b, %c : tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x5xf32>)
       outs(%o : tensor<2x5xf32>)
       indexing_maps = [affine_map<(i, l, j, k) -> (i, j)>, affine_map<(i, l, j, k) -> (j, k)>,
                        affine_map<(i, l, j, k) -> (k, l)>, affine_map<(i, l, j, k) -> (i, l)>]
       kind = "+*" compute_type = f64 -> tensor<2x5xf32>
%s = linalg_ext.elementwise ins(%x : tensor<16xf32>, %y : tensor<16x64xf32>)
       outs(%o : tensor<16x64xf32>) kind = add broadcast_a = [1] -> tensor<16x64xf32>
"""

from __future__ import annotations

from linalg_ext.asm.parsed_operands import SpelledValues
from linalg_ext.bindings import ir
from linalg_ext.definition.operand_maps import add_readings
from linalg_ext.definition.renaming import Renaming
from linalg_ext.errors import ArgumentError, LinalgExtError, ShapeError
from linalg_ext.structured.extension import (
    COMPUTE_TYPE,
    ELEMENTWISE,
    KIND,
    SEGMENTS,
    extension_definition,
    segments,
)
from linalg_ext.structured.operands import static_sizes
from linalg_ext.structured.structured_checks import check_extension_op


def build_own_op(values: SpelledValues) -> ir.Operation:
    """Build the op at the current insertion point.

    Raises:
        ArgumentError: it breaks one of its rules.
    """
    attributes = values.attributes
    for name, meaning in values.sugar.items():
        # The op has no word for the transpose of a matrix.
        is_matrix = meaning is True
        key = name.replace("transpose_", "permutation_") if is_matrix else name
        attributes[key] = _permutation() if is_matrix else values.said[name]
    kind = attributes.get(KIND)
    if values.name == ELEMENTWISE and isinstance(kind, ir.StringAttr) and kind.value.isidentifier():
        attributes[KIND] = _kind(kind)
    if values.compute_type is not None:
        attributes[COMPUTE_TYPE] = values.compute_type
    op = ir.Operation.create(
        values.name,
        results=[values.output.type],
        operands=[*values.inputs, values.output],
        attributes={**attributes, SEGMENTS: segments(len(values.inputs))},
    )
    try:
        check_extension_op(op)
    except ShapeError as error:
        raise _with_readings(error, op) from None
    except LinalgExtError:
        op.erase()
        raise
    return op


def _with_readings(error: ShapeError, op: ir.Operation) -> ArgumentError:
    """Add a hint to an error: the keywords that may be meant, by the operands' letters.

    The op is erased.
    """
    if error.hint is None and op.name == ELEMENTWISE:
        definition = extension_definition(op)
        operands = [*definition.inputs, *definition.outputs]
        shapes = {
            operand.name.lower(): static_sizes(value)
            for operand, value in zip(operands, op.operands, strict=True)
            if operand.kind.is_tensor
        }
        lower = Renaming(operands={operand.name: operand.name.lower() for operand in operands})
        add_readings(error, lower.definition(definition), shapes, {})
    op.erase()
    return error


def _permutation() -> ir.Attribute:
    return ir.Attribute.parse("[1, 0]")


def _kind(word: ir.StringAttr) -> ir.Attribute:
    try:
        return ir.Attribute.parse(f"#linalg.elementwise_kind<{word.value}>")
    except ir.MLIRError:
        return word  # the op's own rules tell what is wrong with it
