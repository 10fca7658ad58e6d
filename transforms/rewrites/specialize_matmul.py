"""Specialize matrix products with maps to the ops that need none.

`linalg.matmul` with the maps that it has anyway loses them; `linalg.contract` becomes the product
of matrices, of a matrix and a vector, or of two vectors that it is, batched or packed ones too.
With `explicit_transposes`, operands that the maps transpose are transposed by `linalg.transpose`
before, and a result after: the way back from folding them in, and from
`linalg-ext-raise-matmul-variants`. Discardable attributes stay on the product.

before:
    %r = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>,
                                        affine_map<(d0, d1, d2) -> (d2, d1)>,
                                        affine_map<(d0, d1, d2) -> (d0, d1)>]
           ins(%a, %b : tensor<5x8xf32>, tensor<5x7xf32>)
           outs(%c : tensor<8x7xf32>) -> tensor<8x7xf32>
after, with explicit_transposes:
    %e = tensor.empty() : tensor<8x5xf32>
    %t = linalg.transpose ins(%a : tensor<5x8xf32>) outs(%e : tensor<8x5xf32>)
           permutation = [1, 0]
    %r = linalg.matmul ins(%t, %b : tensor<8x5xf32>, tensor<5x7xf32>)
                       outs(%c : tensor<8x7xf32>) -> tensor<8x7xf32>
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from linalg_ext.bindings import ir, linalg
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.category_forms import build_matmul, matmul_form
from linalg_ext.structured.contraction_form import Contraction, rearranged
from linalg_ext.structured.extension import carry_over
from linalg_ext.structured.named_forms import build_named_form, named_forms
from linalg_ext.structured.outputs import all_or_nothing
from linalg_ext.structured.recognition import RecognizedOp

from ._arrangements import transposed
from ._structured import put_in_place, read_product

_WITH_MAPS = (
    *("linalg.matmul", "linalg.batch_matmul", "linalg.batch_reduce_matmul"),
    "linalg.contract",
)


@rewrite("linalg-ext-specialize-matmul", on=_WITH_MAPS, driver="walk")
def specialize_matmul(
    op: ir.OpView, rewriter: Rewriter, *, explicit_transposes: bool = False
) -> bool | MatchFailure:
    """Replace a matrix product with maps by the most specific op without any."""
    product = op.operation
    match = read_product(product)
    if isinstance(match, MatchFailure):
        return match
    recognized, contraction = match
    if _is_plain(product, recognized, contraction):
        return False
    plain = _build_plain(recognized, contraction)
    if plain is not None:
        return put_in_place(product, plain, rewriter)
    if not explicit_transposes:
        return MatchFailure("the operands are transposed or broadcast, which takes an op with maps")
    return _with_transposes(product, recognized, contraction, rewriter)


def _is_plain(product: ir.Operation, recognized: RecognizedOp, contraction: Contraction) -> bool:
    """Return whether an op's maps are those that it has by default."""
    for named in named_forms(recognized):
        if named.op_name == product.name and named.order == (0, 1):
            return True
    form = matmul_form(contraction)
    return (
        form is not None
        and form.op_name == product.name
        and form.is_plain
        and (form.order == (0, 1))
    )


def _build_plain(recognized: RecognizedOp, contraction: Contraction) -> ir.Operation | None:
    named = build_named_form(recognized)
    if named is not None:
        return named
    form = matmul_form(contraction)  # for a cast that only the matrix products can say
    return build_matmul(form, recognized) if form is not None and form.is_plain else None


def _with_transposes(
    product: ir.Operation, recognized: RecognizedOp, contraction: Contraction, rewriter: Rewriter
) -> bool | MatchFailure:
    if not all(isinstance(v.type, ir.RankedTensorType) for v in product.operands):
        return MatchFailure("the operands are memrefs: their transposes have no buffers")
    if any(ir.RankedTensorType(v.type).encoding is not None for v in product.operands):
        return MatchFailure("an operand has an encoding")
    if contraction.lone:
        return MatchFailure("an operand is broadcast")
    choices = [
        (order, source, target)
        for order, source in (((0, 1), contraction), ((1, 0), contraction.swapped))
        for target in _layouts(source)
    ]
    if not choices:
        return MatchFailure("the dimensions are those of no op without maps")
    order, source, target = min(choices, key=lambda choice: _transposes(*choice[1:]))
    inputs = [recognized.inputs[position] for position in order]
    (output,) = recognized.outputs
    ordered = replace(
        recognized.definition,
        operands=(
            *(recognized.definition.inputs[position] for position in order),
            *recognized.definition.outputs,
        ),
    )
    try:
        with all_or_nothing():
            lhs = _transposed(inputs[0], source.a, target.a)
            rhs = _transposed(inputs[1], source.b, target.b)
            init = _transposed(output, source.c, target.c)
            product_of = replace(recognized, definition=ordered)
            plain = _build_plain(rearranged(product_of, target, (lhs, rhs), init), target)
            if plain is None:
                raise ArgumentError("the product is that of no op without maps")
    except ArgumentError as error:
        return MatchFailure(error.what)
    if source.c == target.c:
        return put_in_place(product, plain, rewriter)
    permutation = [target.c.index(dim) for dim in source.c]
    back = linalg.TransposeOp([output.type], plain.results[0], output, permutation)
    linalg.fill_builtin_region(back.operation)
    carry_over(product, plain)
    rewriter.replace_op(product, back)
    return True


def _layouts(contraction: Contraction) -> Iterator[Contraction]:
    """Return the ways to index the operands that some op without maps has."""
    batch, rows = contraction.batch, contraction.rows
    columns, contracted = contraction.columns, contraction.contracted
    is_reduced_batch = len(contracted) == 2 and not batch and len(rows) == len(columns) == 1
    is_product = len(contracted) == 1 and max(len(batch), len(rows), len(columns)) <= 1
    if not is_product and not is_reduced_batch:
        return
    for *summed, inner in itertools.permutations(contracted):
        outer = (*batch, *summed)
        yield replace(
            contraction,
            a=(*outer, *rows, inner),
            b=(*outer, inner, *columns),
            c=(*batch, *rows, *columns),
        )


def _transposes(source: Contraction, target: Contraction) -> int:
    """Return the number of transposes from one contraction to the other; that of C counts twice."""
    return (source.a != target.a) + (source.b != target.b) + 2 * (source.c != target.c)


def _transposed(value: ir.Value, source: tuple[str, ...], target: tuple[str, ...]) -> ir.Value:
    """Transpose a tensor from one order of its dimensions to another."""
    if source == target:
        return value
    return transposed(value, [source.index(dim) for dim in target])
