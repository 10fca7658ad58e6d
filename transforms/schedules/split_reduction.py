"""Split a reduction in two: a parallel loop over partial results, and one that combines them.

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
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_least, check_maps, check_tensors, refusal
from ._facts import DYNAMIC
from ._index_checks import check_parts, check_plain, check_separable
from ._script import Script, line
from .step import schedule_step


@schedule_step("linalg-ext-split-reduction")
def split_reduction(
    op: ir.Operation, *, factor: int, dimension: int = 0, inner_parallel: bool = False
) -> Script:
    """Make `factor` partial results side by side, then one of them all.

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
    return Script((line("%init, %fill, %split, %combining", text, results=4),), "%split")
