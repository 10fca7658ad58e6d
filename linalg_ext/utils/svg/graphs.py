"""A graph without cycles as SVG: boxes in layers, data flowing downwards, groups around boxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import NamedTuple

from linalg_ext.utils.svg.layers import layered

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
        key: a number of its own, which edges name; of those in a group it does not matter.
        text: what stands in it; of a group, above what it holds.
        kind: its CSS class: `node`, `group`, `end`, or `more` for what is left out of a group.
        inner: what a group holds, below each other.
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
        held = sum(box.height + _BETWEEN for box in self.inner)
        return _LINE + _PADDING + held + _PADDING * bool(self.inner)


@dataclass(frozen=True)
class Edge:
    """From a box to one that reads it, and what is read."""

    source: int
    end: int
    text: str = ""


@dataclass(frozen=True)
class Picture:
    """A graph, and what stands above it.

    Attributes:
        boxes: each after all those that it reads.
        edges: between them.
        title: above them; empty if absent.
    """

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
    """The SVG of some graphs, side by side."""
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
    """A graph, its width and its height."""
    boxes = {box.key: box for box in picture.boxes}
    layers, passed = layered(list(boxes), [(edge.source, edge.end) for edge in picture.edges])
    widths = {key: boxes[key].width if key in boxes else 0.0 for layer in layers for key in layer}
    widest = max((_width([widths[key] for key in layer]) for layer in layers), default=0.0)
    places: dict[int, _Place] = {}
    top: float = _ACROSS + _LINE * bool(picture.title)
    for layer in layers:
        height = max(boxes[key].height for key in layer if key in boxes)
        left = _ACROSS + (widest - _width([widths[key] for key in layer])) / 2
        for key in layer:
            down = boxes[key].height if key in boxes else height
            places[key] = _Place(left, top, left + widths[key] / 2, top + down)
            left += widths[key] + _ACROSS
        top += height + _DOWN
    drawn = [
        _path(edge, [places[key] for key in (edge.source, *passing, edge.end)])
        for edge in picture.edges
        for passing in [passed.get((edge.source, edge.end), ())]
    ]
    for key, box in boxes.items():
        drawn += _box(box, places[key].left, places[key].top, box.width)
    if picture.title:
        title = f'<text class="title" x="{_ACROSS}" y="{_LINE}">{escape(picture.title)}</text>'
        drawn.insert(0, title)
    widest = max(widest, 1.1 * _CHARACTER * len(picture.title))
    return "".join(drawn), widest + 2 * _ACROSS, top


def _width(widths: Sequence[float]) -> float:
    return sum(widths) + _ACROSS * (len(widths) - 1)


def _path(edge: Edge, stops: Sequence[_Place]) -> str:
    """From the box that is read, past others, to the one that reads it."""
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
    """A box, as wide as it is to be, and what it holds; it leads to its line where it has one."""
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
