"""Steps that split reductions into partial results."""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import (
    DYNAMIC,
    check_least,
    check_maps,
    check_parts,
    check_plain,
    check_separable,
    check_sizes,
    check_tensors,
    refusal,
)
from .step import Script, integers, line, schedule_step


@schedule_step("linalg-ext-tile-reduction")
def tile_reduction(op: ir.Operation, *, sizes: tuple[int, ...], parallel: bool = False) -> Script:
    """Tile reductions so that the tiles do not wait for each other.

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
          %slice = tensor.extract_slice %a[0, %i] [8, 4] [1, 1]
              : tensor<8x16xf32> to tensor<8x4xf32>
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
    return Script(line(handles, text, results=inits + 3), focus="%partial")


@schedule_step("linalg-ext-split-reduction")
def split_reduction(
    op: ir.Operation, *, factor: int, dimension: int = 0, inner_parallel: bool = False
) -> Script:
    """Make `factor` partial results side by side, then one of them all.

    before:
        %r = linalg.reduce { arith.addf } ins(%a : tensor<8x16xf32>) outs(%c : tensor<8xf32>)
            dimensions = [1]
    after `match("reduce").split_reduction(4).simplify()`:
        %cst = arith.constant 0.000000e+00 : f32
        %expanded = tensor.expand_shape %a [[0], [1, 2]] output_shape [8, 4, 4]
            : tensor<8x16xf32> into tensor<8x4x4xf32>
        %0 = tensor.empty() : tensor<4x8xf32>
        %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
        %2 = linalg.generic {
            indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>,
                             affine_map<(d0, d1, d2) -> (d0, d1)>],
            iterator_types = ["parallel", "parallel", "reduction"]
        } ins(%expanded : tensor<8x4x4xf32>) outs(%1 : tensor<4x8xf32>) {
        ^bb0(%in: f32, %out: f32):
          %4 = arith.addf %out, %in : f32
          linalg.yield %4 : f32
        } -> tensor<4x8xf32>
        %r = linalg.generic {
            indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
            iterator_types = ["reduction", "parallel"]
        } ins(%2 : tensor<4x8xf32>) outs(%c : tensor<8xf32>) {
        ^bb0(%in: f32, %out: f32):
          %4 = arith.addf %in, %out : f32
          linalg.yield %4 : f32
        } -> tensor<8xf32>

    Source: `transform.structured.split_reduction`.

    Args:
        op: a structured op on tensors with one reduction, of a known size that `factor` divides.
        factor: into how many parts the reduction is split.
        dimension: of the partial results: where the new dimension stands.
        inner_parallel: neighbours go to different partial results, not to the same one.

    Raises:
        ScheduleError: the op has no such reduction, or indexes an operand by more than its loops.
    """
    loops = check_maps(op, "split_reduction")
    check_parts(op, "split_reduction")
    check_tensors(op, "split_reduction")
    check_separable(op, "split_reduction")
    check_least(op, "factor", factor, 2)
    if len(op.results) != 1:
        raise refusal(
            op, f"split_reduction is for one result; this {op.name} has {len(op.results)}"
        )
    if len(loops.reductions) != 1:
        raise refusal(
            op,
            f"split_reduction is for one reduction; {op.name} has {len(loops.reductions)}",
            expected=f"one, among {loops}",
            hint="tile_reduction(...) takes more",
        )
    check_plain(op, "split_reduction")
    size = loops.ranges[loops.reductions[0]]
    if size == DYNAMIC or size % factor:
        shown = "not known" if size == DYNAMIC else str(size)
        raise refusal(
            op,
            f"factor is {factor}, but the reduction is {shown} long",
            expected="a number that divides it",
            hint="pad(...) makes it a multiple; tile_reduction(...) needs none",
        )
    rank = ir.ShapedType(op.results[0].type).rank
    if not 0 <= dimension <= rank:
        raise refusal(op, f"dimension is {dimension}", expected=f"0 to {rank}")
    inner = ", inner_parallel" if inner_parallel else ""
    text = (
        f"structured.split_reduction %target {{split_factor = {factor}, "
        f"insert_split_dimension = {dimension}{inner}}}"
    )
    return Script(line("%init, %fill, %split, %combining", text, results=4), focus="%split")
