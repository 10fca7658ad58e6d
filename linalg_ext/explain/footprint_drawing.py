"""Footprints as pictures: the loops and each operand as a box, what is touched in it shaded."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from linalg_ext.explain.touched import Part, part_of_tile, part_touched
from linalg_ext.structured import Footprint
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number

_LONGEST = 120
"""The longer side of a box, in pixels."""
_SHORTEST = 12
_GAP, _HEAD = 24, 34
_STYLE = (
    "text{font:11px sans-serif;fill:currentColor}.sizes{opacity:.6}"
    ".space{fill:none;stroke:currentColor}.touched{fill:#3b82f6;opacity:.7}"
    ".some{fill:#3b82f6;opacity:.3}"
)


class _Box(NamedTuple):
    """A space in which a part is shaded."""

    title: str
    sizes: Sequence[Number]
    tile: Tile
    part: Part


def svg_of_footprint(footprint: Footprint) -> str:
    """An SVG of the loops and the operands side by side.

    The last two dimensions are drawn, columns to the right and rows down; of a space with more, the
    title says where the part is in the others. A window that jumps over elements leaves them white.
    What is not known, or too much to count, is paler: some of it is touched. A number that is not
    known is drawn as if all of the dimension were taken.
    """
    part = part_of_tile(footprint.loops, footprint.iterations)
    boxes = [_Box("iterations", footprint.loops, footprint.iterations, part)]
    for each in footprint.operands:
        part = part_touched(each, footprint.iterations)
        boxes.append(_Box(each.name, each.shape, each.tile, part))
    return _side_by_side(boxes)


def _side_by_side(boxes: Sequence[_Box]) -> str:
    drawn: list[str] = []
    left, height = _GAP, 0
    for box in boxes:
        width, deep = _extent(box.part)
        head = f"{box.title} {_outer(box.tile)}".strip()
        drawn.append(
            f'<g transform="translate({left},{_HEAD})"><text y="-16">{escape(head)}</text>'
            f'<text y="-4" class="sizes">{escape("x".join(map(str, box.sizes)) or "scalar")}</text>'
            f'<rect width="{width}" height="{deep}" class="space"/>{_shaded(box.part)}</g>'
        )
        left += max(width, 7 * len(head)) + _GAP
        height = max(height, deep)
    total = height + _HEAD + _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left}" height="{total}" '
        f'viewBox="0 0 {left} {total}"><style>{_STYLE}</style>{"".join(drawn)}</svg>'
    )


def _extent(part: Part) -> tuple[int, int]:
    """The width and height of a box in pixels."""
    scale = _LONGEST / max(part.rows, part.columns, 1)
    return max(round(part.columns * scale), _SHORTEST), max(round(part.rows * scale), _SHORTEST)


def _shaded(part: Part) -> str:
    width, height = _extent(part)
    across, down = width / max(part.columns, 1), height / max(part.rows, 1)
    kind = "touched" if part.is_exact else "some"
    return "".join(
        f'<rect x="{across * each.column:.1f}" y="{down * each.row:.1f}" '
        f'width="{across * each.width:.1f}" height="{down * each.height:.1f}" class="{kind}"/>'
        for each in part.patches
    )


def _outer(tile: Tile) -> str:
    """Return the range of a tile in the dimensions that are not drawn."""
    if tile.rank <= 2:
        return ""
    shown = [
        f"{tile.offset(dim)}:{tile.offset(dim) + tile.size(dim) * tile.stride(dim)}"
        for dim in range(tile.rank - 2)
    ]
    return f"[{', '.join(shown)}, ...]"
