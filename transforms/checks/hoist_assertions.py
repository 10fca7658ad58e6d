"""Move assertions up to where all their operands are defined.

An op that puts a tensor into another one becomes nothing: what makes the tensor writes where it is
to be. So what is asserted of the place must stand before that, and not before the op.

before:
    %e = tensor.empty() : tensor<4xf32>
    %s = linalg.fill ins(%x : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %fits = arith.cmpi sle, %k, %c4 : index
    cf.assert %fits, "out-of-bounds access: tensor.insert_slice"
    %r = tensor.insert_slice %s into %y[%k] [4] [1] : tensor<4xf32> into tensor<8xf32>
after:
    %fits = arith.cmpi sle, %k, %c4 : index
    cf.assert %fits, "out-of-bounds access: tensor.insert_slice"
    %e = tensor.empty() : tensor<4xf32>
    %s = linalg.fill ins(%x : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %r = tensor.insert_slice %s into %y[%k] [4] [1] : tensor<4xf32> into tensor<8xf32>

Each stays in its block, behind those of which all was there before, and behind what writes memory.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.arithmetic import element_of_constant
from linalg_ext.transforms.ir_utils.walking import operations

NAME = "linalg-ext-hoist-assertions"

_OP = "cf.assert"
_ARITHMETIC = ("arith.", "index.", "affine.apply", "affine.min", "affine.max")
_DIMS = ("memref.dim", "tensor.dim")
_WRITES = frozenset(
    ("memref.store", "memref.copy", "affine.store", "vector.store", "vector.transfer_write")
)


@module_pass(NAME, on=_OP)
def hoist_assertions(module: ir.Operation) -> Report:
    """Move assertions, and the arithmetic for them, up in their blocks."""
    report = Report(NAME)
    blocks: dict[Any, list[Any]] = {}
    for op in operations(module, {_OP}):
        report.matched[_OP] += 1
        blocks.setdefault(op.block, []).append(op)
    for block, assertions in blocks.items():
        report.changed[_OP] += _hoist(block, assertions)
    return report


def _hoist(block: Any, assertions: list[Any]) -> int:
    """Move the assertions of a block; how many of them stood behind another op than now."""
    ops = [op.operation for op in block.operations]
    place = {op: at for at, op in enumerate(ops)}
    # Behind which op, by its place, each op that moves may stand: -1 is the head of the block.
    behind: dict[int, int] = {}
    lined_up: dict[int, list[Any]] = {}
    moved, barrier, seen = 0, -1, 0
    for at in sorted(_needed(assertions, place)):
        for passed in range(seen, at):
            if _may_write(ops[passed]):
                barrier = passed
        op, earliest, seen = ops[at], barrier, at
        for operand in op.operands:
            made = place.get(operand.owner, -1) if isinstance(operand, ir.OpResult) else -1
            earliest = max(earliest, behind.get(made, made))
        behind[at] = earliest
        line = lined_up.setdefault(earliest, [])
        if at != earliest + 1 + len(line):
            moved += op.name == _OP
            if line or earliest >= 0:
                op.move_after(line[-1] if line else ops[earliest])
            else:
                op.move_before(block.operations[0])
        line.append(op)
    return moved


def _may_write(op: Any) -> bool:
    """An op that may write memory of the caller's, which an assertion behind it must not stop."""
    return op.name in _WRITES


def _needed(assertions: list[Any], place: dict[Any, int]) -> set[int]:
    """The assertions and the arithmetic of the block that they hang on, by their places."""
    needed = set()
    left = list(assertions)
    while left:
        op = left.pop()
        at = place[op]
        if at in needed:
            continue
        needed.add(at)
        for operand in op.operands:
            made = operand.owner if isinstance(operand, ir.OpResult) else None
            if made in place and _is_arithmetic(made):
                left.append(made)
    return needed


def _is_arithmetic(op: Any) -> bool:
    """An op on numbers that may be computed at any time."""
    if op.name in _DIMS:
        return element_of_constant(op.operands[1]) is not None
    return bool(op.name.startswith(_ARITHMETIC)) and not op.regions
