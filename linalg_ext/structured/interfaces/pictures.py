"""Pictures of tiles: boxes with a part shaded, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from linalg_ext.analysis.numbers import Number
from linalg_ext.analysis.subsets import Tile

_LONGEST = 120
"""The longer side of a box, in pixels."""
_SHORTEST = 12
_GAP, _HEAD = 24, 34
_ASSUMED = 8
"""What a size that is not known is drawn as."""
_MOST_STRIPES = 64


def picture(boxes: Sequence[tuple[str, Sequence[Number], Tile]]) -> str:
    """An SVG of spaces side by side, a tile shaded in each.

    The last two dimensions are drawn, columns to the right and rows down; of a space with more, the
    title says where the tile is in the others. A number that is not known is drawn as if all of the
    dimension were taken.

    Args:
        boxes: a title, the sizes of the space, and the tile, for each.
    """
    drawn: list[str] = []
    left, height = _GAP, 0
    for title, sizes, tile in boxes:
        width, deep, parts = _drawn(sizes, tile)
        head = f"{title} {_outer(tile)}".strip()
        drawn.append(
            f'<g transform="translate({left},{_HEAD})"><text y="-16">{escape(head)}</text>'
            f'<text y="-4" class="sizes">{escape("x".join(map(str, sizes)) or "scalar")}</text>'
            f'<rect width="{width}" height="{deep}" class="space"/>{"".join(parts)}</g>'
        )
        left += max(width, 7 * len(head)) + _GAP
        height = max(height, deep)
    total = height + _HEAD + _GAP
    style = (
        "text{font:11px sans-serif;fill:currentColor}.sizes{opacity:.6}"
        ".space{fill:none;stroke:currentColor}.touched{fill:#3b82f6;opacity:.7}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left}" height="{total}" '
        f'viewBox="0 0 {left} {total}"><style>{style}</style>{"".join(drawn)}</svg>'
    )


def _drawn(sizes: Sequence[Number], tile: Tile) -> tuple[int, int, list[str]]:
    """The width and height of a space, and the shaded rectangles in it."""
    rank = len(sizes)
    rows = _numbers(sizes, tile, rank - 2) if rank > 1 else (1, [(0, 1)])
    columns = _numbers(sizes, tile, rank - 1) if rank else (1, [(0, 1)])
    scale = _LONGEST / max(rows[0], columns[0], 1)
    width, height = (max(round(n * scale), _SHORTEST) for n in (columns[0], rows[0]))
    shaded = [
        f'<rect x="{width * x / max(columns[0], 1):.1f}" y="{height * y / max(rows[0], 1):.1f}" '
        f'width="{width * w / max(columns[0], 1):.1f}" '
        f'height="{height * h / max(rows[0], 1):.1f}" class="touched"/>'
        for y, h in rows[1]
        for x, w in columns[1]
    ]
    return width, height, shaded


def _numbers(sizes: Sequence[Number], tile: Tile, dim: int) -> tuple[int, list[tuple[int, int]]]:
    """The size of a dimension, and where the tile is in it: first index and count of each run."""
    size = sizes[dim]
    offset, count, stride = tile.offset(dim), tile.size(dim), tile.stride(dim)
    whole = size if isinstance(size, int) else _ASSUMED
    if not (isinstance(offset, int) and isinstance(count, int) and isinstance(stride, int)):
        return whole, [(0, whole)]
    if not isinstance(size, int):
        whole = max(whole, offset + count * stride)
    if stride == 1 or count > _MOST_STRIPES:
        return whole, [(offset, (count - 1) * stride + 1)] if count else []
    return whole, [(offset + k * stride, 1) for k in range(count)]


def _outer(tile: Tile) -> str:
    """Where a tile is in the dimensions that are not drawn."""
    if tile.rank <= 2:
        return ""
    shown = [
        f"{tile.offset(dim)}:{tile.offset(dim) + tile.size(dim) * tile.stride(dim)}"
        for dim in range(tile.rank - 2)
    ]
    return f"[{', '.join(shown)}, ...]"
