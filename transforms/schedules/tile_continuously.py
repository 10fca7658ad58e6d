"""Tile one loop by halving sizes: whole tiles first, then ever smaller ones for what is left.

Source: `transform.structured.continuous_tile_sizes`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_least, check_loop, check_maps, refusal
from ._facts import DYNAMIC
from ._focus import MADE
from ._index_checks import check_ascending
from ._script import ANY, Script
from ._step import schedule_step


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
    check_ascending(op, "tile_continuously")
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
