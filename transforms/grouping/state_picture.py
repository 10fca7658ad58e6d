"""Pictures of states: groups as boxes around their ops, each with its cost, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linalg_ext.target.text import seconds_text
from linalg_ext.utils.svg import Box, Edge, Picture, drawing

from ._annotations import annotations_text
from ._exploration import FREE
from ._graph import ARGUMENTS, Value
from ._state import ROOT, State
from .cost import CostModel

_MOST_LINES = 14
"""The most lines of a box; the rest is counted."""

_ARGUMENTS, _RESULTS = -1, -2
"""The keys of two boxes that are not items."""


def picture(state: State, model: CostModel | None = None) -> str:
    """Return a state as SVG: the ops that read others stand below them.

    Args:
        state: it.
        model: tells the cost that is written on each box; None: none is.
    """
    return drawing(picture_of(state, model))


def picture_of(
    state: State,
    model: CostModel | None = None,
    *,
    title: str = "",
    lines: Sequence[int] | None = None,
) -> Picture:
    """Return the picture of a state, without constants, sizes and empty tensors.

    Args:
        state: it.
        model: gives the cost that is written on each box; without one, no cost is.
        title: above it.
        lines: for each node of its graph, the line of a text that its op begins on. Each op leads
            to its line then, and has no number. None: ops have numbers, and of large groups only
            some are shown.
    """
    edges = list(_edges(state))
    boxes = [_box(state, item, model, lines) for item in shown_items(state)]
    if any(edge.source == _ARGUMENTS for edge in edges):
        boxes.insert(0, Box(_ARGUMENTS, "arguments", kind="end"))
    boxes.append(Box(_RESULTS, "results", kind="end"))
    return Picture(boxes, edges, title)


def lines_of(state: State, group: int, depth: int = 0) -> Iterator[str]:
    """Return the ops of a group, one a line, those of groups in it further in."""
    for item in state.children(group):
        yield "  " * depth + text_of(state, item)
        if state.is_group(item):
            yield from lines_of(state, item, depth + 1)


def text_of(state: State, item: int, *, numbered: bool = True) -> str:
    """Return an item for people: a group with its annotations, an op with its results."""
    if state.is_group(item):
        data = state.data(item)
        name = data.label or "group"
        if numbered:
            name = f"group {item}: {data.label}" if data.label else f"group {item}"
        return f"{name}  {annotations_text(data.texts)}".rstrip()
    node = state.node(item)
    types = ", ".join(_short(result.type) for result in node.results)
    text = f"{node.op}  {types}{'  (copy)' * state.is_copy(item)}".rstrip()
    return f"{item}: {text}" if numbered else text


def shown_items(state: State) -> list[int]:
    """Return the items outside all groups that are worth showing: no constants or empty tensors."""
    return [item for item in state.children() if _is_shown(state, item)]


def _is_shown(state: State, item: int) -> bool:
    return state.is_group(item) or state.node(item).op not in FREE


def _short(type_: str) -> str:
    """Return a type for people: `64x128xf32` for a tensor."""
    if type_.startswith("tensor<") and "," not in type_:
        return type_[7:-1]
    return type_ if len(type_) < 40 else f"{type_[:37]}..."


def _box(
    state: State, item: int, model: CostModel | None, lines: Sequence[int] | None, depth: int = 0
) -> Box:
    text = text_of(state, item, numbered=lines is None)
    if model is not None and depth == 0:
        text += f"  {seconds_text(model.of_group(state, item).seconds)}"
    if not state.is_group(item):
        number = state.node(item).number
        return Box(item, text, line=lines[number] if lines else None)
    inner = [child for child in state.children(item) if _is_shown(state, child)]
    most = _MOST_LINES if lines is None and len(inner) > _MOST_LINES else len(inner) + 1
    boxes = [_box(state, child, model, lines, depth + 1) for child in inner[: most - 1]]
    if hidden := len(inner) - len(boxes):
        boxes.append(Box(item, f"... {hidden} more", kind="more"))
    return Box(item, text, "group", tuple(boxes))


def _edges(state: State) -> Iterator[Edge]:
    """Yield the edges between the items outside all groups, each pair once."""
    edges: dict[tuple[int, int], str] = {}
    for node in state.nodes_of(ROOT):
        if state.node(node).op not in FREE:
            end = state.outermost(node)
            for value in state.reads(node):
                _read(state, value, end, edges)
    for value in sorted(state.graph.returned):
        if value.node != ARGUMENTS:
            _read(state, value, _RESULTS, edges)
    for (source, end), text in edges.items():
        yield Edge(source, end, text)


def _read(state: State, value: Value, end: int, edges: dict[tuple[int, int], str]) -> None:
    if value.node == ARGUMENTS:
        edges.setdefault((_ARGUMENTS, end), "")
        return
    node = state.node(value.node)
    source = state.outermost(value.node)
    if node.op not in FREE and source != end:
        edges.setdefault((source, end), _short(node.results[value.number].type))
