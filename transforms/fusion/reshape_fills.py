"""Make what is filled with a number in the shape that it is used in.

before:
    %e = tensor.empty() : tensor<6x4xf32>
    %f = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]} outs(%e : tensor<6x4xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    } -> tensor<6x4xf32>
    %r = tensor.expand_shape %f [[0, 1], [2]] output_shape [2, 3, 4]
      : tensor<6x4xf32> into tensor<2x3x4xf32>
after:
    %e = tensor.empty() : tensor<2x3x4xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>],
                         iterator_types = ["parallel", "parallel", "parallel"]}
        outs(%e : tensor<2x3x4xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    } -> tensor<2x3x4xf32>

Upstream does so for `linalg.fill`, and leaves a generic that fills, which is what fusion has when
it moves reshapes to the destinations of contractions. Behind a reshape that several share, it is
not visible any more that a sum starts from zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.indices.sizes import mixed_sizes, sizes_of
from linalg_ext.transforms.ir_utils.walking import operations, producer, replace_op

NAME = "linalg-ext-reshape-fills"

_RESHAPES = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})


@module_pass(NAME, on=_RESHAPES)
def reshape_fills(module: ir.Operation) -> Report:
    """Replace reshapes of filled tensors by filled tensors of the shape."""
    report = Report(NAME)
    for op in operations(module, _RESHAPES):
        number = _number(producer(op.operands[0]))
        type_ = op.results[0].type
        if number is None:
            continue
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        with op.location, ir.InsertionPoint(op):
            filled = _filled(type_, mixed_sizes(sizes_of(op.results[0])), number)
        fill = producer(op.operands[0])
        replace_op(op, filled)
        if not any(True for _ in fill.results[0].uses):
            fill.erase()
    return report


def _filled(type_: Any, sizes: Sequence[Any], number: Any) -> Any:
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank))
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    generic = linalg.GenericOp(
        [type_],
        [],
        [tensor.EmptyOp(list(sizes), type_.element_type).result],
        ir.ArrayAttr.get([identity]),
        ir.ArrayAttr.get([parallel] * type_.rank),
    )
    with ir.InsertionPoint(generic.regions[0].blocks.append(type_.element_type)):
        linalg.YieldOp([number])
    return generic.results[0]


def _number(op: Any) -> Any:
    """Return the value that an op fills its result with, if it does nothing else; else None."""
    if op is None or op.name not in ("linalg.fill", "linalg.generic") or len(op.results) != 1:
        return None
    if op.name == "linalg.fill":
        return op.operands[0]
    body = op.regions[0].blocks[0]
    if len(op.operands) != 1 or len(body.operations) != 1:
        return None
    yielded = body.operations[0].operation.operands[0]
    return None if yielded == body.arguments[0] else yielded
