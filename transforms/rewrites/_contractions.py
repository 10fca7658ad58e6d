"""Contractions of tensors on their way to `linalg_ext.contract`: read from an op, and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from linalg_ext.bindings import ir, tensor
from linalg_ext.definition.affine import AffineDim, AffineSymbol
from linalg_ext.definition.functions import Function
from linalg_ext.definition.initial import neutral_element
from linalg_ext.definition.model import Assignment, OpDefinition, Operand, OperandKind
from linalg_ext.definition.renaming import rewrite_expression
from linalg_ext.definition.scalar import Access, ScalarExpr, ScalarOperand
from linalg_ext.errors import DTypeError
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.structured.contraction.steps import ContractionCall, fill_number
from linalg_ext.structured.destination_ops.contract import MOST_INPUTS
from linalg_ext.structured.extension.attributes import CONTRACT
from linalg_ext.structured.forms.most_specific import build_plain
from linalg_ext.structured.recognition import RecognizedOp
from linalg_ext.structured.recognition.contraction_form import ContractionForm, Factor
from linalg_ext.structured.utils.outputs import RuntimeSize, sizes_of

from ._windows import Extents, Overlapping, View, dropped, view_of, viewed

Labels = tuple[str, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class Contraction(ContractionCall):
    """A contraction, and the order in which its dimensions are named.

    Attributes:
        dims: the iteration space, outermost first.
    """

    dims: Labels

    @classmethod
    def of_call(cls, call: ContractionCall) -> Contraction:
        """The contraction of an op of our own."""
        dims = dict.fromkeys(label for own in (call.output, *call.labels) for label in own)
        return cls(**vars(call), dims=tuple(dims))


@dataclass(frozen=True)
class Views:
    """The operands of a contraction as views that are read by plain dimensions.

    Attributes:
        factors: for each factor.
        output: for the destination; it has no windows, and may have dimensions to drop.
        extents: of the iteration space.
    """

    factors: tuple[View, ...]
    output: View
    extents: Extents

    @property
    def dropped(self) -> list[int]:
        """The dimensions of the destination that the contraction does not need."""
        return [i for i, axis in enumerate(self.output.axes) if not axis.dims]


def views_of(recognized: RecognizedOp, form: ContractionForm) -> Views | str:
    """Return the operands of a contraction as read by plain dimensions, or why they are not."""
    values = {
        operand.name: value
        for operand, value in zip(recognized.definition.inputs, recognized.inputs, strict=True)
    }
    (destination,) = recognized.outputs
    operands = [(values[factor.operand], factor.indices) for factor in form.factors]
    extents = Extents([*operands, (destination, form.output)])
    try:
        factors = tuple(view_of(value, indices, extents) for value, indices in operands)
        output = view_of(destination, form.output, extents)
    except Overlapping as reason:
        return str(reason)
    shape = ir.ShapedType(destination.type)
    for position, axis in enumerate(output.axes):
        if not axis.dims and shape.is_dynamic_dim(position):
            return "the size of a dimension of its result is known for an operand alone"
    covered = {label for view in (*factors, output) for label in view.labels}
    for dim in form.dims:
        if dim not in covered and dim not in extents.units:
            return f"dimension {dim} is one of no operand that is multiplied"
    return Views(factors, output, extents)


def contraction_on_views(
    recognized: RecognizedOp, form: ContractionForm, views: Views, compute: ir.Type
) -> Contraction:
    """The contraction on operands read by plain dimensions, which are made where they are not."""
    values = {
        operand.name: value
        for operand, value in zip(recognized.definition.inputs, recognized.inputs, strict=True)
    }
    inputs = tuple(
        viewed(_read(recognized, factor, values), view, views.extents)
        for factor, view in zip(form.factors, views.factors, strict=True)
    )
    return Contraction(
        inputs,
        dropped(recognized.outputs[0], views.dropped),
        tuple(view.labels for view in views.factors),
        views.output.labels,
        form.kind,
        form.cast,
        not form.accumulates,
        compute,
        tuple(dim for dim in form.dims if dim not in views.extents.units),
    )


def _read(recognized: RecognizedOp, factor: Factor, values: dict[str, ir.Value]) -> ir.Value:
    """A factor as a tensor or a scalar: a zero point is subtracted, in the type of the result."""
    value = values[factor.operand]
    if factor.difference is None:
        return value
    definition = recognized.definition
    rank = ir.ShapedType(value.type).rank
    dims = tuple(f"d{axis}" for axis in range(rank))
    indices = tuple(map(AffineDim, dims))
    shape = tuple(AffineSymbol(f"S{axis}") for axis in range(rank))
    result = definition.outputs[0].type_var
    if result is None:
        raise DTypeError("a tensor has an element type")

    def placed(expr: ScalarExpr) -> ScalarExpr:
        return replace(expr, indices=indices) if isinstance(expr, Access) else expr

    scalars = dict.fromkeys(
        expr.operand for expr in factor.difference.walk() if isinstance(expr, ScalarOperand)
    )
    operands = [
        replace(definition.operand(factor.operand), shape=shape, index_dims=None),
        *(definition.operand(name) for name in scalars),
        Operand("difference", OperandKind.OUTPUT_TENSOR, result, shape),
    ]
    target = Access("difference", indices, result)
    difference = OpDefinition(
        "difference",
        "DifferenceOp",
        "",
        tuple(operands),
        dims,
        (Assignment(target, rewrite_expression(factor.difference, placed)),),
    )
    sizes = [size.value if isinstance(size, RuntimeSize) else size for size in sizes_of(value)]
    element = ir.ShapedType(recognized.outputs[0].type).element_type
    empty = tensor.EmptyOp(sizes, element).result
    inputs = (value, *(values[name] for name in scalars))
    made: ir.Value = build_plain(
        RecognizedOp(difference, inputs, (empty,), recognized.types)
    ).results[0]
    return made


def merged(contraction: Contraction) -> tuple[Contraction, list[ir.Operation]]:
    """A contraction with those merged into it that give its operands and nothing else.

    Only where nothing is rounded between the two: what is merged is of the type that is computed
    in, in the same semiring, and starts from nothing.

    Returns:
        The contraction, and the ops that are in it now.
    """
    gone: list[ir.Operation] = []
    position = 0
    while position < len(contraction.inputs):
        producer = _producer(contraction.inputs[position])
        joined = None
        if producer is not None and producer not in gone:
            joined = _joined(contraction, position, ContractionCall.of(producer), len(gone))
        if producer is None or joined is None:
            position += 1
            continue
        contraction = joined
        gone.append(producer)
    return contraction, gone


def _producer(value: ir.Value) -> ir.Operation | None:
    """The contract that gives a value for this one use."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != CONTRACT:
        return None
    return owner.operation if len(list(value.uses)) == 1 else None


def _joined(
    contraction: Contraction, position: int, producer: ContractionCall, number: int
) -> Contraction | None:
    cast = _joined_cast(contraction, position, producer)
    fits = (
        producer.kind.name == contraction.kind.name
        and contraction.distributes
        and cast is not None
        and _element(producer.destination) == producer.compute == contraction.compute
        and starts_from_nothing(producer)
        and {*producer.output} <= {label for own in producer.labels for label in own}
        and len(contraction.inputs) + len(producer.inputs) - 1 <= MOST_INPUTS
    )
    if not fits or cast is None:
        return None
    names = dict(zip(producer.output, contraction.labels[position], strict=True))
    summed = [x for own in producer.labels for x in own if x not in names]
    names.update({label: f"{label}_{number}" for label in summed})
    labels = [tuple(names[label] for label in own) for own in producer.labels]
    return replace(
        contraction,
        inputs=_spliced(contraction.inputs, position, producer.inputs),
        labels=_spliced(contraction.labels, position, labels),
        dims=tuple(dict.fromkeys((*contraction.dims, *(names[label] for label in summed)))),
        cast=cast,
    )


def _joined_cast(
    contraction: Contraction, position: int, producer: ContractionCall
) -> Function | None:
    """The cast of all operands of both; None where they are cast in two ways."""
    others = [v for i, v in enumerate(contraction.inputs) if i != position]
    if producer.cast == contraction.cast or _are_of(producer.inputs, contraction.compute):
        return contraction.cast
    return producer.cast if _are_of(others, contraction.compute) else None


def _are_of(values: Sequence[ir.Value], element: ir.Type) -> bool:
    return all(_element(value) == element for value in values)


def starts_from_nothing(call: ContractionCall) -> bool:
    """Return whether a contraction gives its sum alone: its destination is the neutral element."""
    if call.overwrites:
        return True
    number = fill_number(call.destination)
    known = by_mlir(str(_element(call.destination)))
    if number is None or known is None:
        return False
    try:
        neutral = neutral_element(call.kind.add.name, known.dtype)
    except DTypeError:
        return False
    return bool(number == neutral)


def _spliced(items: Sequence[T], position: int, new: Sequence[T]) -> tuple[T, ...]:
    return (*items[:position], *new, *items[position + 1 :])


def _element(value: ir.Value) -> ir.Type:
    kind = value.type
    return ir.ShapedType(kind).element_type if isinstance(kind, ir.ShapedType) else kind
