"""The dataflow graph of a module, with groups as boxes."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError
from linalg_ext.explain.located_text import of_module
from linalg_ext.explain.pages import op_lines
from linalg_ext.transforms.grouping import Insert, State, read_graph, realize

TEXT = """func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>)
                     outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.exp ins(%c : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}"""


def drawn(svg: str) -> tuple[list[str], int]:
    """The texts of the boxes, and how many edges there are."""
    root = ElementTree.fromstring(svg)
    names = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
    paths = [p for p in root.iter("{http://www.w3.org/2000/svg}path") if "marker-end" in p.attrib]
    return names, len(paths)


def test_ops_and_what_they_read_are_drawn() -> None:
    names, edges = drawn(lx.explain.dataflow(TEXT).to_svg())
    assert names == [
        "arguments",
        "linalg.fill  4x4xf32",
        "linalg.matmul  4x4xf32",
        "linalg.exp  4x4xf32",
        "results",
    ]
    assert edges == 4  # arguments and fill to matmul, matmul to exp, exp to the results


def test_a_group_is_a_box_with_its_ops_in_it() -> None:
    module = lx.parse(TEXT)
    graph = read_graph(module)
    matmul, exp = (n.number for n in graph.nodes if n.op in ("linalg.matmul", "linalg.exp"))
    state = State(graph)
    state.apply(Insert((matmul, exp), {"label": "layer", "tiling": (2, 2)}))
    realize(module, state)
    found = lx.explain.dataflow(module)
    names, edges = drawn(found.to_svg())
    (title,) = (name for name in names if name.startswith("layer"))
    assert "tiling" in title
    assert edges == 3  # arguments and fill to the group, the group to the results
    text = of_module(module)
    lines = op_lines(text, "f")
    assert [n.op for n in found.graph.nodes] == [
        text.lines[line].partition(" = ")[2].split()[0].split("(")[0] for line in lines
    ]


def test_nothing_to_draw_is_drawn() -> None:
    empty = "func.func @g() { return }"
    assert drawn(lx.explain.dataflow(empty).to_svg()) == (["results"], 0)
    with pytest.raises(ArgumentError, match="no function @h"):
        lx.explain.dataflow(empty, "h")
