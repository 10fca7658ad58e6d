"""Tile one loop by two sizes that differ by little and together fit it whole.

before:
    %r = linalg.abs ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
after `match("abs").tile_evenly(0, 3).simplify()`:
    %c3 = arith.constant 3 : index
    %c6 = arith.constant 6 : index
    %c0 = arith.constant 0 : index
    %slice = tensor.extract_slice %a[0] [2] [1] : tensor<8xf32> to tensor<2xf32>
    %slice_0 = tensor.extract_slice %c[0] [2] [1] : tensor<8xf32> to tensor<2xf32>
    %0 = linalg.abs ins(%slice : tensor<2xf32>) outs(%slice_0 : tensor<2xf32>) -> tensor<2xf32>
    %inserted = tensor.insert_slice %0 into %c[0] [2] [1] : tensor<2xf32> into tensor<8xf32>
    %slice_1 = tensor.extract_slice %a[2] [6] [1] : tensor<8xf32> to tensor<6xf32>
    %slice_2 = tensor.extract_slice %inserted[2] [6] [1] : tensor<8xf32> to tensor<6xf32>
    %1 = scf.for %i = %c0 to %c6 step %c3 iter_args(%o = %slice_2) -> (tensor<6xf32>) {
      %slice_4 = tensor.extract_slice %slice_1[%i] [3] [1] : tensor<6xf32> to tensor<3xf32>
      %slice_5 = tensor.extract_slice %o[%i] [3] [1] : tensor<6xf32> to tensor<3xf32>
      %2 = linalg.abs ins(%slice_4 : tensor<3xf32>)
          outs(%slice_5 : tensor<3xf32>) -> tensor<3xf32>
      %inserted_6 = tensor.insert_slice %2 into %o[%i] [3] [1] : tensor<3xf32> into tensor<6xf32>
      scf.yield %inserted_6 : tensor<6xf32>
    }
    %r = tensor.insert_slice %1 into %inserted[2] [6] [1] : tensor<6xf32> into tensor<8xf32>

Source: `transform.structured.multitile_sizes`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_least, check_loop, check_maps, refusal
from ._index_checks import check_linear, check_parts
from ._script import ANY, Script
from .step import schedule_step


@schedule_step("linalg-ext-tile-evenly")
def tile_evenly(op: ir.Operation, *, loop: int, size: int, divisor: int = 1) -> Script:
    """Split a loop in two parts, each tiled by a size that divides it.

    Args:
        op: a structured op.
        loop: which loop, by number; its range must be known, and more than `size`.
        size: of the tiles at most.
        divisor: both sizes are multiples of it.

    Raises:
        ScheduleError: there is no such loop, or no two such sizes.
    """
    loops = check_maps(op, "tile_evenly")
    check_parts(op, "tile_evenly")
    check_loop(op, "loop", loop, loops)
    check_linear(op, "tile_evenly", loop)
    check_least(op, "divisor", divisor, 1)
    check_least(op, "size", size, divisor)
    low, high, low_count, high_count = _sizes(op, loops.ranges[loop], loop, size, divisor)
    before = "0, " * loop
    for_ = f"({ANY}) -> ({ANY}, {ANY})"
    if not low_count or not high_count or low == high:
        only = high if not low_count else low
        return Script(
            (
                f"%tiled, %loop = transform.structured.tile_using_for %target "
                f"tile_sizes [{before}{only}] : {for_}",
            ),
            "%tiled",
        )
    return Script(
        (
            f"%parts = transform.structured.split %target after {low * low_count} "
            f"{{dimension = {loop}}} : {ANY}",
            f"%low, %high = transform.split_handle %parts : {for_}",
            f"%lows, %lowloop = transform.structured.tile_using_for %low "
            f"tile_sizes [{before}{low}] : {for_}",
            f"%highs, %highloop = transform.structured.tile_using_for %high "
            f"tile_sizes [{before}{high}] : {for_}",
            f"%tiled = transform.merge_handles %lows, %highs : {ANY}",
        ),
        "%tiled",
    )


def _sizes(
    op: ir.Operation, extent: int, loop: int, size: int, divisor: int
) -> tuple[int, int, int, int]:
    """Two sizes and how many tiles of each there are, as upstream computes them."""
    if extent <= 0 or extent % divisor:
        shown = str(extent) if extent > 0 else "not known"
        raise refusal(
            op, f"the range of loop {loop} is {shown}", expected=f"a multiple of {divisor}"
        )
    units, most = extent // divisor, (size + divisor - 1) // divisor
    tiles = (units + most - 1) // most
    low, more = divmod(units, tiles)
    return low * divisor, (low + 1) * divisor, tiles - more, more
