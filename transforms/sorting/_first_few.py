"""The first few elements of a row, or the last, without sorting all of it.

A buffer takes the elements that may be among them, in the order of the row: all at first, then only
those that come before the last one of the few found so far. Where it is nearly full it is sorted,
and all but the few are dropped. Elements that no longer matter are looked at as many at a time as a
vector has lanes. Equal elements keep their order, as in a sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, tensor, vector
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted, either
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.tensor_loops import (
    add,
    compare,
    empty_like,
    extract_slice,
    sizes_of,
    sub,
)

from ._merge_sort import MergeSort, comes_before
from ._radix_sort import elements_at, inserted
from ._row_select import Lanes, Places

_LEAST_CHUNK, _MOST_CHUNK = 32, 256
"""Elements that are looked at before the buffer may be sorted: as many as the few, within these."""

_MOST = 1024
"""The largest number of elements that are selected."""

_WORTH = 4
"""The least ratio of a row's length to the number of selected elements."""

_SHORTEST = 192
"""Rows that are shorter are sorted, many at once."""


def is_worth_it(count: int, size: Any) -> bool:
    """Return whether finding that many elements of a row takes less time than sorting it."""
    if not 1 <= count <= _MOST:
        return False
    return not isinstance(size, int) or size >= max(_SHORTEST, _WORTH * count)


class FirstFew:
    """Finds a few elements of rows, and puts them in order.

    The last ones are the first of the row read backwards, in the opposite order: of equal elements
    those that come last are found, as a stable sort would have it.

    Args:
        comparator: a block of two elements (a, b) of each tensor that yields whether a comes first.
        inputs: the tensors, whose last dimension is a row.
        count: the number of elements that are found, at least one.
        are_last: whether these are the last of a row, whose length is known then.

    Attributes:
        places: those whose elements are found.
    """

    def __init__(
        self, comparator: Any, inputs: Sequence[Any], count: int, *, are_last: bool
    ) -> None:
        self._comparator = comparator
        self._inputs = inputs
        self._is_backwards = are_last
        self._few = count
        self._chunk = max(_LEAST_CHUNK, min(_MOST_CHUNK, 1 << (count - 1).bit_length()))
        self._room = 2 * count + 2 * self._chunk
        self._size = sizes_of(inputs[0])[-1]
        self._lanes = Lanes(comparator, inputs)
        begin = self._size - count if are_last else 0
        self.places = [Places(begin, begin + count)]

    def scratch(self) -> list[Any]:
        """Return a buffer for each tensor, and a spare one."""
        return [empty_like(value.type, [self._room]) for value in [*self._inputs] * 2]

    def find(self, row: Sequence[Any], scratch: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the first of a row in order, and the scratch as it is then."""
        count = len(row)
        buffers, spare = self._first_of(row, scratch[:count], scratch[count:])
        return [self._in_order(buffer) for buffer in buffers], [*buffers, *spare]

    def _in_order(self, buffer: Any) -> Any:
        """Return the few at the front of a buffer as they are in the sorted row."""
        few = extract_slice(buffer, [0], [self._few])
        if not self._is_backwards:
            return few

        def turned(place: Any, carried: list[Any]) -> list[Any]:
            opposite = sub(index(self._few - 1), place)
            return [tensor.insert(tensor.extract(few, [opposite]), carried[0], [place])]

        return counted(0, self._few, [empty_like(buffer.type, [self._few])], turned)[0]

    def _first_of(
        self, inputs: Sequence[Any], buffers: Sequence[Any], spare: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the buffers, the first of a row sorted in front."""
        count = len(inputs)
        size = self._size
        is_full = constant(ir.IntegerType.get_signless(1), 0)
        # All elements are taken until the buffer is full: these limits are never compared.
        limits = [constant(ir.ShapedType(buffer.type).element_type, 0) for buffer in buffers]

        def chunk(number: Any, carried: list[Any]) -> list[Any]:
            filled, is_full, *rest = carried
            limits, both = rest[:count], rest[count:]
            start = arith.muli(number, index(self._chunk))
            end = arith.minsi(add(start, self._chunk), index(size))
            buffers, spare = both[:count], both[count:]
            filled, *buffers = self._append_chunk(
                inputs, start, end, is_full, limits, [filled, *buffers]
            )
            state = [filled, is_full, *limits, *buffers, *spare]
            # One place sorts: behind the last chunk, too.
            is_nearly_full = compare("sgt", filled, self._room - self._chunk)
            is_done = arith.ori(is_nearly_full, compare("eq", end, size))
            return either(is_done, lambda: self._dropped(state), lambda: state, state)

        chunks = arith.divui(index(add(size, self._chunk - 1)), index(self._chunk))
        state = [index(0), is_full, *limits, *buffers, *spare]
        _, _, *rest = counted(0, chunks, state, chunk)
        return rest[count : 2 * count], rest[2 * count :]

    def _dropped(self, state: Sequence[Any]) -> list[Any]:
        """Drop all but the few; the last of them is the next limit."""
        count = len(self._inputs)
        filled, is_full, *rest = state
        size = arith.minsi(filled, index(self._room))  # which bounds the loops
        if self._few == 1:
            both = [*self._first_in_front(rest[count : 2 * count], size), *rest[2 * count :]]
        else:
            sorter = MergeSort(self._comparator, count, size, is_opposite=self._is_backwards)
            both = sorter.sort(rest[count : 2 * count], rest[2 * count :])
        limits = elements_at(both[:count], index(self._few - 1))
        return [index(self._few), constant(is_full.type, 1), *limits, *both]

    def _first_in_front(self, buffers: Sequence[Any], size: Any) -> list[Any]:
        """Return buffers with the first of their elements in order as the first in memory."""

        def choose(place: Any, first: list[Any]) -> list[Any]:
            elements = elements_at(buffers, place)
            is_before = self._comes_before(elements, first)
            pairs = zip(elements, first, strict=True)
            return [arith.select(is_before, element, other) for element, other in pairs]

        zero = index(0)
        first = counted(1, size, elements_at(buffers, zero), choose)
        return inserted(first, buffers, zero)

    def _comes_before(self, elements: Sequence[Any], limits: Sequence[Any]) -> Any:
        return comes_before(self._comparator, *self._in_turn(elements, limits))

    def _in_turn(
        self, elements: Sequence[Any], limits: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return elements and limits so that the left comes first if the elements are taken."""
        return (limits, elements) if self._is_backwards else (elements, limits)

    def _append_chunk(
        self,
        inputs: Sequence[Any],
        start: Any,
        end: Any,
        is_full: Any,
        limits: Sequence[Any],
        carried: list[Any],
    ) -> list[Any]:
        """Append the elements of a chunk that come before the limit to the buffers."""

        def place(position: Any, count: int) -> Any:
            """Return where in a row as many elements from a position on begin."""
            return sub(sub(self._size, count), position) if self._is_backwards else position

        def append(position: Any, carried: list[Any]) -> list[Any]:
            filled, *buffers = carried
            elements = elements_at(inputs, place(position, 1))
            is_before = self._comes_before(elements, limits)
            is_taken = arith.select(is_full, is_before, constant(is_before.type, 1))
            # The next element overwrites one that is not taken.
            buffers = inserted(elements, buffers, filled)
            return [add(filled, arith.select(is_taken, index(1), index(0))), *buffers]

        lanes = self._lanes.count
        if lanes == 1:
            return counted(start, end, carried, append)
        whole = arith.divui(sub(end, start), index(lanes))

        def some(number: Any, carried: list[Any]) -> list[Any]:
            first = add(start, arith.muli(number, index(lanes)))
            elements = self._lanes.read(inputs, place(first, lanes))
            are_before = self._lanes.come_before(*self._in_turn(elements, limits))
            is_any = vector.reduction(is_full.type, vector.CombiningKind.OR, are_before)
            is_taken = arith.select(is_full, is_any, constant(is_full.type, 1))
            stop = add(first, lanes)
            return either(
                is_taken, lambda: counted(first, stop, carried, append), lambda: carried, carried
            )

        carried = counted(0, whole, carried, some)
        return counted(add(start, arith.muli(whole, index(lanes))), end, carried, append)
