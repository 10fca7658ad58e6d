"""Unroll the loops over a window: one op for each place in it, which reads by plain dimensions.

before:
    %r = linalg.conv_2d ins(%a, %b : tensor<6x8xf32>, tensor<1x2xf32>)
        outs(%c : tensor<6x7xf32>) -> tensor<6x7xf32>
after `match("conv_2d").unroll_windows().simplify()`:
    %slice = tensor.extract_slice %a[0, 0] [6, 7] [1, 1] : tensor<6x8xf32> to tensor<6x7xf32>
    %slice_0 = tensor.extract_slice %b[0, 0] [1, 1] [1, 1] : tensor<1x2xf32> to tensor<f32>
    %0 = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>,
                         affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
    } ins(%slice, %slice_0 : tensor<6x7xf32>, tensor<f32>) outs(%c : tensor<6x7xf32>) {
    ^bb0(%x: f32, %w: f32, %o: f32):
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<6x7xf32>
    %slice_1 = tensor.extract_slice %a[0, 1] [6, 7] [1, 1] : tensor<6x8xf32> to tensor<6x7xf32>
    %slice_2 = tensor.extract_slice %b[0, 1] [1, 1] [1, 1] : tensor<1x2xf32> to tensor<f32>
    %r = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>,
                         affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
    } ins(%slice_1, %slice_2 : tensor<6x7xf32>, tensor<f32>) outs(%0 : tensor<6x7xf32>) {
    ^bb0(%x: f32, %w: f32, %o: f32):
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<6x7xf32>

Where channels are summed, each is a product of matrices, which `specialize` names. `vectorize`
does this by itself: upstream has vectors for windows along one dimension only.

Source: the direct convolution of Georganas et al., "Anatomy of High-Performance Deep Learning
Convolutions on SIMD Architectures" (SC 2018): a small product of matrices for each place.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.structured.maps import indexing_maps

from ._checks import check_maps, check_not_empty, refusal
from ._window_pieces import MOST_PLACES, check_layouts, unrolled
from ._window_places import is_plain, places_of, reading
from .step import schedule_step


@schedule_step("linalg-ext-unroll-windows")
def unroll_windows(op: ir.Operation) -> list[ir.Operation]:
    """Compute a convolution or a pooling by one op for each place in its window.

    Any op is taken whose indices are sums of loops. Those loops are unrolled that leave each
    operand a slice read by plain dimensions: the reductions, where the others run more than once.

    Args:
        op: a structured op.

    Raises:
        ScheduleError: it has no indexing maps, or no window, or the places are not known or more
            than 128.
    """
    loops = check_maps(op, "unroll_windows")
    check_not_empty(op, loops)
    if all(is_plain(map_) for map_ in indexing_maps(op)):
        raise refusal(
            op,
            f"unroll_windows is for ops that read windows; this {op.name} has none",
            expected="an index that is a sum of loops, such as d1 + d4",
        )
    maps = indexing_maps(op)
    check_layouts(op, "unroll_windows")
    places = places_of(maps, loops, loops.ranges, limit=MOST_PLACES)
    if places is None:
        number, index, own = reading(maps, loops)
        runs = [loops.ranges[loop] for loop in own]
        shown = ", ".join(
            f"loop {loop} runs {count if count > 0 else '?'} times"
            for loop, count in zip(own, runs, strict=True)
        )
        raise refusal(
            op,
            f"operand {number} of this {op.name} is indexed by {index}: {shown}",
            expected=f"at most {MOST_PLACES} places in all",
            hint="tile(...) these loops first, by sizes that divide them",
        )
    return [piece.op for piece in unrolled(op, loops, places)]
