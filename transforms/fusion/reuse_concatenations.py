"""Concatenate to an earlier concatenation of the first operands, where there is one.

before:
    %p = tensor.concat dim(1) %a, %b : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %r = tensor.concat dim(1) %a, %b, %c
        : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x5xf32>) -> tensor<2x9xf32>
after:
    %p = tensor.concat dim(1) %a, %b : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %r = tensor.concat dim(1) %p, %c : (tensor<2x4xf32>, tensor<2x5xf32>) -> tensor<2x9xf32>

Each layer of a dense network reads the results of all layers before it: the n-th concatenation has
n operands, each of which would be copied by a loop of its own. Now each has two.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations, replace_op

NAME = "linalg-ext-reuse-concatenations"

_CONCAT = "tensor.concat"


@module_pass(NAME, on=_CONCAT)
def reuse_concatenations(module: ir.Operation) -> Report:
    """Have a concatenation read an earlier one of its block, of its first operands."""
    report = Report(NAME)
    earlier: dict[tuple[object, ...], ir.Value] = {}
    for op in operations(module, {_CONCAT}):
        report.matched[_CONCAT] += 1
        (result,), operands = op.results, list(op.operands)
        axis = ir.IntegerAttr(op.attributes["dim"]).value
        place = op.block, axis
        for count in reversed(range(2, len(operands))):
            start = earlier.get((*place, *operands[:count]))
            if start is not None and _is_known(start, axis):
                with op.location, ir.InsertionPoint(op):
                    new = tensor.ConcatOp(result.type, axis, [start, *operands[count:]]).result
                replace_op(op, new)
                result = new
                report.changed[_CONCAT] += 1
                break
        earlier[(*place, *operands)] = result
    return report


def _is_known(value: ir.Value, axis: int) -> bool:
    """Return whether the size of a tensor along an axis is known, as that of the whole may be."""
    return not ir.RankedTensorType(value.type).is_dynamic_dim(axis)
