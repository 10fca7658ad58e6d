"""Steps on the `scf.for` loops around an op."""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_factor, enclosing_loop, refusal
from .step import ANY, FOR, Doubt, Script, schedule_step


@schedule_step("linalg-ext-unroll")
def unroll(op: ir.Operation, *, factor: int, loop: int = 0) -> Script:
    """Repeat the body of a loop; the remainder has a loop of its own.

    before:
        %c0 = arith.constant 0 : index
        %c8 = arith.constant 8 : index
        %c2 = arith.constant 2 : index
        %r = scf.for %i = %c0 to %c8 step %c2 iter_args(%o = %c) -> (tensor<8xf32>) {
          %slice = tensor.extract_slice %a[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
          %slice_0 = tensor.extract_slice %o[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
          %1 = linalg.abs ins(%slice : tensor<2xf32>)
              outs(%slice_0 : tensor<2xf32>) -> tensor<2xf32>
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
          %1 = linalg.abs ins(%slice : tensor<2xf32>)
              outs(%slice_0 : tensor<2xf32>) -> tensor<2xf32>
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

    Args:
        op: an op inside `scf.for`, as `tile` leaves it.
        factor: how often the body is repeated, 2 or more.
        loop: which loop, counted outwards from 0.

    Raises:
        ScheduleError: there is no such loop around it.
    """
    check_factor(op, factor, enclosing_loop(op, "unroll", loop))
    return Script(_loop_around(loop), f"transform.loop.unroll %loop {{factor = {factor}}} : {FOR}")


@schedule_step("linalg-ext-unroll-and-jam")
def unroll_and_jam(op: ir.Operation, *, factor: int, loop: int = 1) -> Script:
    """Repeat the innermost body for several iterations of an outer loop.

    before:
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c6 = arith.constant 6 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        scf.for %i = %c0 to %c4 step %c1 {
          scf.for %j = %c0 to %c6 step %c2 {
            %s = memref.subview %c[%i, %j] [1, 2] [1, 1]
                : memref<4x6xf32> to memref<1x2xf32, strided<[6, 1], offset: ?>>
            linalg.fill ins(%x : f32) outs(%s : memref<1x2xf32, strided<[6, 1], offset: ?>>)
          }
        }
    after `match("fill").unroll_and_jam(2).simplify()`:
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c6 = arith.constant 6 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        scf.for %i = %c0 to %c4 step %c2 {
          scf.for %j = %c0 to %c6 step %c2 {
            %s = memref.subview %c[%i, %j] [1, 2] [1, 1]
                : memref<4x6xf32> to memref<1x2xf32, strided<[6, 1], offset: ?>>
            linalg.fill ins(%x : f32) outs(%s : memref<1x2xf32, strided<[6, 1], offset: ?>>)
            %0 = arith.addi %i, %c1 : index
            %t = memref.subview %c[%0, %j] [1, 2] [1, 1]
                : memref<4x6xf32> to memref<1x2xf32, strided<[6, 1], offset: ?>>
            linalg.fill ins(%x : f32) outs(%t : memref<1x2xf32, strided<[6, 1], offset: ?>>)
          }
        }

    Source: `transform.loop.unroll_and_jam`.

    Args:
        op: an op inside loops, such as `tile` and `bufferize` leave it: upstream joins only loops
            that carry no values.
        factor: how many iterations of the outer loop are joined, 2 or more.
        loop: which loop, counted outwards from 0; the loops inside it are joined.

    Raises:
        ScheduleError: there is no such loop, or upstream cannot join the loops inside it.
    """
    check_factor(op, factor, enclosing_loop(op, "unroll_and_jam", loop))
    for number in range(loop + 1):
        if list(enclosing_loop(op, "unroll_and_jam", number).results):
            raise refusal(
                op,
                f"unroll_and_jam cannot join loop {number} around this {op.name}, which carries "
                "values",
                expected="loops on buffers",
                hint="take the step bufferize() first, and match again",
            )
    return Script(
        _loop_around(loop),
        f"transform.loop.unroll_and_jam %loop {{factor = {factor}}} : {FOR}",
        doubt=Doubt(
            f"the loops in loop {loop} around this {op.name} cannot be joined: upstream joins "
            "those whose bounds and steps do not depend on it",
            f"unroll(...) repeats them one behind the other, or give a loop below {loop}",
        ),
    )


@schedule_step("linalg-ext-peel")
def peel(op: ir.Operation, *, loop: int = 0, front: bool = False) -> Script:
    """Give the last iteration of a loop a place of its own, so that all others are whole tiles.

    before:
        %c0 = arith.constant 0 : index
        %c8 = arith.constant 8 : index
        %c3 = arith.constant 3 : index
        %r = scf.for %i = %c0 to %c8 step %c3 iter_args(%o = %c) -> (tensor<8xf32>) {
          %1 = affine.min affine_map<(d0) -> (-d0 + 8, 3)>(%i)
          %slice = tensor.extract_slice %a[%i] [%1] [1] : tensor<8xf32> to tensor<?xf32>
          %slice_0 = tensor.extract_slice %o[%i] [%1] [1] : tensor<8xf32> to tensor<?xf32>
          %2 = linalg.abs ins(%slice : tensor<?xf32>)
              outs(%slice_0 : tensor<?xf32>) -> tensor<?xf32>
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
          %inserted_3 = tensor.insert_slice %2 into %o[%i] [3] [1] : tensor<3xf32>
              into tensor<8xf32>
          scf.yield %inserted_3 : tensor<8xf32>
        }
        %slice = tensor.extract_slice %a[6] [2] [1] : tensor<8xf32> to tensor<2xf32>
        %slice_0 = tensor.extract_slice %0[6] [2] [1] : tensor<8xf32> to tensor<2xf32>
        %1 = linalg.abs ins(%slice : tensor<2xf32>) outs(%slice_0 : tensor<2xf32>) -> tensor<2xf32>
        %r = tensor.insert_slice %1 into %0[6] [2] [1] : tensor<2xf32> into tensor<8xf32>

    Source: `transform.loop.peel`.

    Args:
        op: an op inside `scf.for`, as `tile` leaves it.
        loop: which loop, counted outwards from 0.
        front: peel the first iteration, not the last.

    Raises:
        ScheduleError: there is no such loop, or it has whole tiles only.
    """
    enclosing_loop(op, "peel", loop)
    first = " {peel_front = true}" if front else ""
    return Script(
        _loop_around(loop),
        f"%main, %rest = transform.loop.peel %loop{first} : ({FOR}) -> ({ANY}, {ANY})",
    )


@schedule_step("linalg-ext-hoist")
def hoist(op: ir.Operation, *, loop: int = 0) -> Script:
    """Hoist loop-invariant ops, and slices that a loop carries, out of the loop.

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

    Args:
        op: an op inside `scf.for`.
        loop: which loop, counted outwards from 0.

    Raises:
        ScheduleError: there is no such loop around it.
    """
    enclosing_loop(op, "hoist", loop)
    return Script(
        _loop_around(loop),
        f"transform.apply_licm to %loop : {FOR}",
        f"transform.loop.hoist_loop_invariant_subsets %loop : {FOR}",
    )


def _loop_around(number: int) -> str:
    """Return the line that finds a loop around `%target`, counted outwards from 0."""
    return (
        f'%loop = transform.get_parent_op %target {{op_name = "scf.for", '
        f"nth_parent = {number + 1}}} : ({ANY}) -> {FOR}"
    )
