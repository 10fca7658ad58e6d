"""Upstream's category ops, chosen for what a structured op computes.

`linalg.elementwise` says by its kind which function it applies, and by its maps how its operands
are transposed and broadcast; `linalg.contract` says by its maps which contraction it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.affine import AffineMap
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr, ScalarOperand
from linalg_ext.structured.agreement import kept_if_same
from linalg_ext.structured.contractions import Contraction, contraction_of, plain_dims
from linalg_ext.structured.matmul_family import build_with_maps, is_uniform
from linalg_ext.structured.operands import to_ir_map
from linalg_ext.structured.recognition import RecognizedOp

_ON_FLOATS = frozenset(
    (
        *("exp", "log", "abs", "ceil", "floor", "negf", "reciprocal", "round", "sqrt", "rsqrt"),
        *("square", "tanh", "erf"),
        *("add", "sub", "mul", "div", "max_signed", "min_signed", "powf", "select"),
    )
)
_ON_INTEGERS = frozenset(
    (
        *("add", "sub", "mul", "div", "div_unsigned"),
        *("max_signed", "min_signed", "max_unsigned", "min_unsigned", "select"),
    )
)
_ON_BOOLEANS = frozenset(("add", "mul", "max_signed", "min_signed", "select"))
_ON_COMPLEX = frozenset(("add", "sub", "mul", "div", "select"))
_ON_INDICES = frozenset(("select",))


@dataclass(frozen=True)
class ElementwiseForm:
    """An element-wise op: one function of operands that are transposed and broadcast by maps.

    Attributes:
        kind: the function, by upstream's name for it.
        order: which input of the other op each operand is.
    """

    kind: str
    order: tuple[int, ...]


@dataclass(frozen=True)
class ContractForm:
    """A contraction by its maps.

    Attributes:
        contraction: what it is.
        order: which input of the other op each operand is.
        unsigned: whether integers are read as unsigned where they are cast.
    """

    contraction: Contraction
    order: tuple[int, int]
    unsigned: bool


def build_category(recognized: RecognizedOp) -> ir.Operation | None:
    """Build the category op that computes the same, at the current insertion point.

    Returns:
        `linalg.elementwise` or `linalg.contract`; None where neither says it.
    """
    elementwise = elementwise_form(recognized)
    if elementwise is not None:
        return _build_elementwise(elementwise, recognized)
    contract = contract_form(recognized)
    if contract is not None:
        return _build_contract(contract, recognized)
    return None


def elementwise_form(recognized: RecognizedOp) -> ElementwiseForm | None:
    """An op as `linalg.elementwise`; None where that does not say it.

    It does not where the op reduces, casts, computes more than one function, or reads a tensor at
    anything but different dimensions; nor where upstream has no such kind for the element type.
    """
    definition = recognized.definition
    if len(definition.outputs) != 1 or definition.reduction_dims:
        return None
    (assignment,) = definition.assignments
    if assignment.reads_target or not isinstance(assignment.value, Apply):
        return None
    value = assignment.value
    if value.function.name == "square" and not _is_float(recognized):
        value = Apply(value.function, (*value.args, *value.args))
        kind = "mul"
    else:
        kind = value.function.name
    order = _positions(definition, value.args)
    if order is None or kind not in _kinds(recognized) or not is_uniform(recognized):
        return None
    if kind == "select" and str(_element(recognized.inputs[order[0]])) != "i1":
        return None
    if any(_indices(definition, operand) is None for operand in _names(definition)):
        return None
    return ElementwiseForm(kind, order)


def contract_form(recognized: RecognizedOp) -> ContractForm | None:
    """An op as `linalg.contract`; None where that does not say it.

    Upstream's op contracts at least one dimension, and each of its dimensions belongs to two of its
    operands at least.
    """
    contraction = contraction_of(recognized)
    if contraction is None or not contraction.contracted or contraction.lone:
        return None
    return ContractForm(contraction, (0, 1), contraction.unsigned)


def _build_elementwise(form: ElementwiseForm, recognized: RecognizedOp) -> ir.Operation | None:
    definition = recognized.definition
    inputs = [recognized.inputs[position] for position in form.order]
    names = [definition.inputs[position].name for position in form.order]
    maps = _maps(definition, [*names, definition.outputs[0].name])
    op = linalg.ElementwiseOp(
        [v.type for v in recognized.outputs if isinstance(v.type, ir.RankedTensorType)],
        inputs,
        list(recognized.outputs),
        ir.Attribute.parse(f"#linalg.elementwise_kind<{form.kind}>"),
        indexing_maps=ir.ArrayAttr.get([ir.AffineMapAttr.get(map) for map in maps]),
    ).operation
    linalg.fill_builtin_region(op)
    return kept_if_same(op, recognized, form.order)


def _build_contract(form: ContractForm, recognized: RecognizedOp) -> ir.Operation | None:
    definition = recognized.definition
    maps = _maps(definition, _names(definition))
    return build_with_maps(linalg.ContractOp, recognized, maps, form)


def _names(definition: OpDefinition) -> list[str]:
    return [operand.name for operand in (*definition.inputs, *definition.outputs)]


def _indices(definition: OpDefinition, operand: str) -> tuple[str, ...] | None:
    """The dimensions of an operand, none for a scalar; None where an index is no dimension."""
    accesses = definition.accesses.get(operand, ((),))
    return plain_dims(accesses[0]) if len(accesses) == 1 else None


def _maps(definition: OpDefinition, operands: Sequence[str]) -> list[ir.AffineMap]:
    accesses = (definition.accesses.get(operand, ((),))[0] for operand in operands)
    return [to_ir_map(AffineMap(definition.dims, (), indices)) for indices in accesses]


def _positions(definition: OpDefinition, args: Sequence[ScalarExpr]) -> tuple[int, ...] | None:
    """Which input each argument is; None where one is an expression, or an input is no argument."""
    if not all(isinstance(arg, (Access, ScalarOperand)) for arg in args):
        return None
    names = [operand.name for operand in definition.inputs]
    read = [arg.operand for arg in args if isinstance(arg, (Access, ScalarOperand))]
    if {*read} != {*names}:
        return None
    return tuple(names.index(name) for name in read)


def _element(value: ir.Value) -> ir.Type:
    kind = value.type
    return ir.ShapedType(kind).element_type if isinstance(kind, ir.ShapedType) else kind


def _is_float(recognized: RecognizedOp) -> bool:
    return isinstance(_element(recognized.outputs[0]), ir.FloatType)


def _kinds(recognized: RecognizedOp) -> frozenset[str]:
    """The kinds that upstream has for the element type of the result: of others its parser dies."""
    element = _element(recognized.outputs[0])
    if isinstance(element, ir.IntegerType):
        return _ON_BOOLEANS if element.width == 1 else _ON_INTEGERS
    by_class: Mapping[type[ir.Type], frozenset[str]] = {
        ir.IndexType: _ON_INDICES,
        ir.ComplexType: _ON_COMPLEX,
    }
    return _ON_FLOATS if _is_float(recognized) else by_class.get(type(element), frozenset())
