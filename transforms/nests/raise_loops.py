"""Raise loops: a perfect nest over memory becomes the `linalg.generic` that computes the same.

before:
    scf.for %i = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c6 step %c1 {
        scf.for %k = %c0 to %c8 step %c1 {
          %x = memref.load %a[%i, %k] : memref<4x8xf32>
          %y = memref.load %b[%k, %j] : memref<8x6xf32>
          %z = memref.load %c[%i, %j] : memref<4x6xf32>
          %p = arith.mulf %x, %y : f32
          %s = arith.addf %z, %p : f32
          memref.store %s, %c[%i, %j] : memref<4x6xf32>
        }
      }
    }
after:
    linalg.generic {
        indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
                         affine_map<(d0, d1, d2) -> (d2, d1)>,
                         affine_map<(d0, d1, d2) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %z, %p : f32
      linalg.yield %s : f32
    }

What `linalg-ext-specialize` then calls by its name. Loops that begin elsewhere than at 0, that take
steps, or that touch a part of a buffer become ops on `memref.subview`s; windows and what is read
backwards stay in the maps, and induction variables in the body become `linalg.index`. A loop by
which no result is indexed is a reduction: its iterations must combine a result by one associative
op. Affine loops become those of scf first. Arguments of a function that no other calls are taken
not to overlap.

A nest that is not perfect is left, its inner loops are raised: `linalg-ext-distribute-loops` comes
before, and before that, where loops carry values, `linalg-ext-accumulate-in-memory`. The schedule
step `raise_loops` takes all three.

Source: the way back from "Lower to Loops" of MLIR's linalg document; Chelini et al., "Progressive
Raising in Multi-level IR", CGO 2021.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, passmanager
from linalg_ext.rewriting import Left, Report, module_pass
from linalg_ext.transforms.lowering._walk import operations

from ._bands import FOR, band_of
from ._raised import raised
from ._sizes import SizeReader

NAME = "linalg-ext-raise-loops"

_AFFINE = "affine.for"


@module_pass(NAME, on=(FOR, _AFFINE))
def raise_loops(module: ir.Operation) -> Report:
    """Write perfect nests of loops over buffers as `linalg.generic`."""
    report = Report(NAME)
    to_scf(module)
    report.matched[FOR] += len(operations(module, [FOR]))
    for loop in _outermost(module):
        _raise(loop, report)
    return report


def to_scf(module: ir.Operation) -> None:
    """Make loops of scf of those of affine, if there are any."""
    if operations(module, [_AFFINE]):
        manager = passmanager.PassManager("any", module.context)
        manager.add("lower-affine")
        manager.run(module)


def _raise(loop: ir.Operation, report: Report) -> None:
    """Raise the nest that begins with a loop; else those inside."""
    band = band_of(loop, SizeReader())
    answer = band if isinstance(band, Left) else raised(band)
    if answer is None:
        report.changed[FOR] += len(operations(loop, [FOR]))
        loop.erase()
        return
    report.leave(FOR, answer.reason)
    for inner in _outermost(loop):
        _raise(inner, report)


def _outermost(root: ir.Operation) -> list[ir.Operation]:
    """The loops below an op that are in no other one there."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != FOR or op == root:
            return ir.WalkResult.ADVANCE
        found.append(op)
        return ir.WalkResult.SKIP

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
