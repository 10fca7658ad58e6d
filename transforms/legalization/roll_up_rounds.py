"""Equal rounds on tensors, such as those of a loop in Python, become one loop.

before:
    func.func @f(%x: tensor<3x8xf32>) -> tensor<8xf32> {
      %z = arith.constant dense<0.0> : tensor<8xf32>
      %a = tensor.extract_slice %x[0, 0] [1, 8] [1, 1] : tensor<3x8xf32> to tensor<8xf32>
      %0 = linalg.sub ins(%a, %z : tensor<8xf32>, tensor<8xf32>) outs(%a : tensor<8xf32>)
             -> tensor<8xf32>
      %b = tensor.extract_slice %x[1, 0] [1, 8] [1, 1] : tensor<3x8xf32> to tensor<8xf32>
      %1 = linalg.sub ins(%b, %0 : tensor<8xf32>, tensor<8xf32>) outs(%b : tensor<8xf32>)
             -> tensor<8xf32>
      %c = tensor.extract_slice %x[2, 0] [1, 8] [1, 1] : tensor<3x8xf32> to tensor<8xf32>
      %2 = linalg.sub ins(%c, %1 : tensor<8xf32>, tensor<8xf32>) outs(%c : tensor<8xf32>)
             -> tensor<8xf32>
      return %2 : tensor<8xf32>
    }
after:
    func.func @f(%x: tensor<3x8xf32>) -> tensor<8xf32> {
      %z = arith.constant dense<0.0> : tensor<8xf32>
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %z) -> (tensor<8xf32>) {
        %o = arith.muli %i, %c1 : index
        %n = arith.addi %o, %c0 : index
        %a = tensor.extract_slice %x[%n, 0] [1, 8] [1, 1] : tensor<3x8xf32> to tensor<8xf32>
        %0 = linalg.sub ins(%a, %v : tensor<8xf32>, tensor<8xf32>) outs(%a : tensor<8xf32>)
               -> tensor<8xf32>
        scf.yield %0 : tensor<8xf32>
      }
      return %r : tensor<8xf32>
    }

The example is with `least=3, saved=1`. Hundreds of rounds would be lowered one by one, and
upstream's bufferization takes the cube of their number where all write into one tensor. A round
takes values of the round before, values that are the same for all, and slices, those that several
rounds share too. Results that are taken after all rounds, as `numpy.stack` takes them, are
collected in one tensor.

A chain of element-wise ops is left: fusion makes one nest of it, whose rounds
`linalg-ext-roll-up-steps` finds, and which keeps its values in registers.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.generics import parallel_loops
from linalg_ext.transforms.ir_utils.repeats import Line, may_repeat
from linalg_ext.transforms.ir_utils.rolling import Row, element_count, rows, write_loop
from linalg_ext.transforms.ir_utils.tensor_loops import insert_slice
from linalg_ext.transforms.ir_utils.walking import (
    ancestor_in,
    copied_on,
    functions,
    ops_of,
    producer,
    replace_op,
)

NAME = "linalg-ext-roll-up-rounds"

_SLICE = "tensor.extract_slice"

_MOST_STATE = 1 << 16
"""The most elements that element-wise rounds hand on in a loop: fused, they use registers."""


@module_pass(NAME, on=lambda name: name.startswith("linalg."))
def roll_up_rounds(module: ir.Operation, *, least: int = 32, saved: int = 64) -> Report:
    """Replace long rows of equal rounds by loops.

    Args:
        module: on tensors.
        least: the number of rounds of a row that is rolled up.
        saved: the number of ops, constants not counted, that a loop must save.
    """
    report = Report(NAME)
    for function in functions(module):
        block, *branches = function.regions[0].blocks
        if branches or len(block.operations) <= saved:
            continue
        _copy_to_users(ops_of(block)[:-1])
        while _roll_up(ops_of(block)[:-1], least, saved):
            report.changed["scf.for"] += 1
    return report


def _copy_to_users(ops: list[Any]) -> None:
    """Give each user of a slice one of its own, before it: rounds that share some are equal then.

    `cse` leaves one of those that no loop takes.
    """
    for op in reversed(ops):
        if op.name != _SLICE:
            continue
        for use in list(op.results[0].uses):
            user: Any = ancestor_in(op.block, use.owner.operation)
            with op.location, ir.InsertionPoint(user):
                own = copied_on(op, list(op.operands))
            use.owner.operands[use.operand_number] = own.results[0]
        op.erase()


def _roll_up(ops: list[Any], least: int, saved: int) -> bool:
    """Roll up a row that is worth it; return whether there is one."""
    # A row may lack its first round, and its last one, where other ops take their results.
    if not may_repeat(ops, 1, max(2, least - 2)):
        return False
    line = Line(ops, open_numbers=True)
    row = next((row for row in rows(line, least) if _is_worth_a_loop(row, saved)), None)
    if row is None:
        return False
    joined = {use.owner.operation for uses in row.far.values() for _, use in uses}
    write_loop(row)
    for op in joined:
        if op.name == "tensor.concat" and len(op.operands) >= least:
            _insert_each(op)
    return True


def _insert_each(concat: Any) -> None:
    """Replace a concatenation by insertions, one by one: they are a row, too."""
    type_, axis, offset = concat.results[0].type, concat.attributes["dim"].value, 0
    with concat.location, ir.InsertionPoint(concat):
        whole = tensor.EmptyOp(type_.shape, type_.element_type).result
        for part in concat.operands:
            slice_ = producer(part)
            if slice_ is not None and slice_.name == _SLICE and len(list(part.uses)) == 1:
                slice_.move_before(concat)
            offsets = [offset if dim == axis else 0 for dim in range(type_.rank)]
            whole = insert_slice(part, whole, offsets, part.type.shape)
            offset += part.type.shape[axis]
    replace_op(concat, whole)


def _is_worth_a_loop(row: Row, saved: int) -> bool:
    if (len(row.steps) - 1) * len(row.ops) < saved:
        return False
    if not row.initial and all(op.name.startswith("tensor.") for op in row.ops):
        return False  # it would collect slices of collected tensors
    if not all(map(_is_elementwise, row.ops)):
        return True
    if len(row.initial) == 1 and not row.collected and next(row.differing, None) is None:
        return False
    return sum(element_count(value.type) for value in row.initial.values()) <= _MOST_STATE


def _is_elementwise(op: Any) -> bool:
    if op.name == "linalg.generic":
        return all(parallel_loops(op))
    return bool(op.name == _SLICE)
