"""Make structured ops of loops over buffers and tensors, those of other programs included.

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
from linalg_ext.rewriting import Report
from linalg_ext.transforms.loop_raising.accumulate_in_memory import accumulate_in_memory
from linalg_ext.transforms.loop_raising.distribute_loops import distribute_loops
from linalg_ext.transforms.loop_raising.parallel_loops import in_sequence
from linalg_ext.transforms.loop_raising.raise_loops import raise_loops as raise_perfect_nests
from linalg_ext.transforms.loop_raising.raise_loops import to_scf
from linalg_ext.transforms.loop_raising.raising import ON_TENSORS, raise_nests
from linalg_ext.transforms.loop_raising.tensor_nests import raise_tensor_nests

from .step import schedule_step


@schedule_step("linalg-ext-raise-loops", whole=True, public=False)
def raise_loops(module: ir.Operation) -> list[ir.Operation]:
    """Raise loops of scf and affine, on buffers or tensors, to `linalg.generic` where they are one.

    Sums that loops carry are put in memory, and imperfect nests are split first. A parallel loop is
    raised only as a whole. Nests that carry tensors, or read elements of them, become ops on
    tensors.

    Raises:
        ScheduleError: no loop could be raised; the message gives the reason for each.
    """
    to_scf(module)
    report = Report(raise_perfect_nests.pass_name)
    in_sequence(module, report, _raise)
    _raise(module, report)
    if not report:
        reasons = {reason for reasons_of_op in report.left.values() for reason in reasons_of_op}
        why = "; ".join(sorted(reasons)) or "the module has no loops of scf or affine"
        raise ScheduleError(
            f"raise_loops cannot be done: {why}",
            expected="a loop over buffers or elements of tensors that is a structured op",
        )
    return []


def _raise(root: ir.Operation, report: Report) -> None:
    """Raise nests on tensors; distribute those on buffers, and raise the parts."""
    raise_tensor_nests(root, report)
    for raising_pass in (accumulate_in_memory, distribute_loops):
        for name, reasons in raising_pass.apply(root).left.items():
            for reason in reasons:
                if not reason.startswith(ON_TENSORS):  # `raise_tensor_nests` has reported these
                    report.leave(name, reason)
    raise_nests(root, report)
