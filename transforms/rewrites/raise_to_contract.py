"""Raise every contraction to `linalg_ext.contract`, from any op that expresses one.

before:
    %r = linalg.batch_matmul ins(%a, %b : tensor<2x8x5xf32>, tensor<2x5x7xf32>)
                             outs(%c : tensor<2x8x7xf32>) -> tensor<2x8x7xf32>
after:
    %r = "linalg_ext.contract"(%a, %b, %c) {indexing_maps = [
           affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>,
           affine_map<(b, m, n, k) -> (b, m, n)>],
           operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           0, 0, 0, 0, 0, 0, 0, 1>}
         : (tensor<2x8x5xf32>, tensor<2x5x7xf32>, tensor<2x8x7xf32>) -> tensor<2x8x7xf32>

An op is a contraction by its computation: the matmul family, `matvec`, `dot`, `mmt4d`,
`linalg.contract`, any such generic, in every semiring. Zero points of quantized products are
subtracted by an element-wise op of their own first. A convolution is one where its windows do not
overlap: kernels of one place, strides as long as the kernel, a result of one place; its image is
then read by another shape, without a copy.

On memrefs a contraction of two operands becomes upstream's `linalg.contract`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from linalg_ext.bindings import ir
from linalg_ext.definition.functions import Function
from linalg_ext.definition.initial import neutral_element
from linalg_ext.definition.model import Assignment, OpDefinition, Operand, OperandKind
from linalg_ext.definition.renaming import rewrite_expression
from linalg_ext.definition.scalar import Access, ScalarExpr, ScalarOperand
from linalg_ext.errors import DTypeError, LinalgExtError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.structured.category_forms import build_contract, build_plain
from linalg_ext.structured.contraction import ContractionCall, fill_number
from linalg_ext.structured.contraction_form import ContractionForm, Factor, find_contraction
from linalg_ext.structured.destination_ops import MOST_INPUTS, build_contract_op
from linalg_ext.structured.extension import COMPUTE_TYPE, CONTRACT, discardable_attributes
from linalg_ext.structured.maps import refusal
from linalg_ext.structured.operands import element_of, producer
from linalg_ext.structured.outputs import empty_tensor
from linalg_ext.structured.recognition import RecognizedOp, kept_if_same
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.symbolic.affine import AffineDim, AffineMap, AffineSymbol

from ._arrangements import squeezed, unsqueezed
from ._structured import put_in_place, read
from ._windows import Extents, Overlapping, View, view_of, viewed

_NO_CONTRACTIONS = frozenset(
    (
        *("linalg.fill", "linalg.yield", "linalg.index", "linalg.copy", "linalg.transpose"),
        *("linalg.broadcast", "linalg.pack", "linalg.unpack", "linalg.softmax", "linalg.map"),
    )
)


def _may_contract(name: str) -> bool:
    return name == CONTRACT or (name.startswith("linalg.") and name not in _NO_CONTRACTIONS)


@rewrite("linalg-ext-raise-to-contract", on=_may_contract, driver="walk")
def raise_to_contract(
    op: ir.OpView,
    rewriter: Rewriter,
    *,
    elementwise: bool = False,
    reductions: bool = False,
    merge: bool = False,
) -> bool | MatchFailure:
    """Raise contractions; with options products and sums too, and chains as one (merge)."""
    operation = op.operation
    if operation.name == CONTRACT:
        return _merge(operation, rewriter) if merge else False
    recognized = read(operation)
    if isinstance(recognized, MatchFailure):
        return recognized
    if not recognized.definition.reduction_dims and not elementwise:
        return MatchFailure("the op has no reduction")
    form = find_contraction(recognized.definition, recognized.types)
    if isinstance(form, str):
        return MatchFailure(form)
    if len(form.factors) == 1 and not (reductions and form.summed):
        return MatchFailure("the op multiplies no two operands")
    if len(form.factors) > MOST_INPUTS:
        return MatchFailure(f"the op multiplies more than {MOST_INPUTS} operands")
    views = views_of(recognized, form)
    if isinstance(views, str):
        return MatchFailure(views)
    if not isinstance(recognized.outputs[0].type, ir.RankedTensorType):
        return _on_memrefs(operation, recognized, form, views, rewriter)
    return _on_tensors(operation, recognized, form, views, rewriter, merge=merge)


def _on_tensors(
    op: ir.Operation,
    recognized: RecognizedOp,
    form: ContractionForm,
    views: Views,
    rewriter: Rewriter,
    *,
    merge: bool,
) -> bool | MatchFailure:
    compute = ir.ShapedType(recognized.outputs[0].type).element_type
    if COMPUTE_TYPE in op.attributes:
        if any(factor.difference is not None for factor in form.factors):
            return MatchFailure("the zero points are subtracted in the compute type")
        attribute = op.attributes[COMPUTE_TYPE]
        if not isinstance(attribute, ir.TypeAttr):
            return MatchFailure("the compute type is not a type")
        compute = attribute.value
    contraction = contraction_on_views(recognized, form, views, compute)
    producers: list[ir.Operation] = []
    if merge:
        contraction, producers = merged(contraction)
    result = _built(contraction, op).results[0]
    rewriter.replace_op(op, unsqueezed(result, recognized.outputs[0], views.dropped))
    for contract in producers:
        rewriter.erase_op(contract)
    return True


def _merge(op: ir.Operation, rewriter: Rewriter) -> bool | MatchFailure:
    """Merge a contraction into the contract that reads it."""
    try:
        call = ContractionCall.of(op)
    except LinalgExtError as error:
        return MatchFailure(error.what)
    contraction, producers = merged(Contraction.of_call(call))
    if not producers:
        return False
    rewriter.replace_op(op, _built(contraction, op))
    for contract in producers:
        rewriter.erase_op(contract)
    return True


def _built(contraction: Contraction, op: ir.Operation) -> ir.Operation:
    return build_contract_op(
        contraction.inputs,
        contraction.destination,
        (*contraction.labels, contraction.output),
        contraction.dims,
        kind=contraction.kind,
        cast=contraction.cast,
        overwrite=contraction.overwrites,
        attributes=discardable_attributes(op),
    )


def _on_memrefs(
    op: ir.Operation,
    recognized: RecognizedOp,
    form: ContractionForm,
    views: Views,
    rewriter: Rewriter,
) -> bool | MatchFailure:
    if op.name == "linalg.contract":
        return False
    whole = all(view.is_identity for view in (*views.factors, views.output))
    if any(factor.difference is not None for factor in form.factors) or not whole:
        return MatchFailure("on memrefs its operands would be copied")
    if len(form.factors) != 2 or form.kind.name != "+*" or not form.accumulates:
        return MatchFailure(
            "linalg.contract adds products of two operands, and there is no other here"
        )
    dims = form.dims
    maps = [
        AffineMap(dims, (), tuple(map(AffineDim, view.labels)))
        for view in (*views.factors, views.output)
    ]
    names = [operand.name for operand in recognized.definition.inputs]
    order = [names.index(factor.operand) for factor in form.factors]
    inputs = [recognized.inputs[position] for position in order]
    built = build_contract(inputs, recognized.outputs[0], maps, cast=form.cast.name)
    if built is not None:
        built = kept_if_same(built, recognized, order)
    if built is None:
        return MatchFailure(
            refusal("linalg.contract", maps) or "linalg.contract computes something else"
        )
    return put_in_place(op, built, rewriter)


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
        """Return the contraction of an op of our own."""
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
    """Build the contraction on operands that are read by plain dimensions."""
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
        squeezed(recognized.outputs[0], views.dropped),
        tuple(view.labels for view in views.factors),
        views.output.labels,
        form.kind,
        form.cast,
        not form.accumulates,
        compute,
        tuple(dim for dim in form.dims if dim not in views.extents.units),
    )


def _read(recognized: RecognizedOp, factor: Factor, values: dict[str, ir.Value]) -> ir.Value:
    """Return a factor as a tensor or scalar, its zero point subtracted in the result's type."""
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
    element = ir.ShapedType(recognized.outputs[0].type).element_type
    empty = empty_tensor(sizes_of(value), element)
    inputs = (value, *(values[name] for name in scalars))
    subtraction = RecognizedOp(difference, inputs, (empty,), recognized.types)
    return build_plain(subtraction).results[0]


def merged(contraction: Contraction) -> tuple[Contraction, list[ir.Operation]]:
    """Return a contraction with those merged into it that give its operands and nothing else.

    Only where nothing is rounded between the two: the merged op is of the compute type, in the same
    semiring, and starts from the neutral element.

    Returns:
        The contraction, and the ops that are in it now.
    """
    contracts: list[ir.Operation] = []
    position = 0
    while position < len(contraction.inputs):
        contract = _sole_contract(contraction.inputs[position])
        joined = None
        if contract is not None and contract not in contracts:
            joined = _joined(contraction, position, ContractionCall.of(contract), len(contracts))
        if contract is None or joined is None:
            position += 1
            continue
        contraction = joined
        contracts.append(contract)
    return contraction, contracts


def _sole_contract(value: ir.Value) -> ir.Operation | None:
    """Return the contract that gives a value, if this is the value's one use."""
    op = producer(value)
    return op if op is not None and op.name == CONTRACT and len(list(value.uses)) == 1 else None


def _joined(
    contraction: Contraction, position: int, inner: ContractionCall, number: int
) -> Contraction | None:
    cast = _joined_cast(contraction, position, inner)
    fits = (
        inner.kind.name == contraction.kind.name
        and contraction.distributes
        and cast is not None
        and element_of(inner.destination) == inner.compute == contraction.compute
        and starts_from_nothing(inner)
        and {*inner.output} <= {label for own in inner.labels for label in own}
        and len(contraction.inputs) + len(inner.inputs) - 1 <= MOST_INPUTS
    )
    if not fits or cast is None:
        return None
    names = dict(zip(inner.output, contraction.labels[position], strict=True))
    summed = [x for own in inner.labels for x in own if x not in names]
    names.update({label: f"{label}_{number}" for label in summed})
    labels = [tuple(names[label] for label in own) for own in inner.labels]
    return replace(
        contraction,
        inputs=_spliced(contraction.inputs, position, inner.inputs),
        labels=_spliced(contraction.labels, position, labels),
        dims=tuple(dict.fromkeys((*contraction.dims, *(names[label] for label in summed)))),
        cast=cast,
    )


def _joined_cast(
    contraction: Contraction, position: int, inner: ContractionCall
) -> Function | None:
    """Return the cast of all operands of both; None where they are cast in two ways."""
    rest = [v for i, v in enumerate(contraction.inputs) if i != position]
    if inner.cast == contraction.cast or _are_of(inner.inputs, contraction.compute):
        return contraction.cast
    return inner.cast if _are_of(rest, contraction.compute) else None


def _are_of(values: Sequence[ir.Value], element: ir.Type) -> bool:
    return all(element_of(value) == element for value in values)


def starts_from_nothing(call: ContractionCall) -> bool:
    """Return whether a contraction gives its sum alone: its destination is the neutral element."""
    if call.overwrites:
        return True
    number = fill_number(call.destination)
    element = by_mlir(str(element_of(call.destination)))
    if number is None or element is None:
        return False
    try:
        neutral = neutral_element(call.kind.add.name, element.dtype)
    except DTypeError:
        return False
    return bool(number == neutral)


def _spliced(items: Sequence[T], position: int, new: Sequence[T]) -> tuple[T, ...]:
    return (*items[:position], *new, *items[position + 1 :])
