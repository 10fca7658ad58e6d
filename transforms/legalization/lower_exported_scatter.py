"""Lower `tm_tensor.scatter`, torch-mlir's writes at given indices, to loops.

before:
    %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false)
        ins(%u, %i : tensor<3x7xf32>, tensor<3x1xi32>) outs(%x : tensor<5x7xf32>) {
    ^bb0(%new: f32, %old: f32):
      %s = arith.addf %old, %new : f32
      tm_tensor.yield %s : f32
    } -> tensor<5x7xf32>
after:
    %r = scf.for %m = %c0 to %c3 step %c1 iter_args(%rows = %x) -> (tensor<5x7xf32>) {
      %row = scf.for %n = %c0 to %c7 step %c1 iter_args(%all = %rows) -> (tensor<5x7xf32>) {
        %c0_0 = arith.constant 0 : index
        %i0 = tensor.extract %i[%m, %c0_0] : tensor<3x1xi32>
        %at = arith.index_cast %i0 : i32 to index
        %new = tensor.extract %u[%m, %n] : tensor<3x7xf32>
        %old = tensor.extract %all[%at, %n] : tensor<5x7xf32>
        %s = arith.addf %old, %new : f32
        %next = tensor.insert %s into %all[%at, %n] : tensor<5x7xf32>
        scf.yield %next : tensor<5x7xf32>
      }
      scf.yield %row : tensor<5x7xf32>
    }

An update stands in the last dimensions of what is written to; indices are added to its place
there. Where several updates meet, they are taken in their order.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.tensor_loops import as_index, inlined, nest, size_of
from linalg_ext.transforms.ir_utils.walking import lowering_pass

NAME = "linalg-ext-lower-exported-scatter"

_OP = "tm_tensor.scatter"


@lowering_pass(NAME, _OP)
def lower_exported_scatter(op: Any) -> Any:
    """Lower tm_tensor.scatter to loops over the elements of its updates."""
    updates, indices, original = op.operands
    body = op.regions[0].blocks[0]
    dims = list(ir.DenseI64ArrayAttr(op.attributes["dimension_map"]))
    rank = original.type.rank

    def put(at: list[Any], carried: list[Any]) -> list[Any]:
        (into,) = carried
        inside = at[1:]
        places: list[Any] = [None] * (rank - len(inside)) + inside
        for number, dim in enumerate(dims):
            found = as_index(tensor.extract(indices, [at[0], index(number)]))
            places[dim] = found if places[dim] is None else arith.addi(found, places[dim])
        given = [tensor.extract(updates, at), tensor.extract(into, places)]
        (new,) = inlined(body, given)
        return [tensor.insert(new, into, places)]

    sizes = [size_of(updates, axis) for axis in range(updates.type.rank)]
    return nest(sizes, [original], put)[0]
