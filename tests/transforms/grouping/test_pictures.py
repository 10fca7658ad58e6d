"""Pictures of groupings: well-formed, each group a box with its cost; and the same as text."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

import linalg_ext as lx
from linalg_ext.transforms.grouping import Insert, State, picture, read_graph, search
from traffic import Traffic

MODULE = lx.jit(lambda x: np.exp(x) @ x + 1).lower(np.ones((8, 8), np.float32)).module
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def boxes(svg: str, kind: str) -> int:
    found = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return sum(each.get("class") == kind for each in found)


def test_a_state_is_a_picture_of_its_groups() -> None:
    state = State(read_graph(MODULE))
    plain = state._repr_svg_()
    computing = [n.number for n in state.graph.nodes if n.op.startswith("linalg.")]
    assert (boxes(plain, "group"), boxes(plain, "node")) == (0, len(computing))
    state.apply(Insert(tuple(computing[:1]), {"label": "a < b", "tiling": (4, 0)}))
    drawn = picture(state, Traffic())
    assert (boxes(drawn, "group"), boxes(drawn, "node")) == (1, len(computing))
    head = next(text for text in texts(drawn) if ": a < b" in text)
    assert "tiling = (4, 0)" in head
    assert head.endswith("us")


def test_a_long_group_is_cut() -> None:
    def long(x: np.ndarray) -> np.ndarray:
        for _ in range(30):
            x = np.exp(x) * 0.5
        return x

    found = search(lx.jit(long).lower(np.ones((4, 4))).module, model=Traffic(), moves=50)
    assert any(text.startswith("... ") and text.endswith(" more") for text in texts(_svg(found)))


def _svg(found: object) -> str:
    svg = found._repr_svg_()  # type: ignore[attr-defined]
    assert isinstance(svg, str)
    return svg


def test_what_was_found_is_shown_before_and_after_and_as_a_tree() -> None:
    found = search(MODULE, model=Traffic(), moves=50)
    said = texts(_svg(found))
    assert any(text.startswith("before: ") for text in said)
    assert any(text.startswith("after: ") for text in said)
    console = Console(width=100)
    with console.capture() as captured:
        console.print(found)
    assert "grouping of @" in captured.get()
    assert repr(found).startswith("Grouping of @")
    assert ElementTree.fromstring(found.trace._repr_svg_()).tag == f"{SVG}svg"


@pytest.mark.parametrize("text", ["func.func @f() { return }"])
def test_nothing_is_a_picture_too(text: str) -> None:
    found = search(lx.parse(text), model=Traffic())
    assert found.state.groups == ()
    assert ElementTree.fromstring(_svg(found)).tag == f"{SVG}svg"
    assert ElementTree.fromstring(found.trace._repr_svg_()).tag == f"{SVG}svg"
