"""Reduce in tiles: each keeps partial results of its own, which are combined in the end.

before:
    %r = linalg.reduce { arith.addf } ins(%a : tensor<8x16xf32>) outs(%c : tensor<8xf32>)
        dimensions = [1]
after `match("reduce").tile_reduction([0, 4]).simplify()`:
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c0 = arith.constant 0 : index
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<8x4xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = scf.for %i = %c0 to %c16 step %c4 iter_args(%o = %1) -> (tensor<8x4xf32>) {
      %slice = tensor.extract_slice %a[0, %i] [8, 4] [1, 1] : tensor<8x16xf32> to tensor<8x4xf32>
      %3 = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]
      } ins(%slice : tensor<8x4xf32>) outs(%o : tensor<8x4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %4 = arith.addf %out, %in : f32
        linalg.yield %4 : f32
      } -> tensor<8x4xf32>
      scf.yield %3 : tensor<8x4xf32>
    }
    %r = linalg.reduce ins(%2 : tensor<8x4xf32>) outs(%c : tensor<8xf32>) dimensions = [1]
      (%in: f32, %init: f32) {
        %3 = arith.addf %in, %init : f32
        linalg.yield %3 : f32
      }

Source: `transform.structured.tile_reduction_using_for` and `..._using_forall`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_maps, check_sizes, check_tensors, refusal
from ._index_checks import check_parts, check_separable
from ._script import Script, integers, line
from .step import schedule_step


@schedule_step("linalg-ext-tile-reduction")
def tile_reduction(op: ir.Operation, *, sizes: tuple[int, ...], parallel: bool = False) -> Script:
    """Tile reductions so that the tiles do not wait for each other.

    Args:
        op: a structured op on tensors with a reduction that upstream knows how to combine.
        sizes: of a tile along each reduction; 0 at parallel loops.
        parallel: let the tiles run at the same time, in an `scf.forall`.

    Raises:
        ScheduleError: the op has no reduction, or the sizes are of other loops.
    """
    loops = check_maps(op, "tile_reduction")
    check_parts(op, "tile_reduction")
    check_tensors(op, "tile_reduction")
    check_separable(op, "tile_reduction")
    check_sizes(op, "sizes", sizes, loops)
    for loop, size in enumerate(sizes):
        if size and loop not in loops.reductions:
            raise refusal(
                op,
                f"sizes[{loop}] is {size}, but loop {loop} is parallel",
                expected=f"0 there, for {loops}",
                hint="tile(...) or parallelize(...) is for parallel loops",
            )
    sizes = (*sizes, *[0] * (loops.count - len(sizes)))
    dims = [loop for loop in range(loops.count) if sizes[loop]]
    inits = len(op.results)
    kind = "forall" if parallel else "for"
    text = (
        f"structured.tile_reduction_using_{kind} %target reduction_dims = {integers(dims)} "
        f"by tile_sizes = {integers(sizes)}"
    )
    handles = f"%fill:{inits}, %partial, %combining, %loop"
    return Script((line(handles, text, results=inits + 3),), "%partial")
