"""Unroll a loop around an op.

before:
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c2 = arith.constant 2 : index
    %r = scf.for %i = %c0 to %c8 step %c2 iter_args(%o = %c) -> (tensor<8xf32>) {
      %slice = tensor.extract_slice %a[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
      %slice_0 = tensor.extract_slice %o[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
      %1 = linalg.abs ins(%slice : tensor<2xf32>) outs(%slice_0 : tensor<2xf32>) -> tensor<2xf32>
      %inserted = tensor.insert_slice %1 into %o[%i] [2] [1] : tensor<2xf32> into tensor<8xf32>
      scf.yield %inserted : tensor<8xf32>
    }
after `match("abs").unroll(2).simplify()`:
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%o = %c) -> (tensor<8xf32>) {
      %slice = tensor.extract_slice %a[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
      %slice_0 = tensor.extract_slice %o[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
      %1 = linalg.abs ins(%slice : tensor<2xf32>) outs(%slice_0 : tensor<2xf32>) -> tensor<2xf32>
      %inserted = tensor.insert_slice %1 into %o[%i] [2] [1] : tensor<2xf32> into tensor<8xf32>
      %2 = arith.addi %i, %c2 : index
      %slice_1 = tensor.extract_slice %a[%2] [2] [1] : tensor<8xf32> to tensor<2xf32>
      %slice_2 = tensor.extract_slice %inserted[%2] [2] [1] : tensor<8xf32> to tensor<2xf32>
      %3 = linalg.abs ins(%slice_1 : tensor<2xf32>)
          outs(%slice_2 : tensor<2xf32>) -> tensor<2xf32>
      %inserted_3 = tensor.insert_slice %3 into %inserted[%2] [2] [1]
          : tensor<2xf32> into tensor<8xf32>
      scf.yield %inserted_3 : tensor<8xf32>
    }

Source: `transform.loop.unroll`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_factor, enclosing
from ._script import ANY, FOR, Script
from .step import schedule_step


@schedule_step("linalg-ext-unroll")
def unroll(op: ir.Operation, *, factor: int, loop: int = 0) -> Script:
    """Repeat the body of a loop; what remains has a loop of its own.

    Args:
        op: an op inside `scf.for`, as `tile` leaves it.
        factor: how often the body is repeated, 2 or more.
        loop: which loop, counted outwards from 0.

    Raises:
        ScheduleError: there is no such loop around it.
    """
    check_factor(op, factor, enclosing(op, "unroll", loop))
    return Script(
        (
            f'%loop = transform.get_parent_op %target {{op_name = "scf.for", '
            f"nth_parent = {loop + 1}}} : ({ANY}) -> {FOR}",
            f"transform.loop.unroll %loop {{factor = {factor}}} : {FOR}",
        )
    )
