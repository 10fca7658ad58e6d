"""Make structured ops of loops over buffers, those that another program wrote included.

before:
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
      %x = memref.load %a[%i] : memref<8xf32>
      %t = arith.addf %s, %x : f32
      scf.yield %t : f32
    }
    memref.store %sum, %c[] : memref<f32>
after `raise_loops().match().specialize()`:
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %c[] : memref<f32>
    linalg.reduce ins(%a : memref<8xf32>) outs(%c : memref<f32>) dimensions = [0]
      (%in: f32, %init: f32) {
        %0 = arith.addf %init, %in : f32
        linalg.yield %0 : f32
      }

Source: the way back from "Lower to Loops" of MLIR's linalg document. As passes:
`linalg-ext-accumulate-in-memory`, `linalg-ext-distribute-loops` and `linalg-ext-raise-loops`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.errors import ScheduleError
from linalg_ext.transforms.nests.accumulate_in_memory import accumulate_in_memory
from linalg_ext.transforms.nests.distribute_loops import distribute_loops
from linalg_ext.transforms.nests.raise_loops import raise_loops as raise_perfect_nests
from linalg_ext.transforms.nests.raise_loops import to_scf

from ._step import schedule_step


@schedule_step("linalg-ext-raise-loops", whole=True, public=False)
def raise_loops(module: ir.Operation) -> list[ir.Operation]:
    """Write loops of scf and affine over buffers as `linalg.generic`, each nest that is one.

    Sums that loops carry are put in memory, and nests that are not perfect taken apart first.

    Raises:
        ScheduleError: no loop could be raised; says why.
    """
    to_scf(module)
    passes = (accumulate_in_memory, distribute_loops, raise_perfect_nests)
    reports = [each.apply(module) for each in passes]
    if not reports[-1]:
        reasons = {reason for report in reports for left in report.left.values() for reason in left}
        why = "; ".join(sorted(reasons)) or "the module has no loops of scf or affine"
        raise ScheduleError(
            f"raise_loops cannot be done: {why}",
            expected="a loop over buffers that is a structured op",
        )
    return []
