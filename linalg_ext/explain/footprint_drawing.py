"""Footprints as pictures: the loops and each operand as a box, with the touched part shaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linalg_ext.structured import Footprint, OperandFootprint
from linalg_ext.symbolic.affine import AffineDim, AffineExpr
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
    title: str
    sizes: Sequence[Number]
    tile: Tile
    part: Part


def svg_of_footprint(footprint: Footprint) -> str:
    """Return an SVG of the loops and the operands side by side.

    The last two dimensions are drawn, columns to the right and rows down; the title has the range
    of the part in the others. A window that jumps over elements leaves them white. A part that is
    unknown, or too large to enumerate, is paler: some of it is touched. A dimension with an unknown
    number is drawn as touched whole.
    """
    part = part_of_tile(footprint.loops, footprint.iterations)
    boxes = [_Box("iterations", footprint.loops, footprint.iterations, part)]
    for operand in footprint.operands:
        part = part_touched(operand, footprint.iterations)
        boxes.append(_Box(operand.name, operand.shape, operand.tile, part))
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
    scale = _LONGEST / max(part.rows, part.columns, 1)
    return max(round(part.columns * scale), _SHORTEST), max(round(part.rows * scale), _SHORTEST)


def _shaded(part: Part) -> str:
    width, height = _extent(part)
    across, down = width / max(part.columns, 1), height / max(part.rows, 1)
    kind = "touched" if part.is_exact else "some"
    return "".join(
        f'<rect x="{across * patch.column:.1f}" y="{down * patch.row:.1f}" '
        f'width="{across * patch.width:.1f}" height="{down * patch.height:.1f}" class="{kind}"/>'
        for patch in part.patches
    )


def _outer(tile: Tile) -> str:
    if tile.rank <= 2:
        return ""
    shown = [
        f"{tile.offset(dim)}:{tile.offset(dim) + tile.size(dim) * tile.stride(dim)}"
        for dim in range(tile.rank - 2)
    ]
    return f"[{', '.join(shown)}, ...]"


_ASSUMED = 8
"""Size of a dimension of unknown size in drawings."""
_MOST_POINTS = 1 << 16
"""Largest number of iterations that are enumerated."""
_MOST_PATCHES = 4096

Indices = NDArray[np.int64]


class Patch(NamedTuple):
    """A rectangle of elements."""

    row: int
    column: int
    height: int
    width: int


@dataclass(frozen=True)
class Part:
    """A part of a plane.

    Attributes:
        rows, columns: the sizes of the plane; 1 for a dimension that a space does not have.
        patches: disjoint rectangles.
        is_exact: whether all of them is touched, and not just some of it.
    """

    rows: int
    columns: int
    patches: tuple[Patch, ...]
    is_exact: bool = True


class _Runs(NamedTuple):
    """A dimension: its size, and the stretches of it that are touched, by first index and count."""

    size: int
    runs: Sequence[tuple[int, int]]


def part_of_tile(sizes: Sequence[Number], tile: Tile, *, is_exact: bool = True) -> Part:
    """Return the last two dimensions of a tile of a space."""
    rows, columns = (_runs(sizes, tile, len(sizes) - back) for back in (2, 1))
    if len(rows.runs) * len(columns.runs) > _MOST_PATCHES:
        rows, columns, is_exact = _hull(rows), _hull(columns), False
    patches = [
        Patch(row, column, height, width)
        for row, height in rows.runs
        for column, width in columns.runs
    ]
    return Part(rows.size, columns.size, tuple(patches), is_exact)


def part_touched(operand: OperandFootprint, iterations: Tile) -> Part:
    """Return the part of an operand that iterations touch.

    The part is enumerated if the operand's tile is larger; if that is too large, it is the tile.
    """
    box = part_of_tile(operand.shape, operand.tile, is_exact=operand.is_exact)
    if operand.is_exact:
        return box
    touched = _enumerated(operand, iterations)
    if touched is None:
        return box
    patches = _stretches(touched)
    if len(patches) > _MOST_PATCHES:
        return box
    return Part(box.rows, box.columns, patches)


def _enumerated(operand: OperandFootprint, iterations: Tile) -> Indices | None:
    """Return the row and column of each touched element, in order; None if unknown or too many."""
    drawn = operand.map.results[-2:]
    used = [dim for dim in operand.map.dims if any(dim in index.dims for index in drawn)]
    ranges = []
    for dim in used:
        position = operand.map.dims.index(dim)
        first, size, stride = (
            part[position] for part in (iterations.offsets, iterations.sizes, iterations.strides)
        )
        if not (isinstance(first, int) and isinstance(size, int) and isinstance(stride, int)):
            return None
        ranges.append(first + stride * np.arange(size))
    if prod(len(axis) for axis in ranges) > _MOST_POINTS:
        return None
    grid = np.meshgrid(*ranges, indexing="ij")
    values: dict[AffineExpr, Indices] = {
        AffineDim(dim): numbers.ravel() for dim, numbers in zip(used, grid, strict=True)
    }
    shape = np.broadcast_shapes((1,), *(axis.shape for axis in values.values()))
    indices = [np.broadcast_to(index.evaluate(values), shape) for index in drawn]
    rows = [np.zeros(shape, np.int64)] * (2 - len(indices))
    return np.unique(np.stack([*rows, *indices], -1), axis=0)


def _stretches(touched: Indices) -> tuple[Patch, ...]:
    """Return patches: neighbours in a row, joined with equal rows below."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for row, column in touched.tolist():
        runs = rows.setdefault(row, [])
        if runs and sum(runs[-1]) == column:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((column, 1))
    patches: list[Patch] = []
    bands: list[tuple[int, int, list[tuple[int, int]]]] = []
    for row, runs in rows.items():
        if bands and bands[-1][2] == runs and bands[-1][0] + bands[-1][1] == row:
            bands[-1] = (bands[-1][0], bands[-1][1] + 1, runs)
        else:
            bands.append((row, 1, runs))
    for first, height, runs in bands:
        patches += [Patch(first, column, height, width) for column, width in runs]
    return tuple(patches)


def _runs(sizes: Sequence[Number], tile: Tile, dim: int) -> _Runs:
    if dim < 0:
        return _Runs(1, [(0, 1)])
    size = sizes[dim]
    offset, count, stride = tile.offset(dim), tile.size(dim), tile.stride(dim)
    whole = size if isinstance(size, int) else _ASSUMED
    if not (isinstance(offset, int) and isinstance(count, int) and isinstance(stride, int)):
        return _Runs(whole, [(0, whole)])
    if not isinstance(size, int):
        whole = max(whole, offset + count * stride)
    if stride == 1:
        return _Runs(whole, [(offset, count)] if count else [])
    return _Runs(whole, [(offset + k * stride, 1) for k in range(count)])


def _hull(runs: _Runs) -> _Runs:
    """Return the one run from the first to the last touched index."""
    first, (last, count) = runs.runs[0][0], runs.runs[-1]
    return _Runs(runs.size, [(first, last + count - first)])
