"""Peel a loop around an op: whole tiles in one loop, the last, smaller one behind it.

before:
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c3 = arith.constant 3 : index
    %r = scf.for %i = %c0 to %c8 step %c3 iter_args(%o = %c) -> (tensor<8xf32>) {
      %1 = affine.min affine_map<(d0) -> (-d0 + 8, 3)>(%i)
      %slice = tensor.extract_slice %a[%i] [%1] [1] : tensor<8xf32> to tensor<?xf32>
      %slice_0 = tensor.extract_slice %o[%i] [%1] [1] : tensor<8xf32> to tensor<?xf32>
      %2 = linalg.abs ins(%slice : tensor<?xf32>) outs(%slice_0 : tensor<?xf32>) -> tensor<?xf32>
      %inserted = tensor.insert_slice %2 into %o[%i] [%1] [1] : tensor<?xf32> into tensor<8xf32>
      scf.yield %inserted : tensor<8xf32>
    }
after `match("abs").peel().simplify()`:
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c6 = arith.constant 6 : index
    %0 = scf.for %i = %c0 to %c6 step %c3 iter_args(%o = %c) -> (tensor<8xf32>) {
      %slice_1 = tensor.extract_slice %a[%i] [3] [1] : tensor<8xf32> to tensor<3xf32>
      %slice_2 = tensor.extract_slice %o[%i] [3] [1] : tensor<8xf32> to tensor<3xf32>
      %2 = linalg.abs ins(%slice_1 : tensor<3xf32>)
          outs(%slice_2 : tensor<3xf32>) -> tensor<3xf32>
      %inserted_3 = tensor.insert_slice %2 into %o[%i] [3] [1] : tensor<3xf32> into tensor<8xf32>
      scf.yield %inserted_3 : tensor<8xf32>
    }
    %slice = tensor.extract_slice %a[6] [2] [1] : tensor<8xf32> to tensor<2xf32>
    %slice_0 = tensor.extract_slice %0[6] [2] [1] : tensor<8xf32> to tensor<2xf32>
    %1 = linalg.abs ins(%slice : tensor<2xf32>) outs(%slice_0 : tensor<2xf32>) -> tensor<2xf32>
    %r = tensor.insert_slice %1 into %0[6] [2] [1] : tensor<2xf32> into tensor<8xf32>

Source: `transform.loop.peel`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import enclosing
from ._script import ANY, FOR, Script
from .step import schedule_step


@schedule_step("linalg-ext-peel")
def peel(op: ir.Operation, *, loop: int = 0, front: bool = False) -> Script:
    """Give the last iteration of a loop a place of its own, so that all others are whole tiles.

    Args:
        op: an op inside `scf.for`, as `tile` leaves it.
        loop: which loop, counted outwards from 0.
        front: peel the first iteration, not the last.

    Raises:
        ScheduleError: there is no such loop, or it has whole tiles only.
    """
    enclosing(op, "peel", loop)
    first = " {peel_front = true}" if front else ""
    return Script(
        (
            f'%loop = transform.get_parent_op %target {{op_name = "scf.for", '
            f"nth_parent = {loop + 1}}} : ({ANY}) -> {FOR}",
            f"%main, %rest = transform.loop.peel %loop{first} : ({FOR}) -> ({ANY}, {ANY})",
        )
    )
