"""Texts of gml_st: the document's examples by its own text, and modules that hold every op."""

from __future__ import annotations

import functools

from documents import DOCUMENTS

CONSTANTS = "".join(
    f"  %c{number} = arith.constant {number} : index\n" for number in (0, 1, 4, 8, 16, 60, 80, 128)
)
SLIP = "materialize %in_tile\n      : !gml_st.subset<4xf32>"
"""The document names the tile of the input where that of the output is meant."""

MENDED = SLIP.replace("%in_tile", "%out_tile")


@functools.cache
def _document() -> str:
    return (DOCUMENTS / "gml_st.md").read_text()


def row_sum(name: str) -> str:
    """Return the document's loop of that name, as it stands, in a function.

    Args:
        name: `gml_st.loop` or `linalg.tiled_loop`.
    """
    text = _document()
    begin = text.index(f"%sum = {name}")
    loop = text[begin : text.index("\n}", begin) + 2]
    return (
        "func.func @row_sum(%in: tensor<80x60xf32>, %out: tensor<80xf32>) -> tensor<80xf32> {\n"
        f"{CONSTANTS}  %cst = arith.constant 0.0 : f32\n"
        f"{loop}\n  return %sum : tensor<80xf32>\n}}\n"
    )


SETS = """!tile = !gml_st.subset<4x8xf32>
func.func @sets(%x: tensor<16x8xf32>, %rows: tensor<3x2xindex>, %n: index, %i: index)
    -> (!tile, !gml_st.tile<8>, !gml_st.point) {
  %space = gml_st.space [64, %n] : !gml_st.tile<64x?>
  %scalar = gml_st.space [] : !gml_st.tile<>
  %full = gml_st.full %x : tensor<16x8xf32> to !gml_st.subset<16x8xf32>
  %tile = gml_st.tile %x [%i, 0] [4, 8] [1, 1] {from = "!gml_st.tile<4>"}
    : tensor<16x8xf32> to !tile  // of its rows
  %inner = gml_st.tile %tile[0, %i] [2, %n] [2, 1] : !tile to !gml_st.subset<2x?xf32>
  %kept = gml_st.filter %x[%rows] : tensor<16x8xf32>[tensor<3x2xindex>]
    to !gml_st.subset<16x8xf32>
  %point = gml_st.point %inner[0, %n] : !gml_st.subset<2x?xf32> to !gml_st.point
  %row = gml_st.drop_dims %tile, [1] : !tile to !gml_st.tile<8>
  %turned = gml_st.transpose_dims %tile, [1, 0] : !tile to !gml_st.tile<8x4>
  %offset = gml_st.offset %tile[%i] : !tile
  %size = gml_st.size %tile[%i] : !tile
  %stride = gml_st.stride %tile[%i] : !tile
  %both = gml_st.intersection %full, %tile : !gml_st.subset<16x8xf32>, !tile
    to !gml_st.subset<?x?xf32>
  %around = gml_st.convex_union %full, %tile : !gml_st.subset<16x8xf32>, !tile
    to !gml_st.subset<?x?xf32>
  %less:4 = gml_st.difference %full, %tile : !gml_st.subset<16x8xf32>, !tile
    to !gml_st.subset<?x?xf32>, !gml_st.subset<?x?xf32>, !gml_st.subset<?x?xf32>,
       !gml_st.subset<?x?xf32>
  %holds = gml_st.contains %full, %tile : !gml_st.subset<16x8xf32>, !tile
  %empty = gml_st.is_empty %less#1 : !gml_st.subset<?x?xf32>
  %part = gml_st.materialize %x[%tile] : tensor<16x8xf32>[!tile] to tensor<4x8xf32>
  %element = gml_st.materialize %x[%point] : tensor<16x8xf32>[!gml_st.point]
  return %tile, %row, %point : !tile, !gml_st.tile<8>, !gml_st.point
}
"""

BUFFERS = f"""func.func @buffers(%x: memref<16x8xf32>, %o: memref<16x8xf32>) {{
{CONSTANTS}  gml_st.loop (%i) = (%c0) to (%c16) step (%c4)
      ins (%x_ = %x: memref<16x8xf32>) outs (%o_ = %o: memref<16x8xf32>)
      iterators["parallel"] distribution["block"] {{
    %from = gml_st.tile %x_[%i, 0] [4, 8] [1, 1] : memref<16x8xf32> to !gml_st.subset<4x8xf32>
    %a = gml_st.materialize %x_[%from] : memref<16x8xf32>[!gml_st.subset<4x8xf32>]
    %b = gml_st.materialize %o_[%from] : memref<16x8xf32>[!gml_st.subset<4x8xf32>]
      to memref<4x8xf32, strided<[8, 1], offset: ?>>
    linalg.copy ins(%a : memref<4x8xf32, strided<[8, 1], offset: ?>>)
      outs(%b : memref<4x8xf32, strided<[8, 1], offset: ?>>)
    gml_st.yield
  }} {{tuned}}
  return
}}
"""

FOR = f"""#rows = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
func.func @columns(%x: tensor<128x16xf32>, %o: tensor<16xf32>) -> tensor<16xf32> {{
{CONSTANTS}  %sum = gml_st.for (%i, %j) = (%c0, %c0) to (%c128, %c16) step (%c8, %c8)
      outs(%o_ = %o : tensor<16xf32>) {{
    %from = gml_st.tile %x[%i, %j] [8, 8] [1, 1] : tensor<128x16xf32> to !gml_st.subset<8x8xf32>
    %part = gml_st.materialize %from : !gml_st.subset<8x8xf32> to tensor<8x8xf32>
    %to = gml_st.tile %o_[%j] [8] [1] : tensor<16xf32> to !gml_st.subset<8xf32>
    %old = gml_st.materialize %to : !gml_st.subset<8xf32> to tensor<8xf32>
    %new = linalg.generic {{indexing_maps = [#rows, #columns],
        iterator_types = ["reduction", "parallel"]}}
        ins(%part: tensor<8x8xf32>) outs(%old : tensor<8xf32>) {{
      ^bb(%a: f32, %b: f32) :
        %s = arith.addf %a, %b : f32
        linalg.yield %s : f32
    }} -> tensor<8xf32>
    gml_st.set_yield %new into %o_[%to] : tensor<8xf32> into tensor<16xf32>[!gml_st.subset<8xf32>]
  }} : tensor<16xf32>
  return %sum : tensor<16xf32>
}}
"""

POINTS = f"""func.func @points(%x: tensor<8xf32>, %o: tensor<f32>) -> tensor<f32> {{
{CONSTANTS}  %sum = gml_st.parallel (%i) = (%c0) to (%c8) step (%c1) distribution["thread"] {{
    %from = gml_st.point %x[%i] : tensor<8xf32> to !gml_st.point
    %new = gml_st.materialize %from : !gml_st.point to f32
    %all = gml_st.space [] : !gml_st.tile<>
    %to = gml_st.point %all[] : !gml_st.tile<> to !gml_st.point
    gml_st.set_yield %new into %o[%to] acc (%in, %out: f32) {{
      %s = arith.addf %in, %out : f32
      gml_st.yield %s : f32
    }} : f32 into tensor<f32>[!gml_st.point]
  }} : tensor<f32>
  return %sum : tensor<f32>
}}
"""

ACCUMULATORS = f"""func.func @two(%x: tensor<8xf32>, %o: tensor<8xf32>, %p: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {{
{CONSTANTS}  %r:3 = gml_st.parallel (%i) = (%c0) to (%c8) step (%c4) {{
    %t = gml_st.tile %x[%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    %new_ = gml_st.materialize %t : !gml_st.subset<4xf32> to tensor<4xf32>
    gml_st.set_yield
      %new_ into %o[%t] acc (%new, %old: tensor<4xf32>) {{
        %s = arith.addf %new, %old : tensor<4xf32>
        gml_st.yield %s : tensor<4xf32>
      }} : tensor<4xf32> into tensor<8xf32>[!gml_st.subset<4xf32>],
      %new_ into %x[%t] : tensor<4xf32> into tensor<8xf32>[!gml_st.subset<4xf32>],
      %new_ into %p[%t] acc (%new, %old: tensor<4xf32>) {{
        %0 = arith.constant 2.0 : f32
        %s = tensor.splat %0 : tensor<4xf32>
        %q = arith.mulf %new, %s : tensor<4xf32>
        %m = arith.maximumf %q, %old : tensor<4xf32>
        gml_st.yield %m : tensor<4xf32>
      }} : tensor<4xf32> into tensor<8xf32>[!gml_st.subset<4xf32>]
  }} : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return %r#0, %r#1, %r#2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}}
"""

WHOLE = f"""func.func @whole(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {{
{CONSTANTS}  %r = gml_st.loop (%i) = (%c0) to (%c8) step (%c4)
      ins(%x_ = %x: tensor<8xf32>) outs(%o_ = %o: tensor<8xf32>) {{
    %part = tensor.extract_slice %x_[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %exp = linalg.exp ins(%part : tensor<4xf32>) outs(%part : tensor<4xf32>) -> tensor<4xf32>
    %all = tensor.insert_slice %exp into %o_[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
    gml_st.yield %all : tensor<8xf32>
  }}
  return %r : tensor<8xf32>
}}
"""

TWO_OUTPUTS = f"""func.func @both(%x: tensor<8xf32>, %o: tensor<8xf32>, %p: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) {{
{CONSTANTS}  %r:2 = gml_st.loop (%i) = (%c0) to (%c8) step (%c4)
      ins (%x_ = %x: tensor<8xf32>) outs (%o_ = %o: tensor<8xf32>, %p_ = %p: tensor<8xf32>) {{
    %t = gml_st.tile %x_[%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    %part = gml_st.materialize %t : !gml_st.subset<4xf32> to tensor<4xf32>
    %a = gml_st.tile %o_[%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    %b = gml_st.tile %p_[%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    gml_st.yield %part to %a, %part to %b
      : tensor<4xf32> to !gml_st.subset<4xf32>, tensor<4xf32> to !gml_st.subset<4xf32>
  }}
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}}
"""

COMBINED = f"""func.func @combined(%x: tensor<8xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {{
{CONSTANTS}  %r = gml_st.loop (%i) = (%c0) to (%c8) step (%c4)
      ins (%x_ = %x: tensor<8xf32>) outs (%o_ = %o: tensor<4xf32>) {{
    %t = gml_st.tile %x_[%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
    %part = gml_st.materialize %t : !gml_st.subset<4xf32> to tensor<4xf32>
    %all = subset.full %o_
    gml_st.yield %part to %all acc (%new, %old: tensor<4xf32>) {{
      %s = arith.addf %new, %old : tensor<4xf32>
      gml_st.yield %s : tensor<4xf32>
    }} : tensor<4xf32> to !gml_st.subset<4xf32>
  }}
  return %r : tensor<4xf32>
}}
"""

MODULES = {
    "sets": SETS,
    "buffers": BUFFERS,
    "for": FOR,
    "points": POINTS,
    "accumulators": ACCUMULATORS,
    "whole": WHOLE,
    "two outputs": TWO_OUTPUTS,
    "combined": COMBINED,
}
"""Each a module as people write it; together they hold every op."""
