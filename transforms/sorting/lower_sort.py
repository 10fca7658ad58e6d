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
sorted one after another: short ones by merges (`_merge_sort.py`), long ones by digits where the
comparator has keys (`_radix_sort.py`). They are always the last dimension: another one is
transposed to there and back. Where slices read no more than the first few, or the last, these alone
are found (`RowSelect` in `_merge_sort.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.destination_ops import Sort
from linalg_ext.structured.loops import either, nest_over
from linalg_ext.structured.operands import replace_operands
from linalg_ext.transforms.ir_utils.tensor_loops import (
    Demands,
    compare,
    empty_like,
    extract_slice,
    insert_slice,
    size_of,
    sizes_of,
    transposed,
)
from linalg_ext.transforms.ir_utils.walking import lowering_pass

from ._lane_sort import LaneSort
from ._merge_sort import Few, MergeSort, RowSelect, is_worth_selecting, used_of
from ._radix_sort import RadixSort, copied, keys_of

NAME = "linalg-ext-lower-sort"
OP = "linalg_ext.sort"


@lowering_pass(NAME, OP)
def lower_sort(op: ir.Operation) -> list[Any]:
    """Lower linalg_ext.sort to loops that merge, or go by digits."""
    view = Sort.of(op)
    shape = sizes_of(view.inputs[0])
    demands = Demands(f"{OP}: the inputs and the destinations are of other shapes")
    for value in (*view.inputs[1:], *view.inits):
        for axis, size in enumerate(shape):
            demands.equal(size_of(value, axis), size)
    demands.emit()
    if 0 in shape:
        return list(view.inits)
    used = used_of(op, view)
    if used is not None and is_worth_selecting(used, shape[view.dimension]):
        return _selected(op, view, shape, used)
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
    if view.dimension == len(shape) - 1:
        return _rows(view, view.inputs, view.inits)
    # Along another dimension neighbours in a row are far apart in memory.
    inputs, sizes = _with_rows_last(view, shape)
    sorted_ = _rows(view, inputs, [empty_like(value.type, sizes) for value in inputs])
    return _moved_back(view, sorted_, view.inits)


def _selected(op: Any, view: Sort, shape: Sequence[Any], used: Few) -> list[Any]:
    """Find a few elements of each row alone, for slices that read no more."""
    block = view.comparator
    if used.are_last:
        _count_from(op, view.dimension, shape[view.dimension] - used.count)
        arguments = list(block.arguments)
        opposite: dict[ir.Value, ir.Value] = {
            argument: arguments[number ^ 1] for number, argument in enumerate(arguments)
        }
        for inner in block.operations:  # the op is gone in a moment
            replace_operands(inner.operation, opposite)
    if view.dimension == len(shape) - 1:
        return RowSelect(block, view.inputs, used).select()
    inputs, _ = _with_rows_last(view, shape)
    few = RowSelect(block, inputs, used).select()
    sizes = [used.count if axis == view.dimension else size for axis, size in enumerate(shape)]
    return _moved_back(view, few, (empty_like(value.type, sizes) for value in few))


def _count_from(op: Any, dimension: int, first: int) -> None:
    """Have the slices of an op's results count from an element of each row."""
    for user in [use.owner.operation for result in op.results for use in result.uses]:
        offsets = list(ir.DenseI64ArrayAttr(user.attributes["static_offsets"]))
        offsets[dimension] -= first
        user.attributes["static_offsets"] = ir.DenseI64ArrayAttr.get(offsets)


def _with_rows_last(view: Sort, shape: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the inputs with the sorted dimension last, and their shape."""
    order = _rows_last(view.dimension, len(shape))
    sizes = [shape[axis] for axis in order]
    inputs = [transposed(value, empty_like(value.type, sizes), order) for value in view.inputs]
    return inputs, sizes


def _moved_back(view: Sort, tensors: Sequence[Any], inits: Iterable[Any]) -> list[Any]:
    order = _rows_last(view.dimension, tensors[0].type.rank)
    back = [order.index(axis) for axis in range(len(order))]
    return [transposed(value, init, back) for value, init in zip(tensors, inits, strict=True)]


def _rows_last(dimension: int, rank: int) -> list[int]:
    return [axis for axis in range(rank) if axis != dimension] + [dimension]


def _rows(view: Sort, inputs: Sequence[Any], into: Sequence[Any]) -> list[Any]:
    *outer, size = sizes_of(inputs[0])
    count = len(inputs)
    sorter = _RowSort(view.comparator, count, size)
    if sorter.is_in_place:
        into = copied(inputs, into)
    scratch = sorter.scratch(inputs)

    def row(indices: list[Any], carried: list[Any]) -> list[Any]:
        wholes, scratch = carried[:count], carried[count:]
        first, sizes = [*indices, 0], [*[1] * len(outer), size]

        def rows_of(tensors: Sequence[Any]) -> list[Any]:
            if not outer:
                return list(tensors)
            return [extract_slice(value, first, sizes, range(len(outer))) for value in tensors]

        rows = rows_of(wholes)
        results = sorter.sort(rows if sorter.is_in_place else rows_of(inputs), rows, scratch)
        if not outer:
            return results
        sorted_ = [
            insert_slice(new, whole, first, sizes)
            for new, whole in zip(results[:count], wholes, strict=True)
        ]
        return [*sorted_, *results[count:]]

    return nest_over(outer, [*into, *scratch], row)[:count]


class _RowSort:
    """Sorts rows of one length, a number or a value of type index, of `count` tensors together."""

    def __init__(self, comparator: Any, count: int, size: Any) -> None:
        self._size = size
        self._merges = MergeSort(comparator, count, size)
        keys = keys_of(comparator)
        self._digits = RadixSort(comparator, keys, count, size) if keys else None
        if isinstance(size, int) and self._digits is not None and size < self._digits.least_size:
            self._digits = None

    def scratch(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the scratch tensors, made at the insertion point."""
        if not self._merges.needs_spare:
            return []
        spare = [empty_like(value.type, [self._size]) for value in inputs]
        if self._digits is None:
            return spare
        table = ir.RankedTensorType.get([self._digits.table_size], ir.IndexType.get())
        return [*spare, empty_like(table, [self._digits.table_size])]

    @property
    def is_in_place(self) -> bool:
        """True where the elements must already be where the sorted rows go."""
        return self._digits is None

    def sort(self, inputs: Sequence[Any], rows: Sequence[Any], scratch: Sequence[Any]) -> list[Any]:
        """Return `inputs` sorted, in the place of `rows`; and the scratch, as it is then."""
        digits = self._digits
        if digits is None:
            return self._merges.sort(rows, scratch)
        *spare, table = scratch

        def by_digits() -> list[Any]:
            return digits.sort(inputs, rows, spare, table)

        if isinstance(self._size, int):
            return by_digits()
        return either(
            compare("sge", self._size, digits.least_size),
            by_digits,
            lambda: [*self._merges.sort(copied(inputs, rows), spare), table],
            [*rows, *scratch],
        )
