"""The first few of rows in order, without sorting all of a row.

A buffer takes the elements that may be among them, in the order of the row: all at first, then only
those that come before the last one of the few found so far. Where it is nearly full it is sorted,
and all but the few are dropped. Elements that no longer matter are looked at as many at a time as
a vector has lanes. What comes neither way keeps its order, as in a sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, tensor, vector
from linalg_ext.structured.destination_ops import Sort
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.arithmetic import constant, index
from linalg_ext.transforms.ir_utils.tensor_loops import (
    add,
    compare,
    counted,
    either,
    empty_like,
    extract_slice,
    inlined,
    insert_slice,
    nest,
    size_of,
    sub,
)

from ._merge_sort import MergeSort
from ._vector_comparator import is_on_vectors, on_vectors, read_vector, width_in_vectors

_LEAST_CHUNK, _MOST_CHUNK = 32, 256
"""Elements that are looked at before the buffer may be sorted: as many as the few, within these."""

_MOST = 1024
"""The largest number of elements that are selected."""

_WORTH = 4
"""The least ratio of a row's length to the number of selected elements."""

_SHORTEST = 192
"""Rows that are shorter are sorted, many at once."""


def count_of_first(op: Any, view: Sort) -> int | None:
    """Return the number of first elements of each row that are used; None where it may be all."""
    most = 0
    for use in (use for result in op.results for use in result.uses):
        user = use.owner.operation
        if user.name != "tensor.extract_slice":
            return None
        offset, size, stride = (
            list(ir.DenseI64ArrayAttr(user.attributes[f"static_{name}"]))[view.dimension]
            for name in ("offsets", "sizes", "strides")
        )
        if offset != 0 or stride != 1 or size < 0:
            return None
        most = max(most, size)
    return most


def is_worth_selecting(few: int | None, size: Any) -> bool:
    """Return whether finding that many elements of a row takes less time than sorting it."""
    if few is None or not 1 <= few <= _MOST:
        return False
    return not isinstance(size, int) or size >= max(_SHORTEST, _WORTH * few)


class RowSelect:
    """Finds the first `few` elements of rows, the last dimension.

    Args:
        comparator: a block of two elements (a, b) of each tensor that yields whether a comes first.
        given: the tensors.
        few: at least 1.
    """

    def __init__(self, comparator: Any, given: Sequence[Any], few: int) -> None:
        self._comparator = comparator
        self._given = given
        self._few = few
        self._chunk = max(_LEAST_CHUNK, min(_MOST_CHUNK, 1 << (few - 1).bit_length()))
        self._room = 2 * few + 2 * self._chunk
        *self._outer, self._size = (
            size_of(given[0], axis) for axis in range(ir.ShapedType(given[0].type).rank)
        )
        elements = [ir.ShapedType(value.type).element_type for value in given]
        arguments = list(comparator.arguments)
        self._is_key = [
            any(len(list(argument.uses)) for argument in arguments[2 * at : 2 * at + 2])
            for at in range(len(given))
        ]
        widths = [
            width_in_vectors(element)
            for element, is_key in zip(elements, self._is_key, strict=True)
            if is_key
        ]
        known = [width for width in widths if width is not None]
        self._lanes = 1
        if known and len(known) == len(widths) and is_on_vectors(comparator):
            self._lanes = max(2, min(_LEAST_CHUNK, current().vector_bits // min(known)))

    def select(self) -> list[Any]:
        """The first of all rows, as new tensors."""
        count = len(self._given)
        results = [empty_like(each.type, [*self._outer, self._few]) for each in self._given]
        scratch = [empty_like(each.type, [self._room]) for each in [*self._given] * 2]

        def row(places: list[Any], carried: list[Any]) -> list[Any]:
            wholes, buffers, spare = (carried[at : at + count] for at in (0, count, 2 * count))
            first, outer = [*places, 0], [1] * len(self._outer)
            given = [
                extract_slice(each, first, [*outer, self._size], range(len(outer)))
                for each in self._given
            ]
            buffers, spare = self._first_of(given, buffers, spare)
            sizes = [*outer, self._few]
            found = [
                insert_slice(extract_slice(buffer, [0], [self._few]), whole, first, sizes)
                for buffer, whole in zip(buffers, wholes, strict=True)
            ]
            return [*found, *buffers, *spare]

        return nest(self._outer, [*results, *scratch], row)[:count]

    def _first_of(
        self, given: Sequence[Any], buffers: Sequence[Any], spare: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The buffers, the first of a row sorted in front."""
        count = len(given)
        size = self._size
        is_full = constant(ir.IntegerType.get_signless(1), 0)
        # Until the buffer was full all are taken, whatever they are compared with.
        limits = [constant(ir.ShapedType(each.type).element_type, 0) for each in buffers]

        def chunk(number: Any, carried: list[Any]) -> list[Any]:
            taken, is_full, *rest = carried
            limits, both = rest[:count], rest[count:]
            start = arith.muli(number, index(self._chunk))
            end = arith.minsi(add(start, self._chunk), index(size))
            buffers, spare = both[:count], both[count:]
            taken, *buffers = self._taken(given, start, end, is_full, limits, [taken, *buffers])
            state = [taken, is_full, *limits, *buffers, *spare]
            # One place sorts: behind the last chunk, too.
            is_nearly_full = compare("sgt", taken, self._room - self._chunk)
            is_done = arith.ori(is_nearly_full, compare("eq", end, size))
            return either(is_done, lambda: self._dropped(state), lambda: state, state)

        chunks = arith.divui(index(add(size, self._chunk - 1)), index(self._chunk))
        state = [index(0), is_full, *limits, *buffers, *spare]
        _, _, *rest = counted(0, chunks, state, chunk)
        return rest[count : 2 * count], rest[2 * count :]

    def _dropped(self, state: Sequence[Any]) -> list[Any]:
        """All but the few dropped; the last of them is the limit from now on."""
        count = len(self._given)
        taken, is_full, *rest = state
        both = MergeSort(self._comparator, count, taken).sort(
            rest[count : 2 * count], rest[2 * count :]
        )
        limits = [tensor.extract(each, [index(self._few - 1)]) for each in both[:count]]
        return [index(self._few), constant(is_full.type, 1), *limits, *both]

    def _taken(
        self,
        given: Sequence[Any],
        start: Any,
        end: Any,
        is_full: Any,
        limits: Sequence[Any],
        carried: list[Any],
    ) -> list[Any]:
        """Append the elements of a chunk that come before the limit to the buffers."""

        def one(place: Any, carried: list[Any]) -> list[Any]:
            taken, *buffers = carried
            elements = [tensor.extract(each, [place]) for each in given]
            pairs = [each for pair in zip(elements, limits, strict=True) for each in pair]
            (is_before,) = inlined(self._comparator, pairs)
            is_taken = arith.select(is_full, is_before, constant(is_before.type, 1))
            # What is not taken is written over by the next one.
            buffers = [
                tensor.insert(element, buffer, [taken])
                for element, buffer in zip(elements, buffers, strict=True)
            ]
            return [add(taken, arith.select(is_taken, index(1), index(0))), *buffers]

        if self._lanes == 1:
            return counted(start, end, carried, one)
        lanes = self._lanes
        whole = arith.divui(sub(end, start), index(lanes))

        def some(number: Any, carried: list[Any]) -> list[Any]:
            first = add(start, arith.muli(number, index(lanes)))
            pairs: list[Any] = []
            for each, limit, is_key in zip(given, limits, self._is_key, strict=True):
                if not is_key:
                    pairs += [None, None]
                    continue
                row = read_vector(each, [first], lanes)
                pairs += [row, vector.broadcast(row.type, limit)]
            are_before = on_vectors(self._comparator, pairs, lanes)
            is_any = vector.reduction(is_full.type, vector.CombiningKind.OR, are_before)
            is_taken = arith.select(is_full, is_any, constant(is_full.type, 1))
            stop = add(first, lanes)
            return either(
                is_taken, lambda: counted(first, stop, carried, one), lambda: carried, carried
            )

        carried = counted(0, whole, carried, some)
        return counted(add(start, arith.muli(whole, index(lanes))), end, carried, one)
