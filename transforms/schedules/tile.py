"""Tile the loops of a structured op: it stays, on slices, inside loops over tiles.

before:
    %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
        outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
after `match("matmul").tile([4]).simplify()`:
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c4 = arith.constant 4 : index
    %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%o = %c) -> (tensor<8x12xf32>) {
      %slice = tensor.extract_slice %a[%i, 0] [4, 16] [1, 1]
          : tensor<8x16xf32> to tensor<4x16xf32>
      %slice_0 = tensor.extract_slice %o[%i, 0] [4, 12] [1, 1]
          : tensor<8x12xf32> to tensor<4x12xf32>
      %1 = linalg.matmul ins(%slice, %b : tensor<4x16xf32>, tensor<16x12xf32>)
          outs(%slice_0 : tensor<4x12xf32>) -> tensor<4x12xf32>
      %inserted = tensor.insert_slice %1 into %o[%i, 0] [4, 12] [1, 1]
          : tensor<4x12xf32> into tensor<8x12xf32>
      scf.yield %inserted : tensor<8x12xf32>
    }

Source: "Parametric Tiling" of MLIR's linalg document; `transform.structured.tile_using_for`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_permutation, check_rows, check_sizes, structured_loops
from ._index_checks import check_parts
from ._script import Script, integers, line
from .step import schedule_step


@schedule_step("linalg-ext-tile")
def tile(op: ir.Operation, *, sizes: tuple[int, ...], interchange: tuple[int, ...] = ()) -> Script:
    """Put an op into `scf.for` loops over tiles of its iteration space.

    Args:
        op: a structured op.
        sizes: of a tile along each loop, outermost first; 0 leaves a loop alone, and so do loops
            beyond those given. A size that does not divide a loop makes the last tile smaller.
        interchange: the order of the new loops: position i gets the loop interchange[i].

    Raises:
        ScheduleError: the sizes do not fit the loops of the op.
    """
    loops = structured_loops(op, "tile")
    check_sizes(op, "sizes", sizes, loops)
    check_parts(op, "tile", sizes)
    check_rows(op, "sizes", sizes)
    order = ""
    if interchange:
        check_permutation(op, "interchange", interchange, len(sizes))
        order = f" interchange = {integers(interchange)}"
    count = sum(size > 0 for size in sizes)
    text = f"structured.tile_using_for %target tile_sizes {integers(sizes)}{order}"
    return Script((line(f"%tiled, %loops:{count}", text, results=1 + count),), "%tiled")
