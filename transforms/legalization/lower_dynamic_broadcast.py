"""Lower `linalg_ext.dynamic_broadcast_in_dim` to a generic.

before:
    %r = "linalg_ext.dynamic_broadcast_in_dim"(%a, %o) {broadcast_dimensions = array<i64: 0, 2>}
           : (tensor<1x5xf32>, tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (0, k)>,
                                          affine_map<(i, j, k) -> (i, j, k)>],
                         iterator_types = ["parallel", "parallel", "parallel"]}
           ins(%a : tensor<1x5xf32>) outs(%o : tensor<4x3x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x3x5xf32>

Where it is known only at run time if a dimension expands, the body uses `tensor.extract`. It reads
the operand at 0 where its size is 1.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.structured.destination_ops import DynamicBroadcast
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.tensor_loops import Demands, compare, parallel_generic, size_of
from linalg_ext.transforms.ir_utils.walking import lowering_pass

NAME = "linalg-ext-lower-dynamic-broadcast"
OP = "linalg_ext.dynamic_broadcast_in_dim"


@lowering_pass(NAME, OP)
def lower_dynamic_broadcast(op: ir.Operation) -> Any:
    """Lower linalg_ext.dynamic_broadcast_in_dim to linalg.generic."""
    view = DynamicBroadcast.of(op)
    operand, places = view.operand, view.broadcast_dimensions
    rank = ir.ShapedType(view.init.type).rank
    demands = Demands(f"{OP}: the operand does not broadcast to the destination")
    is_one: dict[int, Any] = {}
    for axis, place in enumerate(places):
        size, wanted = size_of(operand, axis), size_of(view.init, place)
        expands = view.expands(axis)
        if expands:
            demands.equal(size, 1)
        elif expands is False:
            demands.equal(size, wanted)
        else:
            is_one[axis] = compare("eq", size, 1)
            demands.holds(arith.ori(is_one[axis], compare("eq", size, wanted)))
    demands.emit()
    if not is_one:
        zero = ir.AffineConstantExpr.get(0)
        dims = [
            zero if view.expands(axis) else ir.AffineDimExpr.get(place)
            for axis, place in enumerate(places)
        ]
        map_ = ir.AffineMap.get(rank, 0, dims)
        return parallel_generic([operand], view.init, [map_], lambda arguments: arguments[0])

    def body(_: Any) -> Any:
        zero = index(0)
        found = []
        for axis, place in enumerate(places):
            if view.expands(axis):
                found.append(zero)
                continue
            here = linalg.IndexOp(place).result
            found.append(arith.select(is_one[axis], zero, here) if axis in is_one else here)
        return tensor.extract(operand, found)

    return parallel_generic([], view.init, [], body)
