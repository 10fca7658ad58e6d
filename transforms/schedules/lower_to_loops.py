"""Lower a structured op to loops over scalars.

before:
    linalg.abs ins(%a : memref<8xf32>) outs(%c : memref<8xf32>)
after `match("abs").lower_to_loops()`:
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %0 = affine.apply affine_map<(d0) -> (d0)>(%i)
      %1 = memref.load %a[%0] : memref<8xf32>
      %2 = math.absf %1 : f32
      %3 = affine.apply affine_map<(d0) -> (d0)>(%i)
      memref.store %2, %c[%3] : memref<8xf32>
    }

Source: "Lower to Loops (Affine, Generic, and Parallel)" of MLIR's linalg document;
`transform.structured.convert_to_loops`, `convert-linalg-to-affine-loops` and
`convert-linalg-to-parallel-loops`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.ir_utils.walking import select

from ._apart import run_apart
from ._checks import check_buffers, check_choice, check_maps
from ._script import Script, line
from .step import schedule_step

_PASSES = {
    "affine": "convert-linalg-to-affine-loops",
    "parallel": "convert-linalg-to-parallel-loops",
}
_LOOPS = frozenset({"affine.for", "scf.for", "scf.parallel"})


@schedule_step("linalg-ext-lower-to-loops")
def lower_to_loops(op: ir.Operation, *, kind: str = "scf") -> Script | list[ir.Operation]:
    """Put loops, loads, the op's scalar body and stores in its place.

    Args:
        op: a structured op on buffers.
        kind: "scf", "affine", or "parallel": parallel loops outside, reductions inside.

    Raises:
        ScheduleError: the op is on tensors, which loops cannot write to.
    """
    check_maps(op, "lower_to_loops")
    check_choice(op, "kind", kind, ("scf", *_PASSES))
    check_buffers(op, "lower_to_loops")
    if kind == "scf":
        return Script((line("%loops", "structured.convert_to_loops %target"),), "%loops")
    made = run_apart(op, _PASSES[kind])
    return [each for top in made for each in select(top, lambda e: e.name in _LOOPS)]
