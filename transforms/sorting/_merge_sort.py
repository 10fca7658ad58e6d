"""A stable merge sort of rows, built in IR by a comparator, and the choice of their first few.

Blocks of 8 are sorted first, then runs are merged.

A block is sorted by a network that compares neighbours alone, without a branch: it is stable. Runs
are merged in pairs from one buffer into another and back again, an even number of times, so that
the row ends where it was. Of the 2^l runs of level l, run q begins at block `q * blocks >> l`:
halves are of one length but for a block, at every level, whatever the length of the row.

Two runs are merged from both ends at once. Each end takes as many elements as the shorter run has,
so neither compares with the end of a run, and the two do not wait for each other. The surplus of
the longer run remains between them. If both ends took the same element, the comparator is not an
order. The runs are then merged again from the front alone, so that no element is lost.

The first few of a row are found without sorting all of it. A buffer takes the elements that may be
among them, in the order of the row: all at first, then only those that come before the last one of
the few found so far. Where it is nearly full it is sorted, and all but the few are dropped.
Elements that no longer matter are looked at as many at a time as a vector has lanes. Equal elements
keep their order, as in a sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, math, tensor, vector
from linalg_ext.structured.constants import index
from linalg_ext.structured.destination_ops import Sort
from linalg_ext.structured.loops import counted, either, nest_over
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.tensor_loops import (
    add,
    compare,
    empty_like,
    extract_slice,
    inlined,
    insert_slice,
    sizes_of,
    sub,
)

from ._lane_sort import is_on_vectors, on_vectors, read_vector, swapped, width_in_vectors
from ._radix_sort import elements_at

BLOCK = 8

_NEAR = 12
"""Runs of 2^12 blocks are merged to the end before the next are begun: they stay in a cache."""


class MergeSort:
    """Sorts rows of one length.

    Args:
        comparator: a block of two elements (a, b) of each tensor that yields whether a comes first.
        count: how many tensors are moved together.
        size: of a row: a number, or a value of type index.
    """

    def __init__(self, comparator: Any, count: int, size: Any) -> None:
        self._comparator = comparator
        self._count = count
        self._is_key = _are_read(comparator)
        self._size = size

    @property
    def needs_spare(self) -> bool:
        """Return whether a row may be longer than a block."""
        return not (isinstance(self._size, int) and self._size <= BLOCK)

    def sort(self, rows: Sequence[Any], spare: Sequence[Any]) -> list[Any]:
        """Sort rows in place with spare rows of their length; return both."""
        rows = self._blocks(rows)
        if not self.needs_spare:
            return [*rows]
        blocks, pairs = self._extent()
        near = arith.minsi(index(pairs), index(_NEAR // 2))
        far = arith.maxsi(index(sub(pairs, _NEAR // 2)), index(0))
        top = arith.shli(far, index(1))
        groups = arith.shli(index(1), top)

        def group(number: Any, carried: list[Any]) -> list[Any]:
            # The last round merges the runs of the others. One loop: the code is there once.
            is_last = compare("eq", number, groups)
            zero = index(0)
            from_level = arith.select(is_last, zero, top)
            run = arith.select(is_last, zero, number)
            return self._passes(carried, blocks, from_level, run, arith.select(is_last, far, near))

        return counted(0, add(groups, 1), [*rows, *spare], group)

    def _extent(self) -> tuple[Any, Any]:
        """Return the number of blocks in a row, and the number of merging passes there and back."""
        if isinstance(self._size, int):
            count = -(-self._size // BLOCK)
            return count, ((count - 1).bit_length() + 1) // 2
        i64 = ir.IntegerType.get_signless(64)
        blocks = arith.shrui(add(self._size, BLOCK - 1), index(3))
        before = arith.maxsi(sub(blocks, 1), index(0))
        zeros = math.ctlz(arith.index_cast(i64, before))
        levels = sub(64, arith.index_cast(ir.IndexType.get(), zeros))
        return blocks, arith.shrui(add(levels, 1), index(1))

    def _passes(self, both: list[Any], blocks: Any, top: Any, run: Any, pairs: Any) -> list[Any]:
        """Sort a run of level `top`, whose runs are sorted `2 * pairs` levels further down."""

        def pass_pair(number: Any, carried: list[Any]) -> list[Any]:
            rows, spare = carried[: self._count], carried[self._count :]
            depth = arith.shli(sub(pairs, number), index(1))
            spare = self._level(rows, spare, blocks, top, run, depth)
            rows = self._level(spare, rows, blocks, top, run, sub(depth, 1))
            return [*rows, *spare]

        return counted(0, pairs, both, pass_pair)

    def _blocks(self, rows: Sequence[Any]) -> list[Any]:
        size: Any = self._size
        rows = list(rows)
        if not self.needs_spare:
            return self._network(rows, 0, size)
        whole: Any = size // BLOCK if isinstance(size, int) else arith.shrui(size, index(3))

        def block(number: Any, carried: list[Any]) -> list[Any]:
            return self._network(carried, arith.muli(number, index(BLOCK)), BLOCK)

        rows = counted(0, whole, rows, block)
        if isinstance(size, int):
            return self._network(rows, size - size % BLOCK, size % BLOCK)
        return self._rest(rows, arith.muli(whole, index(BLOCK)))

    def _network(self, rows: list[Any], start: Any, length: int) -> list[Any]:
        """Sort a few elements in registers: each sinks past all neighbours that it may pass."""
        if length < 2:
            return rows
        positions = [index(add(start, offset)) for offset in range(length)]
        values = [elements_at(rows, position) for position in positions]
        for last in range(1, length):
            for second in range(last, 0, -1):
                pair = slice(second - 1, second + 1)
                values[pair] = self._exchanged(*values[pair])
        for number in range(len(rows)):
            for position, elements in zip(positions, values, strict=True):
                rows[number] = tensor.insert(elements[number], rows[number], [position])
        return rows

    def _rest(self, rows: list[Any], start: Any) -> list[Any]:
        """Return the elements from `start` on, fewer than a block, sorted in place."""

        def sink(last: Any, carried: list[Any]) -> list[Any]:
            def step(number: Any, inner: list[Any]) -> list[Any]:
                upper = sub(last, number)
                positions = [sub(upper, 1), upper]
                pair = (elements_at(inner, position) for position in positions)
                for position, elements in zip(positions, self._exchanged(*pair), strict=True):
                    inner = self._stored(elements, inner, position)
                return inner

            return counted(0, sub(last, start), carried, step)

        return counted(add(start, 1), self._size, rows, sink)

    def _exchanged(self, first: list[Any], second: list[Any]) -> tuple[list[Any], list[Any]]:
        """Put two elements in order; they stay where neither comes before the other."""
        return swapped(self._comes_before(second, first), first, second)

    def _comes_before(self, left: Sequence[Any], right: Sequence[Any]) -> Any:
        elements = [element for pair in zip(left, right, strict=True) for element in pair]
        return inlined(self._comparator, elements)[0]

    def _level(
        self, source: list[Any], target: list[Any], blocks: Any, top: Any, run: Any, depth: Any
    ) -> list[Any]:
        """Merge pairs of runs, `depth` levels below a run of level `top`."""
        level = add(top, depth)
        above = sub(depth, 1)

        def boundary(number: Any) -> Any:
            block = arith.shrui(arith.muli(number, index(blocks)), level)
            return arith.minsi(arith.muli(block, index(BLOCK)), index(self._size))

        def pair(number: Any, carried: list[Any]) -> list[Any]:
            first = arith.shli(number, index(1))
            start, middle, end = (boundary(add(first, offset)) for offset in range(3))
            return self._merged(source, carried, start, middle, end)

        first, stop = (arith.shli(number, above) for number in (run, add(run, 1)))
        return counted(first, stop, target, pair)

    def _merged(
        self, source: list[Any], target: list[Any], start: Any, middle: Any, end: Any
    ) -> list[Any]:
        shorter = arith.minsi(sub(middle, start), sub(end, middle))
        last = sub(end, 1)

        def step(number: Any, carried: list[Any]) -> list[Any]:
            left, right, left_end, right_end, *written = carried
            elements, is_right = self._next_element(source, left, right, is_last=False)
            written = self._stored(elements, written, add(start, number))
            left, right = _advanced(left, right, is_right, 1)
            elements, is_left = self._next_element(source, left_end, right_end, is_last=True)
            written = self._stored(elements, written, sub(last, number))
            right_end, left_end = _advanced(right_end, left_end, is_left, -1)
            return [left, right, left_end, right_end, *written]

        ends = [start, middle, sub(middle, 1), last]
        left, right, left_end, right_end, *written = counted(0, shorter, [*ends, *target], step)
        is_overlapping = arith.ori(
            compare("sgt", left, add(left_end, 1)), compare("sgt", right, add(right_end, 1))
        )
        left, right, left_end, right_end, first, stop = (
            arith.select(is_overlapping, whole, rest)
            for whole, rest in (
                *zip(ends, (left, right, left_end, right_end), strict=True),
                (start, add(start, shorter)),
                (end, sub(end, shorter)),
            )
        )

        def remaining(position: Any, carried: list[Any]) -> list[Any]:
            left, right, *written = carried
            has_left = compare("sle", left, left_end)
            has_right = compare("sle", right, right_end)
            # A run without elements left may be read from anywhere.
            heads = arith.minsi(left, last), arith.minsi(right, last)
            right_one, left_one = (elements_at(source, head) for head in reversed(heads))
            taken_right = self._comes_before(right_one, left_one)
            is_right = arith.select(has_left, arith.andi(has_right, taken_right), has_right)
            head = arith.select(is_right, right, left)
            written = self._stored(elements_at(source, head), written, position)
            return [*_advanced(left, right, is_right, 1), *written]

        return counted(first, stop, [left, right, *written], remaining)[2:]

    def _next_element(
        self, source: list[Any], left: Any, right: Any, *, is_last: bool
    ) -> tuple[list[Any], Any]:
        """Return the one of two elements that comes first, or last, and whether the right is first.

        Of equal elements the left one comes first.
        """
        a, b = (elements_at(source, position) for position in (left, right))
        is_right_first = self._comes_before(b, a)
        sides = (left, a), (right, b)
        (place, first), (other_place, second) = sides if is_last else sides[::-1]
        position = arith.select(is_right_first, place, other_place)
        # Elements that the comparator does not read are read after it.
        elements = [
            arith.select(is_right_first, first[number], second[number])
            if is_key
            else tensor.extract(source[number], [position])
            for number, is_key in enumerate(self._is_key)
        ]
        return elements, is_right_first

    def _stored(self, elements: Sequence[Any], rows: Sequence[Any], position: Any) -> list[Any]:
        return [
            tensor.insert(element, row, [index(position)])
            for element, row in zip(elements, rows, strict=True)
        ]


def _advanced(left: Any, right: Any, is_right: Any, step: int) -> tuple[Any, Any]:
    """Return both positions, with the one of the side that was taken from advanced by `step`."""
    by_right = arith.select(is_right, index(step), index(0))
    return add(left, sub(step, by_right)), add(right, by_right)


def _are_read(comparator: Any) -> list[bool]:
    """Return for each tensor whether the comparator reads its elements."""
    used = [any(True for _ in argument.uses) for argument in comparator.arguments]
    return [any(pair) for pair in zip(used[::2], used[1::2], strict=True)]


_LEAST_CHUNK, _MOST_CHUNK = 32, 256
"""Elements that are looked at before the buffer may be sorted: as many as the few, within these."""

_MOST = 1024
"""The largest number of elements that are selected."""

_WORTH = 4
"""The least ratio of a row's length to the number of selected elements."""

_SHORTEST = 192
"""Rows that are shorter are sorted, many at once."""


@dataclass(frozen=True)
class Few:
    """The elements of each row that are used: the first or the last of them, in order."""

    count: int
    are_last: bool = False


def used_of(op: Any, view: Sort) -> Few | None:
    """Return the elements of each row that are used; None where it may be all."""
    size = ir.ShapedType(view.inputs[0].type).shape[view.dimension]
    begin, end = size, 0
    for use in (use for result in op.results for use in result.uses):
        user = use.owner.operation
        if user.name != "tensor.extract_slice":
            return None
        offset, length, stride = (
            list(ir.DenseI64ArrayAttr(user.attributes[f"static_{name}"]))[view.dimension]
            for name in ("offsets", "sizes", "strides")
        )
        if min(offset, length) < 0 or stride != 1:
            return None
        begin, end = min(begin, offset), max(end, offset + length)
    if size >= 0 and size - begin < end:
        return Few(size - begin, are_last=True)
    return Few(end)


def is_worth_selecting(few: Few, size: Any) -> bool:
    """Return whether finding that many elements of a row takes less time than sorting it."""
    if not 1 <= few.count <= _MOST:
        return False
    return not isinstance(size, int) or size >= max(_SHORTEST, _WORTH * few.count)


class RowSelect:
    """Finds a few elements of rows, the last dimension, and puts them in order.

    The last ones are the first of the row read backwards, in the opposite order: of equal elements
    those that come last are kept, as a stable sort would have it.

    Args:
        comparator: a block of two elements (a, b) of each tensor that yields whether a comes first;
            for the last ones, whether it comes last.
        inputs: the tensors.
        used: the elements that are found, at least one.
    """

    def __init__(self, comparator: Any, inputs: Sequence[Any], used: Few) -> None:
        self._comparator = comparator
        self._inputs = inputs
        self._is_backwards = used.are_last
        self._few = few = used.count
        self._chunk = max(_LEAST_CHUNK, min(_MOST_CHUNK, 1 << (few - 1).bit_length()))
        self._room = 2 * few + 2 * self._chunk
        *self._outer, self._size = sizes_of(inputs[0])
        self._is_key = _are_read(comparator)
        widths = [
            width_in_vectors(ir.ShapedType(value.type).element_type)
            for value, is_key in zip(inputs, self._is_key, strict=True)
            if is_key
        ]
        self._lanes = 1
        if widths and all(widths) and is_on_vectors(comparator):
            self._lanes = max(2, min(_LEAST_CHUNK, current().vector_bits // min(widths)))

    def select(self) -> list[Any]:
        """Return the first of all rows, as new tensors."""
        count = len(self._inputs)
        results = [empty_like(value.type, [*self._outer, self._few]) for value in self._inputs]
        scratch = [empty_like(value.type, [self._room]) for value in [*self._inputs] * 2]

        def row(indices: list[Any], carried: list[Any]) -> list[Any]:
            wholes, buffers, spare = (
                carried[start : start + count] for start in (0, count, 2 * count)
            )
            first, outer = [*indices, 0], [1] * len(self._outer)
            inputs = [
                extract_slice(value, first, [*outer, self._size], range(len(outer)))
                for value in self._inputs
            ]
            buffers, spare = self._first_of(inputs, buffers, spare)
            sizes = [*outer, self._few]
            firsts = [
                insert_slice(self._in_order(buffer), whole, first, sizes)
                for buffer, whole in zip(buffers, wholes, strict=True)
            ]
            return [*firsts, *buffers, *spare]

        return nest_over(self._outer, [*results, *scratch], row)[:count]

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
        both = MergeSort(self._comparator, count, size).sort(
            rest[count : 2 * count], rest[2 * count :]
        )
        limits = [tensor.extract(buffer, [index(self._few - 1)]) for buffer in both[:count]]
        return [index(self._few), constant(is_full.type, 1), *limits, *both]

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
            pairs = [element for pair in zip(elements, limits, strict=True) for element in pair]
            (is_before,) = inlined(self._comparator, pairs)
            is_taken = arith.select(is_full, is_before, constant(is_before.type, 1))
            # The next element overwrites one that is not taken.
            buffers = [
                tensor.insert(element, buffer, [filled])
                for element, buffer in zip(elements, buffers, strict=True)
            ]
            return [add(filled, arith.select(is_taken, index(1), index(0))), *buffers]

        if self._lanes == 1:
            return counted(start, end, carried, append)
        lanes = self._lanes
        whole = arith.divui(sub(end, start), index(lanes))

        def some(number: Any, carried: list[Any]) -> list[Any]:
            first = add(start, arith.muli(number, index(lanes)))
            pairs: list[Any] = []
            for source, limit, is_key in zip(inputs, limits, self._is_key, strict=True):
                if not is_key:
                    pairs += [None, None]
                    continue
                row = read_vector(source, [place(first, lanes)], lanes)
                pairs += [row, vector.broadcast(row.type, limit)]
            are_before = on_vectors(self._comparator, pairs, lanes)
            is_any = vector.reduction(is_full.type, vector.CombiningKind.OR, are_before)
            is_taken = arith.select(is_full, is_any, constant(is_full.type, 1))
            stop = add(first, lanes)
            return either(
                is_taken, lambda: counted(first, stop, carried, append), lambda: carried, carried
            )

        carried = counted(0, whole, carried, some)
        return counted(add(start, arith.muli(whole, index(lanes))), end, carried, append)
