"""Modules with one op of each kind that a schedule may be about, and what to call it there."""

from __future__ import annotations

from linalg_ext.module import Module
from rewrite_texts import function, parsed

OPS = {
    "matmul": "linalg.matmul",
    "conv": "linalg.conv_2d_nhwc_hwcf",
    "generic": "linalg.generic",
    "reduce": "linalg.reduce",
    "maximum": "linalg.generic",
}
"""The op that a schedule of each module is about."""

LOOPS = {"matmul": 3, "conv": 7, "generic": 2, "reduce": 2, "maximum": 2}

_MAPS = "affine_map<(i, j) -> (i, j)>"

TEXTS = {
    "matmul": function(
        "%a: tensor<20x16xf32>, %b: tensor<16x24xf32>, %c: tensor<20x24xf32>",
        """  %z = arith.constant 0.0 : f32
  %i = linalg.fill ins(%z : f32) outs(%c : tensor<20x24xf32>) -> tensor<20x24xf32>
  %r = linalg.matmul ins(%a, %b : tensor<20x16xf32>, tensor<16x24xf32>)
                     outs(%i : tensor<20x24xf32>) -> tensor<20x24xf32>""",
        "tensor<20x24xf32>",
    ),
    "conv": function(
        "%a: tensor<1x10x10x4xf32>, %b: tensor<3x3x4x8xf32>, %c: tensor<1x8x8x8xf32>",
        """  %r = linalg.conv_2d_nhwc_hwcf
    ins(%a, %b : tensor<1x10x10x4xf32>, tensor<3x3x4x8xf32>)
    outs(%c : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>""",
        "tensor<1x8x8x8xf32>",
    ),
    "generic": function(
        "%a: tensor<20x16xf32>, %b: tensor<16xf32>, %c: tensor<20x16xf32>",
        f"""  %e = linalg.negf ins(%a : tensor<20x16xf32>) outs(%c : tensor<20x16xf32>)
    -> tensor<20x16xf32>
  %r = linalg.generic {{
    indexing_maps = [{_MAPS}, affine_map<(i, j) -> (j)>, {_MAPS}],
    iterator_types = ["parallel", "parallel"]
  }} ins(%e, %b : tensor<20x16xf32>, tensor<16xf32>) outs(%c : tensor<20x16xf32>) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }} -> tensor<20x16xf32>""",
        "tensor<20x16xf32>",
    ),
    "reduce": function(
        "%a: tensor<20x16xf32>, %c: tensor<20xf32>",
        """  %r = linalg.reduce ins(%a : tensor<20x16xf32>) outs(%c : tensor<20xf32>)
    dimensions = [1] (%x: f32, %s: f32) {
    %t = arith.addf %x, %s : f32
    linalg.yield %t : f32
  }""",
        "tensor<20xf32>",
    ),
    "maximum": function(
        "%a: tensor<20x16xf32>, %c: tensor<20xf32>",
        f"""  %r = linalg.generic {{
    indexing_maps = [{_MAPS}, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  }} ins(%a : tensor<20x16xf32>) outs(%c : tensor<20xf32>) {{
  ^bb0(%x: f32, %o: f32):
    %s = arith.maximumf %x, %o : f32
    linalg.yield %s : f32
  }} -> tensor<20xf32>""",
        "tensor<20xf32>",
    ),
}


def module(kind: str) -> Module:
    """A fresh module of a kind."""
    return parsed(TEXTS[kind])
