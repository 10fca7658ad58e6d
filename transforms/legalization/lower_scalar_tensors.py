"""Compute on scalars where structured ops compute on tensors without dimensions.

before:
    %r = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>],
                         iterator_types = []} ins(%a : tensor<f32>) outs(%o : tensor<f32>) {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %x : f32
      linalg.yield %s : f32
    } -> tensor<f32>
after:
    %x = tensor.extract %a[] : tensor<f32>
    %s = arith.addf %x, %x : f32
    %r = tensor.from_elements %s : tensor<f32>

`canonicalize` then removes the ops that put an element into a tensor and out again.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.tensor_loops import inlined
from linalg_ext.transforms.ir_utils.walking import operations, replace_each

NAME = "linalg-ext-lower-scalar-tensors"

_OP = "linalg.generic"


@module_pass(NAME, on=_OP)
def lower_scalar_tensors(module: ir.Operation) -> Report:
    """Write linalg.generic ops without loops, on tensors without dimensions, as their bodies."""
    return replace_each(NAME, reversed(operations(module, {_OP})), _computed)


def _computed(op: Any) -> list[Any] | None:
    if len(op.attributes["iterator_types"]) or not all(_is_scalar(v) for v in op.operands):
        return None
    scalars = [
        tensor.extract(value, []) if isinstance(value.type, ir.RankedTensorType) else value
        for value in op.operands
    ]
    results = inlined(op.regions[0].blocks[0], scalars)
    pairs = zip(op.results, results, strict=True)
    return [tensor.from_elements(result.type, [value]) for result, value in pairs]


def _is_scalar(value: Any) -> bool:
    if isinstance(value.type, ir.RankedTensorType):
        return bool(value.type.rank == 0)
    return not isinstance(value.type, ir.ShapedType)
