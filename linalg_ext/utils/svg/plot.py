"""Lines over an axis, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 560, 220, 70, 26, 34
_TICKS = 4
_MOST_POINTS = 1000
"""Largest number of points of a line; of a longer one, some are left out."""


class Plot:
    """Steps over numbers: what one line is at a place, it is until its next place."""

    def __init__(self, across: str, up: str, text: Callable[[float], str]) -> None:
        """
        Args:
            across, up: what the axes are.
            text: a number of the axis that goes up, for people.
        """
        self._across, self._up, self._text = across, up, text
        self._lines: list[tuple[str, Sequence[tuple[float, float]], str]] = []

    def line(self, name: str, points: Sequence[tuple[float, float]], colour: str) -> None:
        """Add a line: its name, its points from left to right, and its colour."""
        every = 1 + len(points) // _MOST_POINTS
        self._lines.append((name, [*points[:-1:every], *points[-1:]], colour))

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
    line: Sequence[tuple[float, float]], place: Callable[[float, float], tuple[float, float]]
) -> str:
    corners: list[tuple[float, float]] = []
    for x, y in line:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*corner) for corner in corners))
