"""Roll up equal steps of straight code, such as those of a loop in Python, into one loop.

before:
    func.func @f(%x: vector<8xf32>) -> vector<8xf32> {
      %0 = math.sin %x : vector<8xf32>
      %1 = math.sin %0 : vector<8xf32>
      %2 = math.sin %1 : vector<8xf32>
      return %2 : vector<8xf32>
    }
after:
    func.func @f(%x: vector<8xf32>) -> vector<8xf32> {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %c1 = arith.constant 1 : index
      %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %x) -> (vector<8xf32>) {
        %1 = math.sin %v : vector<8xf32>
        scf.yield %1 : vector<8xf32>
      }
      return %0 : vector<8xf32>
    }

The example is with `least=3`. A step takes values of the step before, and values that are the same
for all steps. Each step waits for the one before it, rolled up or not; hundreds of copies of it
would be lowered one by one, and exceed the cache of instructions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.module_functions import PLAN
from linalg_ext.transforms.ir_utils.repeats import Line
from linalg_ext.transforms.ir_utils.rolling import rows, write_loop
from linalg_ext.transforms.ir_utils.walking import functions, ops_of

NAME = "linalg-ext-roll-up-steps"

_COMPUTES = ("arith.", "math.", "complex.", "vector.fma")
"""Name prefixes of ops whose only effect is their result."""


@module_pass(NAME, on=lambda name: name.startswith(_COMPUTES))
def roll_up_steps(module: ir.Operation, *, least: int = 32) -> Report:
    """Replace long rows of equal steps by loops.

    Args:
        module: on vectors or scalars.
        least: the number of steps of a row that is rolled up.
    """
    report = Report(NAME)
    for function in functions(module):
        if PLAN in function.attributes:
            continue
        stretches = [ops for ops in _straight_code(function) if _may_repeat(ops, least)]
        report.changed["scf.for"] += sum(_roll_up(ops, least) for ops in stretches)
    return report


def _straight_code(op: Any) -> Iterator[list[Any]]:
    """Yield the stretches of ops that only compute; constants may stand among them."""
    for region in op.regions:
        for block in region.blocks:
            stretch: list[Any] = []
            for inner in ops_of(block):
                if inner.name.startswith(_COMPUTES):
                    stretch.append(inner)
                    continue
                yield stretch
                stretch = []
                if len(inner.regions):
                    yield from _straight_code(inner)
            yield stretch


def _may_repeat(ops: list[Any], least: int) -> bool:
    return len(ops) >= least and max(Counter(op.name for op in ops).values()) >= least


def _roll_up(ops: list[Any], least: int) -> bool:
    """Roll up the row of a stretch that saves the most ops; return whether there is one."""
    row = next(rows(Line(ops), least), None)
    if row is None:
        return False
    write_loop(row)
    return True
