"""Lower `linalg_ext.concatenate` to slices that are inserted one after another.

before:
    %r = "linalg_ext.concatenate"(%a, %b, %o) {dimension = 0 : i64, operandSegmentSizes = array<i32:
           1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1>}
           : (tensor<4x5xf32>, tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<7x5xf32>
after:
    %s = tensor.insert_slice %a into %o[0, 0] [4, 5] [1, 1]
           : tensor<4x5xf32> into tensor<7x5xf32>
    %r = tensor.insert_slice %b into %s[4, 0] [3, 5] [1, 1]
           : tensor<3x5xf32> into tensor<7x5xf32>

Bufferization writes what makes an input straight into its place. Sizes that are dynamic are
asserted to fit: a slice that is too large would be written beyond the destination.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.destination_ops import Concatenate
from linalg_ext.transforms.ir_utils.tensor_loops import Demands, add, insert_slice, size_of
from linalg_ext.transforms.ir_utils.walking import lowering_pass

NAME = "linalg-ext-lower-concatenate"
OP = "linalg_ext.concatenate"


@lowering_pass(NAME, OP)
def lower_concatenate(op: ir.Operation) -> Any:
    """Lower linalg_ext.concatenate to tensor.insert_slice."""
    view = Concatenate.of(op)
    along, rank = view.dimension, ir.ShapedType(view.init.type).rank
    wanted = [size_of(view.init, axis) for axis in range(rank)]
    shapes = [[size_of(value, axis) for axis in range(rank)] for value in view.inputs]
    demands = Demands(f"{OP}: the sizes of the inputs do not fit the destination")
    offsets: list[Any] = []
    total: Any = 0
    for shape in shapes:
        offsets.append(total)
        total = add(total, shape[along])
        for axis in range(rank):
            if axis != along:
                demands.equal(shape[axis], wanted[axis])
    demands.equal(total, wanted[along])
    demands.emit()
    result: Any = view.init
    for value, shape, offset in zip(view.inputs, shapes, offsets, strict=True):
        if 0 in shape or 0 in wanted:
            continue  # upstream refuses a slice that begins at the end
        places = [offset if axis == along else 0 for axis in range(rank)]
        result = insert_slice(value, result, places, shape)
    return result
