"""A graph without cycles as SVG: boxes in layers, data flowing downwards.

The usual three steps (Sugiyama, Tagawa and Toda, 1981): each box goes below all that it reads;
within a layer boxes stand at the mean place of their neighbours; then edges are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_CHARACTER = 6.7
_LINE = 16
_PADDING = 8
_ACROSS, _DOWN = 24, 36
_SWEEPS = 4


@dataclass(frozen=True)
class Box:
    """A box of a drawing.

    Attributes:
        key: a number of its own.
        rows: its text, row by row.
        kind: its CSS class: `node`, `group` or `end`.
        title: above the rows.
        lines: for each row, the line of a text that it leads to.
    """

    key: int
    rows: tuple[str, ...]
    kind: str = "node"
    title: str = ""
    lines: tuple[int, ...] = ()

    @property
    def width(self) -> float:
        """In pixels."""
        inset = 2 * _PADDING if self.kind == "group" else 0
        return _CHARACTER * max(map(len, (*self.rows, self.title))) + 2 * _PADDING + inset

    @property
    def height(self) -> float:
        """In pixels."""
        if self.kind == "group":
            return (_LINE + 10) * len(self.rows) + _LINE + 2 * _PADDING
        return _LINE * len(self.rows) + _PADDING


@dataclass(frozen=True)
class Edge:
    """From a box to one that reads it, and what is read."""

    source: int
    end: int
    text: str = ""


def drawing(boxes: Sequence[Box], edges: Sequence[Edge]) -> str:
    """The SVG of a graph.

    Args:
        boxes: each after all those that it reads.
        edges: between them.
    """
    by_key = {box.key: box for box in boxes}
    layers = _ordered(_layers(boxes, edges), edges)
    places: dict[int, tuple[float, float]] = {}
    widest = max((_width([by_key[k] for k in layer]) for layer in layers), default=0)
    top: float = _ACROSS
    for layer in layers:
        left = _ACROSS + (widest - _width([by_key[k] for k in layer])) / 2
        for key in layer:
            places[key] = (left, top)
            left += by_key[key].width + _ACROSS
        top += max(by_key[key].height for key in layer) + _DOWN
    width, height = widest + 2 * _ACROSS, top
    drawn = [_path(edge, by_key, places) for edge in edges]
    drawn += [_box(box, *places[box.key]) for box in boxes]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="dataflow graph" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        '<defs><marker id="lx-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{''.join(drawn)}</svg>"
    )


def _layers(boxes: Sequence[Box], edges: Sequence[Edge]) -> list[list[int]]:
    """The keys of the boxes, each one layer below the lowest that it reads.

    A box that reads nothing goes right above what reads it.
    """
    reads: dict[int, list[int]] = {}
    users: dict[int, list[int]] = {}
    for edge in edges:
        reads.setdefault(edge.end, []).append(edge.source)
        users.setdefault(edge.source, []).append(edge.end)
    depth: dict[int, int] = {}
    for box in boxes:
        depth[box.key] = max((depth.get(k, 0) + 1 for k in reads.get(box.key, ())), default=0)
    for key in depth:
        if key not in reads and key in users:
            depth[key] = min(depth[user] for user in users[key]) - 1
    layers: list[list[int]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for key, layer in depth.items():
        layers[layer].append(key)
    return layers


def _ordered(layers: list[list[int]], edges: Sequence[Edge]) -> list[list[int]]:
    """The boxes of each layer by the mean place of their neighbours, down and up a few times."""
    neighbours: dict[int, list[int]] = {}
    for edge in edges:
        neighbours.setdefault(edge.source, []).append(edge.end)
        neighbours.setdefault(edge.end, []).append(edge.source)
    place = {key: at / len(layer) for layer in layers for at, key in enumerate(layer)}

    def mean(key: int) -> float:
        near = neighbours.get(key, ())
        return sum(place[other] for other in near) / len(near) if near else place[key]

    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=mean)
            place.update((key, (at + 0.5) / len(layer)) for at, key in enumerate(layer))
    return layers


def _width(boxes: Sequence[Box]) -> float:
    return sum(box.width for box in boxes) + _ACROSS * (len(boxes) - 1)


def _path(edge: Edge, boxes: Mapping[int, Box], places: Mapping[int, tuple[float, float]]) -> str:
    source, end = boxes[edge.source], boxes[edge.end]
    x = places[edge.source][0] + source.width / 2
    y = places[edge.source][1] + source.height
    to_x, to_y = places[edge.end][0] + end.width / 2, places[edge.end][1]
    middle = (y + to_y) / 2
    label = f"<title>{escape(edge.text)}</title>" if edge.text else ""
    return (
        f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} '
        f'{to_x:.0f} {to_y:.0f}" marker-end="url(#lx-arrow)">{label}</path>'
    )


def _box(box: Box, left: float, top: float) -> str:
    frame = f'<rect width="{box.width:.0f}" height="{box.height:.0f}" rx="5"/>'
    if box.kind == "group":
        title = f'<text x="{_PADDING}" y="{_LINE}" class="about">{escape(box.title)}</text>'
        first, width = _LINE + _PADDING, box.width - 2 * _PADDING
        inner = "".join(
            _row(box, row, _PADDING, first + row * (_LINE + 10), width)
            for row in range(len(box.rows))
        )
        content = frame + title + inner
        return f'<g class="group" transform="translate({left:.0f},{top:.0f})">{content}</g>'
    return "".join(_row(box, row, left, top, box.width) for row in range(len(box.rows)))


def _row(box: Box, row: int, left: float, top: float, width: float) -> str:
    """One op: a box that leads to its line, where that is known."""
    kind = "end" if box.kind == "end" else "node"
    leads = f' data-line="{box.lines[row]}" tabindex="0" role="link"' if box.lines else ""
    return (
        f'<g class="{kind}"{leads} transform="translate({left:.0f},{top:.0f})">'
        f'<rect width="{width:.0f}" height="{_LINE + _PADDING}" rx="4"/>'
        f'<text x="{_PADDING}" y="{_LINE}">{escape(box.rows[row])}</text></g>'
    )
