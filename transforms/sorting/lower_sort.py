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
transposed to there and back. Where slices read a few places of a row these alone are found: the
first or the last ones (`_first_few.py`), or any (`_digit_select.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.destination_ops import Sort
from linalg_ext.structured.loops import either, nest_over
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

from . import _digit_select, _first_few
from ._digit_select import DigitSelect
from ._first_few import FirstFew
from ._lane_sort import LaneSort
from ._merge_sort import MergeSort
from ._radix_sort import RadixSort, Word, copied, keys_of, word_of
from ._row_select import Places, Selector, length_of, read_from, select, used_places

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
    lanes = LaneSort(view, shape)
    ways = _selectors(op, view, shape[view.dimension], in_lanes=lanes.is_worth_it)
    if ways is not None:
        return _chosen(op, view, shape, ways)
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


_MOST_ENDS = 4
"""Parts near the ends of a row that are found, each by code of its own."""

_MakeSelector = Callable[[Sequence[Any]], Selector]
"""Makes a selector from tensors whose last dimension is a row."""


def _selectors(
    op: ir.Operation, view: Sort, size: Any, *, in_lanes: bool
) -> list[_MakeSelector] | None:
    """Return selectors of the places of a row that are read; None where a sort takes less time."""
    used = used_places(op, view.dimension)
    if used is None:
        return None
    word = word_of(view.comparator)

    def few(places: Places) -> _MakeSelector | None:
        return _few(view.comparator, word, places, size)

    together = few(Places(used[0].begin, used[-1].end))
    if together is not None:
        return [together]
    at_ends = {places: selector for places in used if (selector := few(places)) is not None}
    between = [places for places in used if places not in at_ends]
    if len(at_ends) > _MOST_ENDS:
        return None
    if not between:
        return [*at_ends.values()]
    if word is None or not _digit_select.is_worth_it(word, between, size, in_lanes=in_lanes):
        return None
    return [
        *at_ends.values(),
        lambda inputs: DigitSelect(view.comparator, word, inputs, between),
    ]


def _few(comparator: Any, word: Word | None, places: Places, size: Any) -> _MakeSelector | None:
    """Return a selector of places among the first few of each row, or the last."""
    if word is not None and isinstance(size, int) and _digit_select.is_better(word, places, size):
        return None
    if _first_few.is_worth_it(places.end, size):
        return lambda inputs: FirstFew(comparator, inputs, places.end, are_last=False)
    from_end = size - places.begin if isinstance(size, int) else 0
    if _first_few.is_worth_it(from_end, size):
        return lambda inputs: FirstFew(comparator, inputs, from_end, are_last=True)
    return None


def _chosen(
    op: ir.Operation, view: Sort, shape: Sequence[Any], ways: Sequence[_MakeSelector]
) -> list[Any]:
    """Find the places of each row that slices read, and no more."""
    is_moved = view.dimension != len(shape) - 1
    inputs = _with_rows_last(view, shape)[0] if is_moved else view.inputs
    selectors = [way(inputs) for way in ways]
    places = [places for selector in selectors for places in selector.places]
    read_from(op, view.dimension, places)
    few = select(selectors, inputs)
    if not is_moved:
        return few
    count = length_of(selectors)
    sizes = [count if axis == view.dimension else size for axis, size in enumerate(shape)]
    return _moved_back(view, few, (empty_like(value.type, sizes) for value in few))


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
