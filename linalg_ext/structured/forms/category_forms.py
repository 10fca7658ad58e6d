"""Upstream's category ops, chosen for what a structured op computes.

`linalg.elementwise` says by its kind which function it applies, and by its maps how its operands
are transposed and broadcast; `linalg.contract` says by its maps which contraction it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineMap
from linalg_ext.definition.functions import BINARY, UNARY, Function
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr, ScalarOperand
from linalg_ext.structured.forms.categories import build_contract, build_elementwise
from linalg_ext.structured.recognition import RecognizedOp
from linalg_ext.structured.recognition.agreement import kept_if_same
from linalg_ext.structured.recognition.contraction_pairs import contraction_of
from linalg_ext.structured.utils.constants import is_float


def build_category(recognized: RecognizedOp) -> ir.Operation | None:
    """Build the category op that computes the same, at the current insertion point.

    Returns:
        `linalg.elementwise` or `linalg.contract`; None where neither says it.
    """
    if not recognized.is_uniform:
        return None
    built = _elementwise(recognized)
    return _contract(recognized) if built is None else built


def _elementwise(recognized: RecognizedOp) -> ir.Operation | None:
    """One function of the inputs, which may be transposed, broadcast or scalars; no cast."""
    definition = recognized.definition
    if len(definition.outputs) != 1 or definition.reduction_dims:
        return None
    (assignment,) = definition.assignments
    value = assignment.value
    if assignment.reads_target or not isinstance(value, Apply) or value.attribute is not None:
        return None
    function, args = _with_upstream_name(value, recognized)
    order = _positions(definition, args)
    if order is None or any(len(accesses) > 1 for accesses in definition.accesses.values()):
        return None
    inputs = [recognized.inputs[position] for position in order]
    if function.name == "select" and _element(inputs[0]) != "i1":
        return None
    names = [definition.inputs[position].name for position in order]
    maps = _maps(definition, [*names, definition.outputs[0].name])
    built = build_elementwise(function, inputs, recognized.outputs[0], maps)
    return None if built is None else kept_if_same(built, recognized, order)


def _contract(recognized: RecognizedOp) -> ir.Operation | None:
    """A sum of products of two operands, each dimension of which two of the three have."""
    contraction = contraction_of(recognized)
    if contraction is None:
        return None
    definition = recognized.definition
    operands = [operand.name for operand in (*definition.inputs, *definition.outputs)]
    built = build_contract(
        recognized.inputs,
        recognized.outputs[0],
        _maps(definition, operands),
        cast="cast_unsigned" if contraction.unsigned else "cast_signed",
    )
    return None if built is None else kept_if_same(built, recognized, (0, 1))


def _with_upstream_name(
    value: Apply, recognized: RecognizedOp
) -> tuple[Function, tuple[ScalarExpr, ...]]:
    """A function and its arguments as upstream has them: it has the square of floats alone."""
    is_square = value.function == UNARY["square"]
    if is_square and not is_float(ir.ShapedType(recognized.outputs[0].type).element_type):
        return BINARY["mul"], (*value.args, *value.args)
    return value.function, value.args


def _positions(definition: OpDefinition, args: Sequence[ScalarExpr]) -> tuple[int, ...] | None:
    """Return the position of the input that each argument reads.

    None where an argument is an expression, or an input is no argument.
    """
    names = [operand.name for operand in definition.inputs]
    read = [arg.operand for arg in args if isinstance(arg, (Access, ScalarOperand))]
    if len(read) != len(args) or {*read} != {*names}:
        return None
    return tuple(names.index(name) for name in read)


def _maps(definition: OpDefinition, operands: Sequence[str]) -> list[AffineMap]:
    """The indexing maps of operands, scalars everywhere the same."""
    accesses = (definition.accesses.get(operand, ((),))[0] for operand in operands)
    return [AffineMap(definition.dims, (), indices) for indices in accesses]


def _element(value: ir.Value) -> str:
    kind = value.type
    return str(ir.ShapedType(kind).element_type if isinstance(kind, ir.ShapedType) else kind)
