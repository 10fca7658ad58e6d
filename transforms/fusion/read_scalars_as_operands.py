"""Let structured ops read scalars where they read tensors that were made of one scalar.

before:
    %t = tensor.from_elements %s : tensor<f32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>,
                                          affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%x, %t : tensor<9xf32>, tensor<f32>) outs(%e : tensor<9xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      linalg.yield %p : f32
    } -> tensor<9xf32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>,
                                          affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%x, %s : tensor<9xf32>, f32) outs(%e : tensor<9xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      linalg.yield %p : f32
    } -> tensor<9xf32>

Such tensors hold sizes that only the run can tell, the length that a mean divides by for example.
Each would be a buffer, and the store to it would stand between ops that can share their loops.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.generics import input_count
from linalg_ext.transforms.ir_utils.walking import operations, producer

NAME = "linalg-ext-read-scalars-as-operands"

_OP = "linalg.generic"


@module_pass(NAME, on=_OP)
def read_scalars_as_operands(module: ir.Operation) -> Report:
    """Replace inputs that are made of one scalar, and have no dimensions, by the scalar."""
    report = Report(NAME)
    for op in operations(module, {_OP}):
        made = [(at, _made(op.operands[at])) for at in range(input_count(op))]
        found = [(at, source) for at, source in made if source is not None]
        for at, source in found:
            op.operands[at] = source.operands[0]
            if not any(True for _ in source.results[0].uses):
                source.erase()
        report.matched[_OP] += bool(found)
        report.changed[_OP] += bool(found)
    return report


def _made(value: Any) -> Any:
    """The op that makes a tensor without dimensions of a scalar; None for any other value."""
    op = producer(value)
    is_made = op is not None and op.name == "tensor.from_elements" and value.type.rank == 0
    return op if is_made else None
