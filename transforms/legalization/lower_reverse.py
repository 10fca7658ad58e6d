"""Lower `linalg_ext.reverse` to a generic that reads backwards.

before:
    %r = "linalg_ext.reverse"(%a, %o) {dimensions = array<i64: 1>}
           : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, -j + 4)>,
                                          affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
           ins(%a : tensor<4x5xf32>) outs(%o : tensor<4x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x5xf32>

A map has no place for a size that is known only at run time. Where one is dynamic, the body reads
the operand by `tensor.extract`.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.structured.destination_ops import Reverse
from linalg_ext.transforms.ir_utils.tensor_loops import Demands, parallel_generic, size_of, sub
from linalg_ext.transforms.ir_utils.walking import lowering_pass

NAME = "linalg-ext-lower-reverse"
OP = "linalg_ext.reverse"


@lowering_pass(NAME, OP)
def lower_reverse(op: ir.Operation) -> Any:
    """Lower linalg_ext.reverse to linalg.generic."""
    view = Reverse.of(op)
    operand, rank = view.operand, ir.ShapedType(view.operand.type).rank
    sizes = [size_of(operand, axis) for axis in range(rank)]
    demands = Demands(f"{OP}: the operand and the destination are of other shapes")
    for axis, size in enumerate(sizes):
        demands.equal(size, size_of(view.init, axis))
    demands.emit()
    if all(isinstance(sizes[axis], int) for axis in view.dimensions):
        dims = [_backwards(axis, sizes[axis], axis in view.dimensions) for axis in range(rank)]
        map_ = ir.AffineMap.get(rank, 0, dims)
        return parallel_generic([operand], view.init, [map_], lambda arguments: arguments[0])

    def body(_: Any) -> Any:
        places = [linalg.IndexOp(axis).result for axis in range(rank)]
        for axis in view.dimensions:
            places[axis] = sub(sub(sizes[axis], 1), places[axis])
        return tensor.extract(operand, places)

    return parallel_generic([], view.init, [], body)


def _backwards(axis: int, size: int, is_backwards: bool) -> Any:
    place = ir.AffineDimExpr.get(axis)
    if not is_backwards:
        return place
    negative = ir.AffineMulExpr.get(place, ir.AffineConstantExpr.get(-1))
    return ir.AffineAddExpr.get(negative, ir.AffineConstantExpr.get(size - 1))
