"""Pack the operands of an op into blocks, with `linalg.pack` before it and `linalg.unpack` behind.

before:
    %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
        outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
after `match("matmul").pack([4]).simplify()`:
    %0 = tensor.empty() : tensor<2x16x4xf32>
    %pack = linalg.pack %a inner_dims_pos = [0] inner_tiles = [4] into %0
        : tensor<8x16xf32> -> tensor<2x16x4xf32>
    %1 = tensor.empty() : tensor<2x12x4xf32>
    %pack_0 = linalg.pack %c inner_dims_pos = [0] inner_tiles = [4] into %1
        : tensor<8x12xf32> -> tensor<2x12x4xf32>
    %2 = linalg.generic {
        indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>,
                         affine_map<(d0, d1, d2, d3) -> (d2, d1)>,
                         affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>],
        iterator_types = ["parallel", "parallel", "reduction", "parallel"]
    } ins(%pack, %b : tensor<2x16x4xf32>, tensor<16x12xf32>) outs(%pack_0 : tensor<2x12x4xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %3 = arith.mulf %in, %in_1 : f32
      %4 = arith.addf %out, %3 : f32
      linalg.yield %4 : f32
    } -> tensor<2x12x4xf32>
    %r = linalg.unpack %2 inner_dims_pos = [0] inner_tiles = [4] into %c
        : tensor<2x12x4xf32> -> tensor<8x12xf32>

Source: `transform.structured.pack`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_blocks, check_maps, check_separable, check_sizes, check_tensors
from .step import ANY, Script, integers, schedule_step


@schedule_step("linalg-ext-pack")
def pack(op: ir.Operation, *, sizes: tuple[int, ...]) -> Script:
    """Compute an op on blocks that lie next to each other in memory.

    Args:
        op: a structured op on tensors.
        sizes: of a block along each loop; 0 leaves a loop alone.

    Raises:
        ScheduleError: the sizes do not fit the loops, or the op is on buffers.
    """
    loops = check_maps(op, "pack")
    check_tensors(op, "pack")
    check_separable(op, "pack")
    check_sizes(op, "sizes", sizes, loops)
    check_blocks(op, "pack", sizes, loops.ranges)
    whole = (*sizes, *[0] * (loops.count - len(sizes)))
    return Script(
        f"%packed = transform.structured.pack %target packed_sizes = {integers(whole)} : "
        f'({ANY}) -> (!transform.op<"linalg.generic">)',
        f'%any = transform.cast %packed : !transform.op<"linalg.generic"> to {ANY}',
        focus="%any",
        one_by_one=True,
    )
