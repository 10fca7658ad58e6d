"""Graphs in layers: who stands below whom, in which order, and what a group holds."""

from __future__ import annotations

from xml.etree import ElementTree

from linalg_ext.utils.svg import Box, Edge, Picture, drawing, layered

SVG = "{http://www.w3.org/2000/svg}"


def places(svg: str) -> dict[str, tuple[float, float]]:
    """Where each text stands, by its box alone."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        text = group.find(f"{SVG}text")
        if text is not None:
            x, y = group.attrib["transform"].removeprefix("translate(").removesuffix(")").split(",")
            found[text.text or ""] = (float(x), float(y))
    return found


def test_a_layer_is_below_all_that_it_reads() -> None:
    layers, passed = layered([0, 3, 1, 2], [(0, 1), (1, 2), (3, 2)])
    assert not passed
    assert list(map(set, layers)) == [{0}, {1, 3}, {2}]
    svg = drawing(Picture([Box(0, "a"), Box(1, "b")], [Edge(0, 1, "4xf32")]))
    assert places(svg)["a"][1] + Box(0, "a").height < places(svg)["b"][1]


def test_neighbours_stand_below_each_other() -> None:
    """In the order of the text the edges 0-3 and 1-2 would cross."""
    top, bottom = layered([0, 1, 2, 3], [(0, 3), (1, 2)]).layers
    crossed = (top.index(0) < top.index(1)) != (bottom.index(3) < bottom.index(2))
    assert not crossed


def test_a_long_edge_has_a_place_of_its_own_in_each_layer_that_it_passes() -> None:
    layers, passed = layered([0, 1, 2, 3], [(0, 1), (1, 2), (2, 3), (0, 3)])
    ((one, two),) = passed.values()
    assert [set(layer) for layer in layers] == [{0}, {1, one}, {2, two}, {3}]
    boxes = [Box(0, "first"), Box(1, "between"), Box(2, "last")]
    svg = drawing(Picture(boxes, [Edge(0, 1), Edge(1, 2), Edge(0, 2)]))
    (passing,) = (path for path in svg.split("<path ") if "V" in path.partition('"/>')[0])
    across = float(passing.partition("V")[0].split()[-2])
    left = places(svg)["between"][0]
    assert not left <= across <= left + boxes[1].width


def test_many_long_edges_pass_behind_boxes() -> None:
    """Each of a chain reads the first: a place for every edge and layer would be a square."""
    chain = [(at, at + 1) for at in range(100)] + [(0, at) for at in range(2, 100)]
    layers, passed = layered(list(range(101)), chain)
    assert not passed
    assert sum(map(len, layers)) == 101


def test_a_group_is_around_what_it_holds() -> None:
    inner = Box(2, "inner", "group", (Box(3, "deep inside of it"),))
    group = Box(1, "group", "group", (Box(0, "an op", line=7), inner))
    assert group.width > inner.width > inner.inner[0].width
    assert group.height > group.inner[0].height + inner.height
    svg = drawing(Picture([group], []))
    assert svg.count('data-line="7"') == 1
    (frame, *_) = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    assert float(frame.attrib["width"]) == round(group.width)


def test_pictures_stand_beside_each_other() -> None:
    one = Picture([Box(0, "<x>")], [], "before")
    svg = drawing(one, one)
    assert svg.count("&lt;x&gt;") == 2
    assert svg.count("before") == 2
    width = float(ElementTree.fromstring(svg).attrib["width"])
    assert width == 2 * float(ElementTree.fromstring(drawing(one)).attrib["width"])


def test_nothing_is_a_picture_too() -> None:
    assert ElementTree.fromstring(drawing(Picture([], []))).tag == f"{SVG}svg"
    assert ElementTree.fromstring(drawing()).tag == f"{SVG}svg"
