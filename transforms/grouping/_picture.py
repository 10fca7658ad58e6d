"""Pictures of states: groups as boxes around their ops, in layers, each with its cost, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from ._candidates import FREE, outermost
from ._cost import CostModel, seconds_text
from ._graph import ARGUMENTS
from ._state import State
from ._tiling import tiling_of

_LINE, _PAD, _GAP, _CHARACTER = 15, 8, 26, 6.9
_MOST_LINES = 14
"""Of a box; what is more is counted."""

_STYLE = (
    "text{font:11px ui-monospace,monospace;fill:currentColor}.head{font-weight:bold}"
    ".back{fill:canvas}.group{fill:#1f6feb;fill-opacity:.10;stroke:#1f6feb}"
    ".op{fill:none;stroke:currentColor;stroke-opacity:.4}"
    "path{fill:none;stroke:currentColor;stroke-opacity:.45}"
)


@dataclass
class _Box:
    """An item outside all groups, as it is drawn."""

    item: int
    lines: list[str]
    is_group: bool
    layer: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        return 2 * _PAD + _CHARACTER * max(map(len, self.lines))

    @property
    def height(self) -> float:
        return 2 * _PAD + _LINE * len(self.lines)


def picture(state: State, model: CostModel | None = None) -> str:
    """A state as SVG: the ops that read others stand below them.

    Args:
        state: it.
        model: tells the cost that is written on each box; None: none is.
    """
    return beside([("", state, model)])


def beside(states: Sequence[tuple[str, State, CostModel | None]]) -> str:
    """Several states side by side, each with a title and the model that tells its costs."""
    left, height, drawn = 0.0, 0.0, []
    for title, state, model in states:
        boxes = _placed(state, model)
        width = max((box.x + box.width for box in boxes), default=_GAP) + _GAP
        height = max([height, *(box.y + box.height for box in boxes)])
        drawn.append(
            f'<g transform="translate({left:.0f},{_GAP})"><text class="head" y="-8" x="{_GAP}">'
            f"{escape(title)}</text>{''.join(_edges(state, boxes))}{''.join(map(_drawn, boxes))}"
            "</g>"
        )
        left += max(width, _GAP + _CHARACTER * 1.1 * len(title))
    total = height + 2 * _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left:.0f}" height="{total:.0f}" '
        f'viewBox="0 0 {left:.0f} {total:.0f}"><style>{_STYLE}</style>{"".join(drawn)}</svg>'
    )


def lines_of(state: State, group: int, depth: int = 0) -> Iterator[str]:
    """The ops of a group, one a line, those of groups in it further in."""
    for item in state.children(group):
        if state.is_group(item):
            yield "  " * depth + name_of(state, item)
            yield from lines_of(state, item, depth + 1)
        else:
            yield "  " * depth + _op(state, item)


def name_of(state: State, group: int) -> str:
    """A group for people: its number and its label; its tiling."""
    data = state.data(group)
    name = f"group {group}: {data.label}" if data.label else f"group {group}"
    tiling = tiling_of(state, group)
    return f"{name} in tiles of {', '.join(map(str, tiling))}" if tiling else name


def shown_items(state: State) -> list[int]:
    """What stands outside all groups and is worth showing: no constants and empty tensors."""
    return [i for i in state.children() if state.is_group(i) or state.node(i).op not in FREE]


def _op(state: State, item: int) -> str:
    node = state.node(item)
    types = ", ".join(_short(result.type) for result in node.results)
    name = node.op.removeprefix("linalg.")
    return f"{item}: {name}  {types}{'  (copy)' * state.is_copy(item)}"


def _short(type_: str) -> str:
    return type_.removeprefix("tensor<").removesuffix(">") if len(type_) < 40 else type_[:37] + ".."


def _placed(state: State, model: CostModel | None) -> list[_Box]:
    boxes = {item: _box(state, item, model) for item in shown_items(state)}
    above = {
        item: [boxes[each] for each in _producers(state, item) if each in boxes] for item in boxes
    }
    for item, box in boxes.items():
        box.layer = 1 + max((each.layer for each in above[item]), default=-1)
    for item, box in boxes.items():
        below = [boxes[each].layer for each in boxes if box in above[each]]
        if not above[item] and below:
            box.layer = min(below) - 1
    layers: list[list[_Box]] = [
        [box for box in boxes.values() if box.layer == at]
        for at in range(1 + max((box.layer for box in boxes.values()), default=-1))
    ]
    y = 0.0
    for layer in layers:
        x = float(_GAP)
        for box in layer:
            box.x, box.y = x, y
            x += box.width + _GAP
        y += max(box.height for box in layer) + _GAP
    widest = max((layer[-1].x + layer[-1].width for layer in layers), default=0.0)
    for layer in layers:
        shift = (widest - layer[-1].x - layer[-1].width) / 2
        for box in layer:
            box.x += shift
    return list(boxes.values())


def _box(state: State, item: int, model: CostModel | None) -> _Box:
    cost = "" if model is None else seconds_text(model.of_group(state, item).seconds)
    if not state.is_group(item):
        return _Box(item, [f"{_op(state, item)}  {cost}".rstrip()], is_group=False)
    lines = list(lines_of(state, item))
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"... {len(lines) - _MOST_LINES + 1} more"]
    return _Box(item, [f"{name_of(state, item)}  {cost}".rstrip(), *lines], is_group=True)


def _producers(state: State, item: int) -> list[int]:
    nodes = set(state.nodes_of(item))
    reads = (value.node for node in nodes for value in state.reads(node))
    outside = (node for node in reads if node != ARGUMENTS and node not in nodes)
    return list(dict.fromkeys(outermost(state, node) for node in outside))


def _edges(state: State, boxes: Sequence[_Box]) -> Iterator[str]:
    known = {box.item: box for box in boxes}
    for box in boxes:
        for above in (known[each] for each in _producers(state, box.item) if each in known):
            x0, y0 = above.x + above.width / 2, above.y + above.height
            x1, y1 = box.x + box.width / 2, box.y
            bend = max(12.0, (y1 - y0) / 2)
            yield (
                f'<path d="M{x0:.0f},{y0:.0f} C{x0:.0f},{y0 + bend:.0f} '
                f'{x1:.0f},{y1 - bend:.0f} {x1:.0f},{y1:.0f}"/>'
            )


def _drawn(box: _Box) -> str:
    heads = ["head", *[""] * len(box.lines)] if box.is_group else [""]
    rows = [
        f'<text class="{head}" x="{box.x + _PAD:.0f}" y="{box.y + _PAD + _LINE * (at + 0.8):.0f}" '
        f'xml:space="preserve">{escape(line)}</text>'
        for at, (line, head) in enumerate(zip(box.lines, heads, strict=False))
    ]
    kind = "group" if box.is_group else "op"
    place = (
        f'rx="4" x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}"'
    )
    # What lies behind a box is hidden, whatever the colour of the page is.
    return f'<rect class="back" {place}/><rect class="{kind}" {place}/>{"".join(rows)}'
