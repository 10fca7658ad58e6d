"""Lower `linalg_ext.gather` to a generic that reads where the indices say.

before:
    %r = "linalg_ext.gather"(%a, %i, %o)
           : (tensor<4x5xf32>, tensor<3x1xindex>, tensor<3x5xf32>) -> tensor<3x5xf32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, 0)>,
                                          affine_map<(r, d) -> (r, d)>],
                         iterator_types = ["parallel", "parallel"]}
           ins(%i : tensor<3x1xindex>) outs(%o : tensor<3x5xf32>) {
    ^bb0(%row: index, %out: f32):
      %low = arith.minsi %row, %c3 : index
      %place = arith.maxsi %low, %c0 : index
      %d = linalg.index 1 : index
      %v = tensor.extract %a[%place, %d] : tensor<4x5xf32>
      linalg.yield %v : f32
    } -> tensor<3x5xf32>
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.structured.destination_ops import Gather
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.tensor_loops import (
    Demands,
    add,
    as_index,
    compare,
    parallel_generic,
    size_of,
    sub,
)
from linalg_ext.transforms.ir_utils.walking import lowering_pass

NAME = "linalg-ext-lower-gather"
OP = "linalg_ext.gather"


@lowering_pass(NAME, OP)
def lower_gather(op: ir.Operation) -> Any:
    """Lower linalg_ext.gather to linalg.generic."""
    view = Gather.of(op)
    count = view.windows.index_count
    rank = ir.ShapedType(view.init.type).rank
    lasts = _last_places(view)
    row = ir.AffineDimExpr.get(0)
    maps = [
        ir.AffineMap.get(rank, 0, [row, ir.AffineConstantExpr.get(column)])
        for column in range(count)
    ]

    def body(arguments: Any) -> Any:
        where: list[Any] = []
        for dim, place in enumerate(view.windows.dims):
            inside = None if place is None else linalg.IndexOp(place).result
            if dim >= count:
                where.append(inside)
                continue
            given = arith.minsi(as_index(arguments[dim]), index(lasts[dim]))
            first = arith.maxsi(given, index(0))
            where.append(first if inside is None else add(first, inside))
        return tensor.extract(view.operand, where)

    return parallel_generic([view.indices] * count, view.init, maps, body)


def _last_places(view: Gather) -> list[Any]:
    """The last place of a window along each dimension; that there is one is asserted."""
    demands = Demands(f"{OP}: a window is larger than the operand, or the sizes do not fit")
    rows = size_of(view.init, 0)
    demands.equal(size_of(view.indices, 0), rows)
    has_none = None if isinstance(rows, int) else compare("eq", rows, 0)
    lasts = []
    for dim, place in enumerate(view.windows.dims):
        window = 1 if place is None else size_of(view.init, place)
        size = size_of(view.operand, dim)
        lasts.append(sub(size, window))
        if rows == 0 or (isinstance(size, int) and isinstance(window, int) and window <= size):
            continue
        fits = compare("sge", size, window)
        demands.holds(fits if has_none is None else arith.ori(has_none, fits))
    demands.emit()
    return lasts
