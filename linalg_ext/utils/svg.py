"""Pictures as SVG, of plain data: graphs in layers, and lines over an axis.

A picture carries its own style. Its colours are those of the page around it (`--ink`, `--paper`),
or else the browser's.

A graph without cycles is drawn in layers by the usual steps (K. Sugiyama, S. Tagawa, M. Toda, IEEE
Transactions on Systems, Man, and Cybernetics 11(2), 1981): each item goes below all that it reads;
an edge over several layers has a point in each of them; the items of a layer are sorted by the mean
position of their neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import NamedTuple

_SWEEPS = 4

_MOST_PASSED = 4
"""Points that edges pass, for each item; in a graph with more, edges pass behind boxes."""

Pair = tuple[int, int]
"""An edge: the item that is read, and the item that reads it."""


class Layers(NamedTuple):
    """A graph in layers.

    Attributes:
        layers: from top to bottom, each from left to right: items, and points that edges pass.
        passed: for each edge over several layers, the points that it passes, one a layer.
    """

    layers: list[list[int]]
    passed: dict[Pair, tuple[int, ...]]


def layered(keys: Sequence[int], edges: Sequence[Pair]) -> Layers:
    """Return the layers of a graph; each item of `keys` stands after all that it reads."""
    layers = _layers(keys, edges)
    depth = {key: number for number, layer in enumerate(layers) for key in layer}
    passed: dict[Pair, tuple[int, ...]] = {}
    reach = {(source, end): range(depth[source] + 1, depth[end]) for source, end in edges}
    if sum(map(len, reach.values())) <= _MOST_PASSED * len(keys):
        fresh = itertools.count(max(keys, default=0) + 1)
        passed = {edge: tuple(next(fresh) for _ in over) for edge, over in reach.items() if over}
    for edge, points in passed.items():
        for layer, point in zip(reach[edge], points, strict=True):
            layers[layer].append(point)
    steps = [
        step
        for source, end in edges
        for step in pairwise((source, *passed.get((source, end), ()), end))
    ]
    return Layers(_ordered(layers, steps), passed)


def _layers(keys: Sequence[int], edges: Sequence[Pair]) -> list[list[int]]:
    """Return the items, each one layer below the lowest that it reads.

    An item that reads nothing goes right above its first reader.
    """
    reads: dict[int, list[int]] = {}
    users: dict[int, list[int]] = {}
    for source, end in edges:
        reads.setdefault(end, []).append(source)
        users.setdefault(source, []).append(end)
    depth: dict[int, int] = {}
    for key in keys:
        depth[key] = max((depth.get(k, 0) + 1 for k in reads.get(key, ())), default=0)
    for key in depth:
        if key not in reads and key in users:
            depth[key] = min(depth[user] for user in users[key]) - 1
    layers: list[list[int]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for key, layer in depth.items():
        layers[layer].append(key)
    return layers


def _ordered(layers: list[list[int]], edges: Sequence[Pair]) -> list[list[int]]:
    """Sort each layer by the mean position of the neighbours, down and up a few times."""
    neighbours: dict[int, list[int]] = {}
    for source, end in edges:
        neighbours.setdefault(source, []).append(end)
        neighbours.setdefault(end, []).append(source)
    position = {key: index / len(layer) for layer in layers for index, key in enumerate(layer)}

    def mean(key: int) -> float:
        near = neighbours.get(key, ())
        return sum(position[other] for other in near) / len(near) if near else position[key]

    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=mean)
            position.update((key, (index + 0.5) / len(layer)) for index, key in enumerate(layer))
    return layers


_CHARACTER = 6.7
_LINE = 16
_PADDING = 8
_BETWEEN = 2
"""Pixels between the boxes of a group."""

_ACROSS, _DOWN = 24, 36

_STYLE = (
    '.lx-graph text{font:11px ui-monospace,"SF Mono",Menlo,Consolas,monospace;'
    "fill:var(--ink,currentColor);white-space:pre}"
    ".lx-graph .group>text,.lx-graph .title{font-weight:600}"
    ".lx-graph rect{fill:var(--paper,canvas);stroke:var(--accent,#1f6feb)}"
    ".lx-graph .end rect{fill:var(--soft,canvas);stroke:var(--faint,gray)}"
    ".lx-graph .more rect{stroke:none;fill:none}"
    ".lx-graph .group>rect{fill:var(--soft,canvas);stroke:var(--type,#8250df);"
    "stroke-dasharray:5 3}"
    ".lx-graph path{fill:none;stroke:var(--faint,gray)}"
    ".lx-graph marker path{fill:var(--faint,gray);stroke:none}"
)


@dataclass(frozen=True)
class Box:
    """A box of a drawing, or of a group in it.

    Attributes:
        key: the number by which edges name it; unused for boxes in a group.
        text: the text in it; the title of a group.
        kind: its CSS class: `node`, `group`, `end`, or `more` for boxes left out of a group.
        inner: the boxes of a group, below each other.
        line: the line of a text that it leads to.
    """

    key: int
    text: str
    kind: str = "node"
    inner: tuple[Box, ...] = ()
    line: int | None = None

    @property
    def width(self) -> float:
        """In pixels."""
        inner = max((box.width for box in self.inner), default=0.0)
        return max(_CHARACTER * len(self.text), inner) + 2 * _PADDING

    @property
    def height(self) -> float:
        """In pixels."""
        inner = sum(box.height + _BETWEEN for box in self.inner)
        return _LINE + _PADDING + inner + _PADDING * bool(self.inner)


@dataclass(frozen=True)
class Edge:
    """An edge from a box to one that reads it, with the text of the value."""

    source: int
    end: int
    text: str = ""


@dataclass(frozen=True)
class Picture:
    """A graph with a title: boxes, each after all those that it reads, and edges."""

    boxes: Sequence[Box]
    edges: Sequence[Edge]
    title: str = ""


class _Place(NamedTuple):
    """The position of a box, or of a point that an edge passes; `middle` is horizontal."""

    left: float
    top: float
    middle: float
    bottom: float


def drawing(*pictures: Picture) -> str:
    """Return the SVG of some graphs, side by side."""
    left, height, drawn = 0.0, 0.0, []
    for picture in pictures:
        content, width, down = _drawn(picture)
        drawn.append(f'<g transform="translate({left:.0f},0)">{content}</g>')
        left, height = left + width, max(height, down)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lx-graph" role="img" '
        f'aria-label="dataflow graph" width="{left:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {left:.0f} {height:.0f}"><style>{_STYLE}</style>'
        '<defs><marker id="lx-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{''.join(drawn)}</svg>"
    )


def _drawn(picture: Picture) -> tuple[str, float, float]:
    boxes = {box.key: box for box in picture.boxes}
    layers, passed = layered(list(boxes), [(edge.source, edge.end) for edge in picture.edges])
    widths = {key: boxes[key].width if key in boxes else 0.0 for layer in layers for key in layer}
    widest = max((_width([widths[key] for key in layer]) for layer in layers), default=0.0)
    positions: dict[int, _Place] = {}
    top: float = _ACROSS + _LINE * bool(picture.title)
    for layer in layers:
        height = max(boxes[key].height for key in layer if key in boxes)
        left = _ACROSS + (widest - _width([widths[key] for key in layer])) / 2
        for key in layer:
            down = boxes[key].height if key in boxes else height
            positions[key] = _Place(left, top, left + widths[key] / 2, top + down)
            left += widths[key] + _ACROSS
        top += height + _DOWN
    drawn = [
        _path(edge, [positions[key] for key in (edge.source, *passing, edge.end)])
        for edge in picture.edges
        for passing in [passed.get((edge.source, edge.end), ())]
    ]
    for key, box in boxes.items():
        drawn += _box(box, positions[key].left, positions[key].top, box.width)
    if picture.title:
        title = f'<text class="title" x="{_ACROSS}" y="{_LINE}">{escape(picture.title)}</text>'
        drawn.insert(0, title)
    widest = max(widest, 1.1 * _CHARACTER * len(picture.title))
    return "".join(drawn), widest + 2 * _ACROSS, top


def _width(widths: Sequence[float]) -> float:
    return sum(widths) + _ACROSS * (len(widths) - 1)


def _path(edge: Edge, stops: Sequence[_Place]) -> str:
    """Return the curve from the box that is read, past others, to the one that reads it."""
    first, last = stops[0], stops[-1]
    drawn = f"M{first.middle:.0f} {first.bottom:.0f}"
    for above, below in pairwise(stops):
        bend = (above.bottom + below.top) / 2
        drawn += (
            f"C{above.middle:.0f} {bend:.0f} {below.middle:.0f} {bend:.0f} "
            f"{below.middle:.0f} {below.top:.0f}"
        )
        if below is not last:
            drawn += f"V{below.bottom:.0f}"
    label = f"<title>{escape(edge.text)}</title>" if edge.text else ""
    return f'<path d="{drawn}" marker-end="url(#lx-arrow)">{label}</path>'


def _box(box: Box, left: float, top: float, width: float) -> Iterator[str]:
    """Yield a box of a width, and the boxes in it; it links to its line if it has one."""
    leads = "" if box.line is None else f' data-line="{box.line}" tabindex="0" role="link"'
    yield (
        f'<g class="{box.kind}"{leads} transform="translate({left:.0f},{top:.0f})">'
        f'<rect width="{width:.0f}" height="{box.height:.0f}" rx="4"/>'
        f'<text x="{_PADDING}" y="{_LINE}">{escape(box.text)}</text>'
    )
    down: float = _LINE + _PADDING
    for inner in box.inner:
        yield from _box(inner, _PADDING, down, width - 2 * _PADDING)
        down += inner.height + _BETWEEN
    yield "</g>"


_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 560, 220, 70, 26, 34
_TICKS = 4
_MOST_POINTS = 1000
"""Largest number of points of a line; of a longer one, some are left out."""


class Plot:
    """Lines of steps over an axis: each point's value holds until the next point."""

    def __init__(self, across: str, up: str, text: Callable[[float], str]) -> None:
        """Name the axes; `text` shows a number of the vertical one."""
        self._across, self._up, self._text = across, up, text
        self._lines: list[tuple[str, Sequence[tuple[float, float]], str]] = []

    def line(self, name: str, points: Sequence[tuple[float, float]], colour: str) -> None:
        """Add a line: its name, its points from left to right, and its colour."""
        stride = 1 + len(points) // _MOST_POINTS
        self._lines.append((name, [*points[:-1:stride], *points[-1:]], colour))

    def svg(self) -> str:
        """The picture."""
        points = [point for _, line, _ in self._lines for point in line] or [(0.0, 0.0)]
        last = max(x for x, _ in points) or 1.0
        lowest, highest = min(y for _, y in points), max(y for _, y in points)
        span = (highest - lowest) or highest or 1.0

        def place(x: float, y: float) -> tuple[float, float]:
            down = (highest - y) / span * (_HEIGHT - _TOP - _BOTTOM)
            return _LEFT + x / last * (_WIDTH - _LEFT - 12), _TOP + down

        drawn: list[str] = []
        for tick in range(_TICKS + 1):
            value = lowest + span * tick / _TICKS
            _, y = place(0, value)
            drawn.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}"/>')
            drawn.append(
                f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
                f"{escape(self._text(value))}</text>"
            )
        for number, (name, line, colour) in enumerate(self._lines):
            drawn.append(f'<polyline style="stroke:{colour}" points="{_steps(line, place)}"/>')
            x = _LEFT + 90 * number
            drawn.append(f'<text x="{x}" y="14" style="fill:{colour}">{escape(name)}</text>')
        drawn.append(f'<text x="4" y="14">{escape(self._up)}</text>')
        drawn.append(
            f'<text x="{_WIDTH - 12}" y="{_HEIGHT - 8}" text-anchor="end">'
            f"{last:.0f} {escape(self._across)}</text>"
        )
        style = (
            ".lx-plot text{font:11px sans-serif;fill:var(--ink,currentColor)}"
            ".lx-plot line{stroke:var(--ink,currentColor);opacity:.15}"
            ".lx-plot polyline{fill:none;stroke-width:1.5}"
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" class="lx-plot" role="img" '
            f'aria-label="{escape(self._up)} over {escape(self._across)}" '
            f'width="{_WIDTH}" height="{_HEIGHT}" '
            f'viewBox="0 0 {_WIDTH} {_HEIGHT}"><style>{style}</style>{"".join(drawn)}</svg>'
        )


def _steps(
    line: Sequence[tuple[float, float]], point_of: Callable[[float, float], tuple[float, float]]
) -> str:
    corners: list[tuple[float, float]] = []
    for x, y in line:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in (point_of(*corner) for corner in corners))
