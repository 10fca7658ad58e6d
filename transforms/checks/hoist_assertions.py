"""Move assertions up to where all their operands are defined.

An op that puts a tensor into another one becomes nothing: the tensor's producer writes into its
place. So assertions about the place must stand before the producer, and not before the op.

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

Each stays in its block, behind the assertions whose operands are computed earlier, and behind
writes to memory.
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
"""Ops that may write the caller's memory: an assertion behind one must not stop it."""


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
    """Move the assertions of a block; return how many stand behind another op now."""
    ops = [op.operation for op in block.operations]
    positions = {op: number for number, op in enumerate(ops)}
    # Positions of ops that move, with those that they may stand behind; -1 is the block's head.
    behind: dict[int, int] = {}
    lined_up: dict[int, list[Any]] = {}
    moved, barrier, start = 0, -1, 0
    for position in sorted(_needed(assertions, positions)):
        for passed in range(start, position):
            if ops[passed].name in _WRITES:
                barrier = passed
        op, earliest, start = ops[position], barrier, position
        for operand in op.operands:
            definition = (
                positions.get(operand.owner, -1) if isinstance(operand, ir.OpResult) else -1
            )
            earliest = max(earliest, behind.get(definition, definition))
        behind[position] = earliest
        line = lined_up.setdefault(earliest, [])
        if position != earliest + 1 + len(line):
            moved += op.name == _OP
            if line or earliest >= 0:
                op.move_after(line[-1] if line else ops[earliest])
            else:
                op.move_before(block.operations[0])
        line.append(op)
    return moved


def _needed(assertions: list[Any], positions: dict[Any, int]) -> set[int]:
    """Return the positions of assertions and of the arithmetic in the block that they need."""
    needed = set()
    waiting = list(assertions)
    while waiting:
        op = waiting.pop()
        position = positions[op]
        if position in needed:
            continue
        needed.add(position)
        for operand in op.operands:
            definition = operand.owner if isinstance(operand, ir.OpResult) else None
            if definition in positions and _is_arithmetic(definition):
                waiting.append(definition)
    return needed


def _is_arithmetic(op: Any) -> bool:
    """Return whether an op is on numbers, and may be computed at any time."""
    if op.name in _DIMS:
        return element_of_constant(op.operands[1]) is not None
    return bool(op.name.startswith(_ARITHMETIC)) and not op.regions
