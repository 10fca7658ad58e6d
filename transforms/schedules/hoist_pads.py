"""Move the padding of an op's operands out of loops: they are padded once and kept.

before:
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c12 = arith.constant 12 : index
    %r = scf.for %i = %c0 to %c12 step %c4 iter_args(%o = %c) -> (tensor<8x12xf32>) {
      %s = tensor.extract_slice %a[0, 0] [7, 16] [1, 1] : tensor<7x16xf32> to tensor<7x16xf32>
      %padded = tensor.pad %s low[0, 0] high[1, 0] {
      ^bb0(%j: index, %k: index):
        tensor.yield %zero : f32
      } : tensor<7x16xf32> to tensor<8x16xf32>
      %t = tensor.extract_slice %b[0, %i] [16, 4] [1, 1]
          : tensor<16x12xf32> to tensor<16x4xf32>
      %u = tensor.extract_slice %o[0, %i] [8, 4] [1, 1]
          : tensor<8x12xf32> to tensor<8x4xf32>
      %m = linalg.matmul ins(%padded, %t : tensor<8x16xf32>, tensor<16x4xf32>)
          outs(%u : tensor<8x4xf32>) -> tensor<8x4xf32>
      %n = tensor.insert_slice %m into %o[0, %i] [8, 4] [1, 1]
          : tensor<8x4xf32> into tensor<8x12xf32>
      scf.yield %n : tensor<8x12xf32>
    }
after `match("matmul").hoist_pads().simplify()`:
    %cst = arith.constant 0.000000e+00 : f32
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c12 = arith.constant 12 : index
    %padded = tensor.pad %a low[0, 0] high[1, 0] {
    ^bb0(%i: index, %o: index):
      tensor.yield %cst : f32
    } : tensor<7x16xf32> to tensor<8x16xf32>
    %r = scf.for %i = %c0 to %c12 step %c4 iter_args(%o = %c) -> (tensor<8x12xf32>) {
      %slice = tensor.extract_slice %b[0, %i] [16, 4] [1, 1]
          : tensor<16x12xf32> to tensor<16x4xf32>
      %slice_0 = tensor.extract_slice %o[0, %i] [8, 4] [1, 1]
          : tensor<8x12xf32> to tensor<8x4xf32>
      %1 = linalg.matmul ins(%padded, %slice : tensor<8x16xf32>, tensor<16x4xf32>)
          outs(%slice_0 : tensor<8x4xf32>) -> tensor<8x4xf32>
      %inserted = tensor.insert_slice %1 into %o[0, %i] [8, 4] [1, 1]
          : tensor<8x4xf32> into tensor<8x12xf32>
      scf.yield %inserted : tensor<8x12xf32>
    }

Source: `transform.structured.hoist_pad`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.ir_utils.walking import producer

from ._checks import check_least, enclosing, refusal
from ._script import ANY, Script, line
from .step import schedule_step


@schedule_step("linalg-ext-hoist-pads")
def hoist_pads(op: ir.Operation, *, operand: int = 0, loops: int = 1) -> Script:
    """Pad all tiles of an operand before the loops, into one packed buffer.

    Args:
        op: an op inside `scf.for` whose operand is padded, as `tile` and `pad` leave it.
        operand: which operand, by number.
        loops: out of how many loops.

    Raises:
        ScheduleError: that operand is not padded, or there are not that many loops.
    """
    check_least(op, "loops", loops, 1)
    enclosing(op, "hoist_pads", loops - 1)
    made = producer(op.operands[operand]) if 0 <= operand < len(op.operands) else None
    if made is None or made.operation.name != "tensor.pad":
        raise refusal(op, f"operand {operand} is not padded", hint="pad(...) it first")
    return Script(
        (
            line("%pad", f"get_producer_of_operand %target[{operand}]"),
            f"%hoisted = transform.structured.hoist_pad %pad by {loops} loops : ({ANY}) -> {ANY}",
        )
    )
