"""Tile one loop by halving sizes: whole tiles first, then ever smaller ones for what is left.

before:
    %r = linalg.abs ins(%a : tensor<7xf32>) outs(%c : tensor<7xf32>) -> tensor<7xf32>
after `match("abs").tile_continuously(0, 4).simplify()`:
    %slice = tensor.extract_slice %a[0] [4] [1] : tensor<7xf32> to tensor<4xf32>
    %slice_0 = tensor.extract_slice %c[0] [4] [1] : tensor<7xf32> to tensor<4xf32>
    %0 = linalg.abs ins(%slice : tensor<4xf32>) outs(%slice_0 : tensor<4xf32>) -> tensor<4xf32>
    %inserted = tensor.insert_slice %0 into %c[0] [4] [1] : tensor<4xf32> into tensor<7xf32>
    %slice_1 = tensor.extract_slice %a[4] [3] [1] : tensor<7xf32> to tensor<3xf32>
    %slice_2 = tensor.extract_slice %inserted[4] [3] [1] : tensor<7xf32> to tensor<3xf32>
    %slice_3 = tensor.extract_slice %slice_1[0] [2] [1] : tensor<3xf32> to tensor<2xf32>
    %slice_4 = tensor.extract_slice %slice_2[0] [2] [1] : tensor<3xf32> to tensor<2xf32>
    %1 = linalg.abs ins(%slice_3 : tensor<2xf32>) outs(%slice_4 : tensor<2xf32>) -> tensor<2xf32>
    %inserted_5 = tensor.insert_slice %1 into %slice_2[0] [2] [1]
        : tensor<2xf32> into tensor<3xf32>
    %slice_6 = tensor.extract_slice %slice_1[2] [1] [1] : tensor<3xf32> to tensor<1xf32>
    %slice_7 = tensor.extract_slice %inserted_5[2] [1] [1] : tensor<3xf32> to tensor<1xf32>
    %2 = linalg.abs ins(%slice_6 : tensor<1xf32>) outs(%slice_7 : tensor<1xf32>) -> tensor<1xf32>
    %inserted_8 = tensor.insert_slice %2 into %inserted_5[2] [1] [1]
        : tensor<1xf32> into tensor<3xf32>
    %r = tensor.insert_slice %inserted_8 into %inserted[4] [3] [1]
        : tensor<3xf32> into tensor<7xf32>

Source: `transform.structured.continuous_tile_sizes`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_least, check_loop, check_maps, refusal
from ._facts import DYNAMIC
from ._focus import MADE
from ._index_checks import check_parts
from ._script import ANY, Script
from .step import schedule_step


@schedule_step("linalg-ext-tile-continuously")
def tile_continuously(op: ir.Operation, *, loop: int, size: int) -> Script:
    """Split a loop into parts that tiles of `size`, then of smaller powers of two, divide.

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
        (
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
        ),
        "%all",
        one_by_one=True,
    )
