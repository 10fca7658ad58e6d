"""Lower `linalg_ext.sort` to loops over the rows, each sorted between two buffers.

before:
    %r = "linalg_ext.sort"(%a, %o) ({
         ^bb0(%x: f32, %y: f32):
           %less = arith.cmpf olt, %x, %y : f32
           "linalg_ext.yield"(%less) : (i1) -> ()
         }) {dimension = 0 : i64, is_stable = true,
           resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>, operandSegmentSizes =
           array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
         : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
after:
    %c = linalg.copy {cast = #linalg.type_fn<cast_signed>}
           ins(%a : tensor<2xf32>) outs(%o : tensor<2xf32>) -> tensor<2xf32>
    %x = tensor.extract %c[%c0] : tensor<2xf32>
    %y = tensor.extract %c[%c1] : tensor<2xf32>
    %less = arith.cmpf olt, %y, %x : f32
    %first = arith.select %less, %y, %x : f32
    %second = arith.select %less, %x, %y : f32
    %s = tensor.insert %first into %c[%c0] : tensor<2xf32>
    %r = tensor.insert %second into %s[%c1] : tensor<2xf32>

Many rows of a known length that is short are sorted at once, see `_lane_sort.py`. Other rows are
sorted one after another, see `_row_sort.py`; they are always the last dimension: another one is
transposed to there and back. Where slices read no more than the first few, these alone are found,
see `_row_select.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, linalg
from linalg_ext.structured.destination_ops import Sort
from linalg_ext.transforms.ir_utils.tensor_loops import (
    Demands,
    either,
    empty_like,
    extract_slice,
    insert_slice,
    nest,
    size_of,
    transposed,
)
from linalg_ext.transforms.ir_utils.walking import lowering_pass

from ._lane_sort import LaneSort
from ._row_select import RowSelect, count_of_first, is_worth_selecting
from ._row_sort import RowSort

NAME = "linalg-ext-lower-sort"
OP = "linalg_ext.sort"


@lowering_pass(NAME, OP)
def lower_sort(op: ir.Operation) -> list[Any]:
    """Lower linalg_ext.sort to loops that merge, or go by digits."""
    view = Sort.of(op)
    rank = ir.ShapedType(view.inputs[0].type).rank
    shape = [size_of(view.inputs[0], axis) for axis in range(rank)]
    demands = Demands(f"{OP}: the inputs and the destinations are of other shapes")
    for value in (*view.inputs[1:], *view.inits):
        for axis, size in enumerate(shape):
            demands.equal(size_of(value, axis), size)
    demands.emit()
    if 0 in shape:
        return list(view.inits)
    few = count_of_first(op, view)
    if few is not None and is_worth_selecting(few, shape[view.dimension]):
        return _selected(view, shape, few)
    lanes = LaneSort(view, shape)
    if not lanes.is_worth_it:
        return _in_rows(view, shape)
    if lanes.is_always:
        return lanes.sort(view.inputs, view.inits)
    return either(
        lanes.has_block(),
        lambda: lanes.sort(view.inputs, view.inits),
        lambda: _in_rows(view, shape),
        view.inits,
    )


def _in_rows(view: Sort, shape: Sequence[Any]) -> list[Any]:
    """Sort row by row, along the last dimension."""
    rank = len(shape)
    if view.dimension == rank - 1:
        return _rows(view, view.inputs, view.inits)
    # Along another dimension neighbours in a row are far apart in memory.
    order = [axis for axis in range(rank) if axis != view.dimension] + [view.dimension]
    back = [order.index(axis) for axis in range(rank)]
    sizes = [shape[axis] for axis in order]
    given = [transposed(value, empty_like(value.type, sizes), order) for value in view.inputs]
    found = _rows(view, given, [empty_like(value.type, sizes) for value in view.inputs])
    return [transposed(value, init, back) for value, init in zip(found, view.inits, strict=True)]


def _selected(view: Sort, shape: Sequence[Any], few: int) -> list[Any]:
    """The first few alone, for slices that read no more."""
    rank = len(shape)
    if view.dimension == rank - 1:
        return RowSelect(view.comparator, view.inputs, few).select()
    order = [axis for axis in range(rank) if axis != view.dimension] + [view.dimension]
    back = [order.index(axis) for axis in range(rank)]
    sizes = [shape[axis] for axis in order]
    given = [transposed(value, empty_like(value.type, sizes), order) for value in view.inputs]
    found = RowSelect(view.comparator, given, few).select()
    sizes = [few if axis == view.dimension else size for axis, size in enumerate(shape)]
    return [transposed(value, empty_like(value.type, sizes), back) for value in found]


def _rows(view: Sort, given: Sequence[Any], into: Sequence[Any]) -> list[Any]:
    """Sort along the last dimension."""
    *outer, size = (size_of(given[0], axis) for axis in range(given[0].type.rank))
    count = len(given)
    sorter = RowSort(view.comparator, count, size)
    if sorter.is_in_place:
        into = [linalg.copy(value, outs=[init]) for value, init in zip(given, into, strict=True)]
    scratch = sorter.scratch(given)

    def row(places: list[Any], carried: list[Any]) -> list[Any]:
        wholes, scratch = carried[:count], carried[count:]
        first, sizes = [*places, 0], [*[1] * len(outer), size]
        dropped = range(len(outer))

        def rows_of(tensors: Sequence[Any]) -> list[Any]:
            if not outer:
                return list(tensors)
            return [extract_slice(each, first, sizes, dropped) for each in tensors]

        rows = rows_of(wholes)
        made = sorter.sort(rows if sorter.is_in_place else rows_of(given), rows, scratch)
        if not outer:
            return made
        found = [
            insert_slice(new, whole, first, sizes)
            for new, whole in zip(made[:count], wholes, strict=True)
        ]
        return [*found, *made[count:]]

    return nest(outer, [*into, *scratch], row)[:count]
