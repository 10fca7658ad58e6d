"""Steps that tile the loops of a structured op, or reorder them."""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import (
    DYNAMIC,
    check_least,
    check_linear,
    check_loop,
    check_maps,
    check_parts,
    check_permutation,
    check_rows,
    check_sizes,
    refusal,
    structured_loops,
)
from .step import ANY, MADE, Script, integers, line, schedule_step


@schedule_step("linalg-ext-tile")
def tile(op: ir.Operation, *, sizes: tuple[int, ...], interchange: tuple[int, ...] = ()) -> Script:
    """Put an op into `scf.for` loops over tiles of its iteration space.

    before:
        %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
            outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
    after `match("matmul").tile([4]).simplify()`:
        %c0 = arith.constant 0 : index
        %c8 = arith.constant 8 : index
        %c4 = arith.constant 4 : index
        %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%o = %c) -> (tensor<8x12xf32>) {
          %slice = tensor.extract_slice %a[%i, 0] [4, 16] [1, 1]
              : tensor<8x16xf32> to tensor<4x16xf32>
          %slice_0 = tensor.extract_slice %o[%i, 0] [4, 12] [1, 1]
              : tensor<8x12xf32> to tensor<4x12xf32>
          %1 = linalg.matmul ins(%slice, %b : tensor<4x16xf32>, tensor<16x12xf32>)
              outs(%slice_0 : tensor<4x12xf32>) -> tensor<4x12xf32>
          %inserted = tensor.insert_slice %1 into %o[%i, 0] [4, 12] [1, 1]
              : tensor<4x12xf32> into tensor<8x12xf32>
          scf.yield %inserted : tensor<8x12xf32>
        }

    Source: "Parametric Tiling" of MLIR's linalg document; `transform.structured.tile_using_for`.

    Args:
        op: a structured op.
        sizes: of a tile along each loop, outermost first; 0 leaves a loop alone, and so do loops
            beyond those given. A size that does not divide a loop makes the last tile smaller.
        interchange: the order of the new loops: position i gets the loop interchange[i].

    Raises:
        ScheduleError: the sizes do not fit the loops of the op.
    """
    loops = structured_loops(op, "tile")
    check_sizes(op, "sizes", sizes, loops)
    check_parts(op, "tile", sizes)
    check_rows(op, "sizes", sizes)
    order = ""
    if interchange:
        check_permutation(op, "interchange", interchange, len(sizes))
        order = f" interchange = {integers(interchange)}"
    count = sum(size > 0 for size in sizes)
    text = f"structured.tile_using_for %target tile_sizes {integers(sizes)}{order}"
    return Script(line(f"%tiled, %loops:{count}", text, results=1 + count), focus="%tiled")


@schedule_step("linalg-ext-tile-evenly")
def tile_evenly(op: ir.Operation, *, loop: int, size: int, divisor: int = 1) -> Script:
    """Split a loop in two parts, each tiled by a size that divides it.

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
          %inserted_6 = tensor.insert_slice %2 into %o[%i] [3] [1] : tensor<3xf32>
              into tensor<6xf32>
          scf.yield %inserted_6 : tensor<6xf32>
        }
        %r = tensor.insert_slice %1 into %inserted[2] [6] [1] : tensor<6xf32> into tensor<8xf32>

    Source: `transform.structured.multitile_sizes`.

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
            f"%tiled, %loop = transform.structured.tile_using_for %target "
            f"tile_sizes [{before}{only}] : {for_}",
            focus="%tiled",
        )
    return Script(
        f"%parts = transform.structured.split %target after {low * low_count} "
        f"{{dimension = {loop}}} : {ANY}",
        f"%low, %high = transform.split_handle %parts : {for_}",
        f"%lows, %lowloop = transform.structured.tile_using_for %low "
        f"tile_sizes [{before}{low}] : {for_}",
        f"%highs, %highloop = transform.structured.tile_using_for %high "
        f"tile_sizes [{before}{high}] : {for_}",
        f"%tiled = transform.merge_handles %lows, %highs : {ANY}",
        focus="%tiled",
    )


def _sizes(
    op: ir.Operation, extent: int, loop: int, size: int, divisor: int
) -> tuple[int, int, int, int]:
    """Return two sizes and the number of tiles of each, as upstream computes them."""
    if extent <= 0 or extent % divisor:
        shown = str(extent) if extent > 0 else "not known"
        raise refusal(
            op, f"the range of loop {loop} is {shown}", expected=f"a multiple of {divisor}"
        )
    units, most = extent // divisor, (size + divisor - 1) // divisor
    tiles = (units + most - 1) // most
    low, more = divmod(units, tiles)
    return low * divisor, (low + 1) * divisor, tiles - more, more


@schedule_step("linalg-ext-tile-continuously")
def tile_continuously(op: ir.Operation, *, loop: int, size: int) -> Script:
    """Split a loop into parts that tiles of `size`, then of smaller powers of two, divide.

    before:
        %r = linalg.abs ins(%a : tensor<6xf32>) outs(%c : tensor<6xf32>) -> tensor<6xf32>
    after `match("abs").tile_continuously(0, 4).simplify()`:
        %slice = tensor.extract_slice %a[0] [4] [1] : tensor<6xf32> to tensor<4xf32>
        %slice_0 = tensor.extract_slice %c[0] [4] [1] : tensor<6xf32> to tensor<4xf32>
        %0 = linalg.abs ins(%slice : tensor<4xf32>) outs(%slice_0 : tensor<4xf32>) -> tensor<4xf32>
        %inserted = tensor.insert_slice %0 into %c[0] [4] [1] : tensor<4xf32> into tensor<6xf32>
        %slice_1 = tensor.extract_slice %a[4] [2] [1] : tensor<6xf32> to tensor<2xf32>
        %slice_2 = tensor.extract_slice %inserted[4] [2] [1] : tensor<6xf32> to tensor<2xf32>
        %1 = linalg.abs ins(%slice_1 : tensor<2xf32>)
            outs(%slice_2 : tensor<2xf32>) -> tensor<2xf32>
        %r = tensor.insert_slice %1 into %inserted[4] [2] [1] : tensor<2xf32> into tensor<6xf32>

    Source: `transform.structured.continuous_tile_sizes`.

    Args:
        op: a structured op.
        loop: which loop, by number.
        size: of the largest tiles.

    Raises:
        ScheduleError: there is no such loop, or its range is not known.
    """
    loops = check_maps(op, "tile_continuously")
    check_parts(op, "tile_continuously")
    check_loop(op, "loop", loop, loops)
    check_least(op, "size", size, 1)
    extent = loops.ranges[loop]
    if extent == DYNAMIC or extent < size:
        shown = "not known" if extent == DYNAMIC else str(extent)
        raise refusal(
            op,
            f"size is {size}; the range of loop {loop} is {shown}",
            expected="a range that is known, of one tile at least",
        )
    sizes = ", ".join(["0"] * loop + ["%size"])
    return Script(
        "%sizes, %chunks = transform.structured.continuous_tile_sizes %target "
        f"{{dimension = {loop}, target_size = {size}}} : ({ANY}) -> {ANY}",
        f"%parts = transform.structured.split %target after %chunks "
        f"{{dimension = {loop}, multiway}} : {ANY}, {ANY}",
        f"transform.foreach %parts, %sizes : {ANY}, {ANY} {{",
        f"^bb0(%part: {ANY}, %size: {ANY}):",
        f"  %tiled, %made = transform.structured.tile_using_for %part tile_sizes [{sizes}]"
        f" : ({ANY}, {ANY}) -> ({ANY}, {ANY})",
        f'  transform.annotate %tiled "{MADE}" : {ANY}',
        "  transform.yield",
        "}",
        f"%all = transform.structured.match attributes {{{MADE}}} in %root : ({ANY}) -> {ANY}",
        focus="%all",
        one_by_one=True,
    )


@schedule_step("linalg-ext-interchange")
def interchange(op: ir.Operation, *, order: tuple[int, ...]) -> Script:
    """Reorder the iteration space; a named op becomes a `linalg.generic` first.

    before:
        %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
            outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
    after `match("matmul").interchange([2, 0, 1])`:
        %r = linalg.generic {
            indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0)>,
                             affine_map<(d0, d1, d2) -> (d0, d2)>,
                             affine_map<(d0, d1, d2) -> (d1, d2)>],
            iterator_types = ["reduction", "parallel", "parallel"]
        } ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>) outs(%c : tensor<8x12xf32>) {
        ^bb0(%in: f32, %in_0: f32, %out: f32):
          %1 = arith.mulf %in, %in_0 : f32
          %2 = arith.addf %out, %1 : f32
          linalg.yield %2 : f32
        } -> tensor<8x12xf32>

    Source: `transform.structured.interchange`.

    Args:
        op: a structured op with indexing maps.
        order: position i gets the loop order[i].

    Raises:
        ScheduleError: `order` is not an order of its loops.
    """
    loops = check_maps(op, "interchange")
    check_permutation(op, "order", order, loops.count)
    lines, source = [], "%target"
    if op.name != "linalg.generic":
        lines.append(line("%generic", "structured.generalize %target"))
        source = "%generic"
    text = f"structured.interchange {source} iterator_interchange = {integers(order)}"
    return Script(*lines, line("%ordered", text), focus="%ordered")
