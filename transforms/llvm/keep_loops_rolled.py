"""Have LLVM leave loops over vectors as they are, or copy short sums a few times.

before:
    func.func @f(%x: memref<4096xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      scf.for %i = %c0 to %n step %c8 {
        %v = vector.load %x[%i] : memref<4096xf32>, vector<8xf32>
        %w = arith.addf %v, %v : vector<8xf32>
        vector.store %w, %x[%i] : memref<4096xf32>, vector<8xf32>
      }
      return
    }
after:
    func.func @f(%x: memref<4096xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      scf.for %i = %c0 to %n step %c8 {
        %v = vector.load %x[%i] : memref<4096xf32>, vector<8xf32>
        %w = arith.addf %v, %v : vector<8xf32>
        vector.store %w, %x[%i] : memref<4096xf32>, vector<8xf32>
      } {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
      return
    }

A round of such a loop has as much work as a processor wants of it. For a processor that keeps long
loops decoded LLVM would write up to 512 instructions of copies, which take as long to run, and half
of its time to compile. A short loop that carries values, such as the products of a tile, gets two
or four copies: its branch and its counters are a third of it. Loops of few rounds stay LLVM's:
unrolled, their sums stay in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.arithmetic import known_trips
from linalg_ext.transforms.ir_utils.walking import operations, ops_of

NAME = "linalg-ext-keep-loops-rolled"

_LOOP = "scf.for"

_FEW = 8
"""The most rounds of a loop that LLVM may unroll."""


_COPIES = (4, 2)
"""The copies of a round that a short loop may have, the most first."""

_ROUND = 96
"""The most ops of a round that was copied."""


@module_pass(NAME, on=_LOOP)
def keep_loops_rolled(module: ir.Operation) -> Report:
    """Tell LLVM how often to unroll loops over vectors, but for those of few rounds.

    Upstream's lowering hands the annotation of a loop on to its branch back.
    """
    report = Report(NAME)
    for loop in operations(module, {_LOOP}):
        trips = known_trips(*loop.operands[:3])
        ops = ops_of(loop.regions[0].blocks[0])
        is_on_vectors = any(op.name.startswith("vector.") for op in ops)
        if is_on_vectors and (trips is None or trips > _FEW):
            report.changed[_LOOP] += 1
            loop.attributes["loop_annotation"] = _annotation(_copies(loop, ops))
    return report


def _copies(loop: Any, ops: Sequence[Any]) -> int:
    """Return the copies of a round: one, unless the loop is innermost and carries values."""
    if not loop.results or any(len(op.regions) for op in ops):
        return 1
    return next((copies for copies in _COPIES if copies * len(ops) <= _ROUND), 1)


def _annotation(copies: int) -> ir.Attribute:
    unroll = "disable = true" if copies == 1 else f"count = {copies} : i32"
    return ir.Attribute.parse(f"#llvm.loop_annotation<unroll = <{unroll}>>")
