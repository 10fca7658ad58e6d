"""Pictures of footprints: the elements that are shaded are those that counting finds."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

import linalg_ext as lx
from linalg_ext.explain.footprint_drawing import part_touched
from linalg_ext.structured import StructuredInterface, interface
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineMap
from linalg_ext.symbolic.index_sets import Tile, indices
from linalg_ext.symbolic.integers import Symbol
from op_instances import named_ops, ops_in

GENERIC = """
func.func @f(%a: tensor<{shape}xf32>, %c: tensor<4x2xf32>) {{
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> ({index})>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  }} ins(%a : tensor<{shape}xf32>) outs(%c : tensor<4x2xf32>) {{
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }} -> tensor<4x2xf32>
  return
}}"""
MATMUL = lx.parse("""
func.func @f(%a: tensor<64x128xf32>, %b: tensor<128x?xf32>, %c: tensor<64x?xf32>) {
  %r = linalg.matmul ins(%a, %b : tensor<64x128xf32>, tensor<128x?xf32>)
    outs(%c : tensor<64x?xf32>) -> tensor<64x?xf32>
  return
}""")
MODULES = [MATMUL]


def generic(shape: str, index: str) -> StructuredInterface:
    """An op that reads at an index of its two loops."""
    module = lx.parse(GENERIC.format(shape=shape, index=index))
    MODULES.append(module)  # an op does not keep its module alive
    (op,) = [op for op in ops_in(module.ir) if op.name == "linalg.generic"]
    return interface(op)


@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ("11", "3 * i + j"),  # a window that jumps over every third element
        ("8", "2 * i + j"),
        ("5x11", "i + j, 3 * i"),  # both axes move together
        ("4x4", "i, i"),
        ("2x4", "i floordiv 2, (3 * i + j) mod 4"),
    ],
)
def test_what_is_shaded_is_what_counting_finds(shape: str, index: str) -> None:
    x = generic(shape, index)
    for part in (Tile((0, 0), (4, 2)), Tile((1, 0), (2, 2)), Tile((0, 1), (2, 1), (3, 1))):
        found = x.footprint(part)
        drawn = part_touched(found.operands[0], found.iterations)
        map = x.indexing_maps[0]
        touched = {_drawn(map, point) for point in indices(part)}
        shaded = [
            (row, column)
            for patch in drawn.patches
            for row in range(patch.row, patch.row + patch.height)
            for column in range(patch.column, patch.column + patch.width)
        ]
        assert drawn.is_exact
        assert len(shaded) == len(set(shaded))
        assert set(shaded) == touched


def _drawn(map: AffineMap, point: tuple[int, ...]) -> tuple[int, int]:
    """The row and column that an iteration touches."""
    values: dict[AffineExpr, int] = {
        AffineDim(name): number for name, number in zip(map.dims, point, strict=True)
    }
    reached = [index.evaluate(values) for index in map.results]
    return (reached[-2] if len(reached) > 1 else 0, reached[-1])


def test_what_is_not_known_is_paler() -> None:
    x = generic("11", "3 * i + j")
    i = Symbol("i", lower=0, upper=2)
    svg = ElementTree.fromstring(x.footprint(Tile((i, 0), (2, 2)))._repr_svg_())
    kinds = [rect.get("class") for rect in svg.iter("{http://www.w3.org/2000/svg}rect")]
    assert kinds.count("some") == 1


def test_the_picture_shades_what_is_touched() -> None:
    (op,) = [op for op in ops_in(MATMUL.ir) if op.name == "linalg.matmul"]
    found = interface(op).footprint(Tile((16, 0, 0), (8, 16, 128)))
    svg = ElementTree.fromstring(found._repr_svg_())
    spaces = svg.findall("{*}g")
    titles = [space.findtext("{*}text") for space in spaces]
    assert titles == ["iterations [16:24, ...]", "input 0", "input 1", "init 0"]
    outline, touched = spaces[1].findall("{*}rect")
    # A quarter of the way down, an eighth of its 64 rows, over its whole width.
    height, width = float(outline.get("height", 0)), float(outline.get("width", 0))
    assert (height, width) == (60, 120)
    assert [float(touched.get(name, -1)) for name in ("x", "y", "width", "height")] == [
        0,
        height / 4,
        width,
        height / 8,
    ]


def test_a_picture_of_scalars_strides_and_nothing() -> None:
    fill = interface(named_ops(memref=False)[1]["fill"])
    for tile, shaded in ((Tile((0, 0), (2, 2), (1, 2)), 2), (Tile((0, 0), (0, 3)), 0)):
        found = fill.footprint(tile)
        svg = ElementTree.fromstring(found._repr_svg_())
        *_, init = svg.findall("{*}g")
        assert len(init.findall("{*}rect")) == 1 + shaded
