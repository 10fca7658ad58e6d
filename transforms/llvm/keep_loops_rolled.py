"""Have LLVM leave loops over vectors as they are, where it would unroll them.

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
of its time to compile. Loops of few rounds stay LLVM's: unrolled, their sums stay in registers.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.arithmetic import known_trips
from linalg_ext.transforms.ir_utils.walking import operations, ops_of

NAME = "linalg-ext-keep-loops-rolled"

_LOOP = "scf.for"

_FEW = 8
"""The most rounds of a loop that LLVM may unroll."""


@module_pass(NAME, on=_LOOP)
def keep_loops_rolled(module: ir.Operation) -> Report:
    """Tell LLVM not to unroll loops over vectors, but for those of few rounds.

    Upstream's lowering hands the annotation of a loop on to its branch back.
    """
    report = Report(NAME)
    annotation = ir.Attribute.parse("#llvm.loop_annotation<unroll = <disable = true>>")
    for loop in operations(module, {_LOOP}):
        trips = known_trips(*loop.operands[:3])
        if (trips is None or trips > _FEW) and _is_on_vectors(loop):
            report.changed[_LOOP] += 1
            loop.attributes["loop_annotation"] = annotation
    return report


def _is_on_vectors(loop: Any) -> bool:
    return any(op.name.startswith("vector.") for op in ops_of(loop.regions[0].blocks[0]))
