"""Change the order of the loops of a structured op.

before:
    %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
        outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
after `match("matmul").interchange([2, 0, 1])`:
    %r = linalg.generic {
        indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0)>,
                         affine_map<(d0, d1, d2) -> (d0, d2)>,
                         affine_map<(d0, d1, d2) -> (d1, d2)>],
        iterator_types = ["reduction", "parallel", "parallel"]
    } ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>) outs(%c : tensor<8x12xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %1 = arith.mulf %in, %in_0 : f32
      %2 = arith.addf %out, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<8x12xf32>

Source: `transform.structured.interchange`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_maps, check_permutation
from ._script import Script, integers, line
from .step import schedule_step


@schedule_step("linalg-ext-interchange")
def interchange(op: ir.Operation, *, order: tuple[int, ...]) -> Script:
    """Reorder the iteration space; a named op becomes a `linalg.generic` first.

    Args:
        op: a structured op with indexing maps.
        order: position i gets the loop order[i].

    Raises:
        ScheduleError: `order` is no order of its loops.
    """
    loops = check_maps(op, "interchange")
    check_permutation(op, "order", order, loops.count)
    lines, source = [], "%target"
    if op.name != "linalg.generic":
        lines.append(line("%generic", "structured.generalize %target"))
        source = "%generic"
    text = f"structured.interchange {source} iterator_interchange = {integers(order)}"
    return Script((*lines, line("%ordered", text)), "%ordered")
