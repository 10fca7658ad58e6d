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

before:
    %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %d) -> (tensor<8xf32>) {
      %x = tensor.extract %u[%i] : tensor<8xf32>
      %e = math.exp %x : f32
      %v = tensor.insert %e into %t[%i] : tensor<8xf32>
      scf.yield %v : tensor<8xf32>
    }
after:
    %r = linalg.generic {
        indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]
    } ins(%u : tensor<8xf32>) outs(%d : tensor<8xf32>) {
    ^bb0(%x: f32, %t: f32):
      %e = math.exp %x : f32
      linalg.yield %e : f32
    } -> tensor<8xf32>

`linalg-ext-specialize` then makes it the named op. Loops that begin elsewhere than at 0, that take
steps, or that touch a part of a buffer become ops on `memref.subview`s; windows and reversed reads
stay in the maps, and induction variables in the body become `linalg.index`. A loop by which no
result is indexed is a reduction: its iterations must combine a result by one associative op. Affine
loops become those of scf first, and `scf.parallel`, with `scf.reduce` or without, a nest that runs
in order, if all of it can be raised. Arguments of a function that no other calls are taken not to
overlap.

A nest on tensors may carry several of them, and scalars: sums, products, maxima. Each tensor with
an element put in must take the place of the one before. A value that inner loops carry, and the
outer one reads, becomes a tensor with an element for each iteration.

A nest on buffers that is not perfect is left, its inner loops are raised:
`linalg-ext-distribute-loops` comes before, and before that, where loops carry values,
`linalg-ext-accumulate-in-memory`. The schedule step `raise_loops` takes all three.

Source: the way back from "Lower to Loops" of MLIR's linalg document; Chelini et al., "Progressive
Raising in Multi-level IR", CGO 2021.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.transforms.ir_utils.walking import operations

from ._bands import FOR
from .parallel_loops import in_sequence
from .raising import PARALLEL, raise_nests
from .tensor_nests import raise_tensor_nests

NAME = "linalg-ext-raise-loops"

_AFFINE = ("affine.for", "affine.parallel")


@module_pass(NAME, on=(FOR, PARALLEL, *_AFFINE))
def raise_loops(module: ir.Operation) -> Report:
    """Write perfect nests of loops over buffers as `linalg.generic`, and nests on tensors."""
    report = Report(NAME)
    to_scf(module)
    in_sequence(module, report, raise_all)
    raise_all(module, report)
    return report


def raise_all(root: ir.Operation, report: Report) -> None:
    """Raise the nests of `scf.for` below an op, those on tensors first."""
    raise_tensor_nests(root, report)
    raise_nests(root, report)


def to_scf(module: ir.Operation) -> None:
    """Make loops of scf of those of affine, if there are any."""
    if operations(module, _AFFINE):
        pass_manager("any", module.context, "lower-affine").run(module)
