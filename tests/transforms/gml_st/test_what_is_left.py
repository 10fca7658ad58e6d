"""What the passes on subsets leave as it is, and the reasons that they give."""

from __future__ import annotations

from typing import Any

import pytest

import linalg_ext as lx
from linalg_ext import transforms
from linalg_ext.errors import ArgumentError

FROM_ELSEWHERE = """
func.func @f(%s: !gml_st.tile<4x4>, %x: tensor<4x4xf32>) -> (tensor<2x2xf32>, index) {
  %c0 = arith.constant 0 : index
  %t = gml_st.tile %s [0, 1] [2, 2] [1, 1] : !gml_st.tile<4x4> to !gml_st.tile<2x2>
  %o = gml_st.offset %t[%c0] : !gml_st.tile<2x2>
  %r = gml_st.materialize %x[%t] : tensor<4x4xf32>[!gml_st.tile<2x2>]
  return %r, %o : tensor<2x2xf32>, index
}"""
FILTERED = """
func.func @f(%x: tensor<4xf32>, %n: tensor<2xindex>) -> tensor<2xf32> {
  %t = gml_st.filter %x[%n] : tensor<4xf32>[tensor<2xindex>] to !gml_st.subset<4xf32>
  %a = gml_st.materialize %x[%t] : tensor<4xf32>[!gml_st.subset<4xf32>]
  %u = gml_st.tile %a [1] [2] [1] : tensor<4xf32> to !gml_st.subset<2xf32>
  %b = gml_st.materialize %a[%u] : tensor<4xf32>[!gml_st.subset<2xf32>]
  return %b : tensor<2xf32>
}"""
ROWS = """
func.func @f(%x: tensor<3x4xf32>, %o: tensor<3xf32>) -> tensor<3xf32> {
  %r = linalg.reduce {arith.addf} ins(%x : tensor<3x4xf32>) outs(%o : tensor<3xf32>)
       dimensions = [1]
  return %r : tensor<3xf32>
}"""
NUMBERED = """
func.func @f(%o: tensor<4x3xindex>) -> tensor<4x3xindex> {
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]} outs(%o : tensor<4x3xindex>) {
  ^bb0(%c: index):
    %i = linalg.index 1 : index
    linalg.yield %i : index
  } -> tensor<4x3xindex>
  return %r : tensor<4x3xindex>
}"""
BUFFERS = """
func.func @f(%x: memref<4x3xf32>) {
  linalg.map {math.absf} ins(%x : memref<4x3xf32>) outs(%x : memref<4x3xf32>)
  return
}"""


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("compose_subsets", FROM_ELSEWHERE, "argument 0 of the block"),
        ("fold_subset_questions", FROM_ELSEWHERE, "argument 0 of the block"),
        ("collapse_materialize", FILTERED, "not a rectangle"),
        ("collapse_shapes", ROWS, "some of the leading dimensions"),
        ("collapse_shapes", NUMBERED, "reads its indices"),
        ("collapse_shapes", BUFFERS, "works on memory"),
    ],
)
def test_it_is_left_with_the_reason(name: str, text: str, said: str) -> None:
    module = lx.parse(text)
    before = str(module)
    transformation: Any = getattr(transforms, name)
    report = transformation(module)
    assert not report
    assert str(module) == before
    assert said in repr(report)


def test_fewer_than_no_trailing_dimensions_are_refused() -> None:
    with pytest.raises(ArgumentError, match="retain-trailing-dims is -1"):
        transforms.collapse_shapes(lx.parse(ROWS), retain_trailing_dims=-1)
