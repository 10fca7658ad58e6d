"""Move what does not change out of the loops around an op.

before:
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%o = %c) -> (tensor<8xf32>) {
      %y = arith.addf %x, %x : f32
      %s = tensor.extract_slice %o[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %f = linalg.fill ins(%y : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
      %n = tensor.insert_slice %f into %o[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
after `match("fill").hoist().simplify()`:
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %0 = arith.addf %x, %x : f32
    %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%o = %c) -> (tensor<8xf32>) {
      %slice = tensor.extract_slice %o[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %2 = linalg.fill ins(%0 : f32) outs(%slice : tensor<4xf32>) -> tensor<4xf32>
      %inserted = tensor.insert_slice %2 into %o[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
      scf.yield %inserted : tensor<8xf32>
    }

Source: `transform.apply_licm`, `transform.loop.hoist_loop_invariant_subsets`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import enclosing
from ._script import ANY, FOR, Script
from .step import schedule_step


@schedule_step("linalg-ext-hoist")
def hoist(op: ir.Operation, *, loop: int = 0) -> Script:
    """Hoist what is the same in every iteration of a loop, and slices that it carries, out of it.

    Args:
        op: an op inside `scf.for`.
        loop: which loop, counted outwards from 0.

    Raises:
        ScheduleError: there is no such loop around it.
    """
    enclosing(op, "hoist", loop)
    return Script(
        (
            f'%loop = transform.get_parent_op %target {{op_name = "scf.for", '
            f"nth_parent = {loop + 1}}} : ({ANY}) -> {FOR}",
            f"transform.apply_licm to %loop : {FOR}",
            f"transform.loop.hoist_loop_invariant_subsets %loop : {FOR}",
        )
    )
