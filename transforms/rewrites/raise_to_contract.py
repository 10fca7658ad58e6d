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

An op is a contraction by what it computes: the matmul family, `matvec`, `dot`, `mmt4d`,
`linalg.contract`, any such generic, in every semiring. Zero points of quantized products are
subtracted by an element-wise op of their own first. A convolution is one where its windows do not
overlap: kernels of one place, strides as long as the kernel, a result of one place; its image is
then read by another shape, without a copy.

On memrefs a contraction of two operands becomes upstream's `linalg.contract`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.errors import LinalgExtError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.category_forms import build_contract
from linalg_ext.structured.contraction import ContractionCall
from linalg_ext.structured.contraction_form import ContractionForm, find_contraction
from linalg_ext.structured.destination_ops import MOST_INPUTS, build_contract_op
from linalg_ext.structured.extension import COMPUTE_TYPE, CONTRACT, discardable_attributes
from linalg_ext.structured.maps import refusal
from linalg_ext.structured.recognition import RecognizedOp, kept_if_same

from ._contractions import Contraction, Views, contraction_on_views, merged, views_of
from ._structured import put_in_place, read
from ._windows import restored

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
    gone: list[ir.Operation] = []
    if merge:
        contraction, gone = merged(contraction)
    made = _built(contraction, op).results[0]
    rewriter.replace_op(op, restored(made, recognized.outputs[0], views.dropped))
    for producer in gone:
        rewriter.erase_op(producer)
    return True


def _merge(op: ir.Operation, rewriter: Rewriter) -> bool | MatchFailure:
    """Merge what is contracted into the operands of a contract."""
    try:
        call = ContractionCall.of(op)
    except LinalgExtError as error:
        return MatchFailure(error.what)
    contraction, gone = merged(Contraction.of_call(call))
    if not gone:
        return False
    rewriter.replace_op(op, _built(contraction, op))
    for producer in gone:
        rewriter.erase_op(producer)
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
