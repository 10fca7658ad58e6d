"""Unroll a loop around an op, and join the loops inside it again.

before:
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    scf.for %i = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c6 step %c2 {
        %subview = memref.subview %a[%i, %j] [1, 2] [1, 1]
            : memref<4x6xf32> to memref<1x2xf32, strided<[6, 1], offset: ?>>
        %subview_0 = memref.subview %c[%i, %j] [1, 2] [1, 1]
            : memref<4x6xf32> to memref<1x2xf32, strided<[6, 1], offset: ?>>
        linalg.abs ins(%subview : memref<1x2xf32, strided<[6, 1], offset: ?>>)
            outs(%subview_0 : memref<1x2xf32, strided<[6, 1], offset: ?>>)
      }
    }
after `match("abs").unroll_and_jam(2).simplify()`:
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    scf.for %i = %c0 to %c4 step %c2 {
      scf.for %j = %c0 to %c6 step %c2 {
        %subview = memref.subview %a[%i, %j] [1, 2] [1, 1]
            : memref<4x6xf32> to memref<1x2xf32, strided<[6, 1], offset: ?>>
        %subview_0 = memref.subview %c[%i, %j] [1, 2] [1, 1]
            : memref<4x6xf32> to memref<1x2xf32, strided<[6, 1], offset: ?>>
        linalg.abs ins(%subview : memref<1x2xf32, strided<[6, 1], offset: ?>>)
            outs(%subview_0 : memref<1x2xf32, strided<[6, 1], offset: ?>>)
        %0 = arith.addi %i, %c1 : index
        %subview_1 = memref.subview %a[%0, %j] [1, 2] [1, 1]
            : memref<4x6xf32> to memref<1x2xf32, strided<[6, 1], offset: ?>>
        %subview_2 = memref.subview %c[%0, %j] [1, 2] [1, 1]
            : memref<4x6xf32> to memref<1x2xf32, strided<[6, 1], offset: ?>>
        linalg.abs ins(%subview_1 : memref<1x2xf32, strided<[6, 1], offset: ?>>)
            outs(%subview_2 : memref<1x2xf32, strided<[6, 1], offset: ?>>)
      }
    }

Source: `transform.loop.unroll_and_jam`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_factor, enclosing, refusal
from ._script import ANY, FOR, Doubt, Script
from .step import schedule_step


@schedule_step("linalg-ext-unroll-and-jam")
def unroll_and_jam(op: ir.Operation, *, factor: int, loop: int = 1) -> Script:
    """Repeat the innermost body for several iterations of an outer loop.

    Args:
        op: an op inside loops, such as `tile` and `bufferize` leave it: upstream joins only loops
            that carry no values.
        factor: how many iterations of the outer loop are joined, 2 or more.
        loop: which loop, counted outwards from 0; the loops inside it are joined.

    Raises:
        ScheduleError: there is no such loop, or upstream cannot join what is inside it.
    """
    check_factor(op, factor, enclosing(op, "unroll_and_jam", loop))
    for number in range(loop + 1):
        if list(enclosing(op, "unroll_and_jam", number).results):
            raise refusal(
                op,
                f"unroll_and_jam cannot join loop {number} around this {op.name}, which carries "
                "values",
                expected="loops on buffers",
                hint="take the step bufferize() first, and match again",
            )
    return Script(
        (
            f'%loop = transform.get_parent_op %target {{op_name = "scf.for", '
            f"nth_parent = {loop + 1}}} : ({ANY}) -> {FOR}",
            f"transform.loop.unroll_and_jam %loop {{factor = {factor}}} : {FOR}",
        ),
        doubt=Doubt(
            f"the loops in loop {loop} around this {op.name} cannot be joined: upstream joins "
            "those whose bounds and steps do not depend on it",
            f"unroll(...) repeats them one behind the other, or give a loop below {loop}",
        ),
    )
