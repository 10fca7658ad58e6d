"""A stable merge sort of rows, built in IR by a comparator.

Blocks of 8 are sorted first, then runs are merged.

A block is sorted by a network that compares neighbours alone, without a branch: it is stable. Runs
are merged in pairs from one buffer into another and back again, an even number of times, so that
the row ends where it was. Of the 2^l runs of level l, run q begins at block `q * blocks >> l`:
halves are of one length but for a block, at every level, whatever the length of the row.

Two runs are merged from both ends at once. Each end takes as many elements as the shorter run has,
so neither compares with the end of a run, and the two do not wait for each other. The surplus of
the longer run remains between them. If both ends took the same element, the comparator is not an
order. The runs are then merged again from the front alone, so that no element is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, math, tensor
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted
from linalg_ext.transforms.ir_utils.tensor_loops import add, compare, inlined, sub

from ._lane_sort import swapped
from ._radix_sort import elements_at, inserted

BLOCK = 8

_NEAR = 12
"""Runs of 2^12 blocks are merged to the end before the next are begun: they stay in a cache."""


class MergeSort:
    """Sorts rows of one length.

    Args:
        comparator: a block of two elements (a, b) of each tensor that yields whether a comes first.
        count: how many tensors are moved together.
        size: of a row: a number, or a value of type index.
        is_opposite: whether the comparator yields that a comes last.
    """

    def __init__(
        self, comparator: Any, count: int, size: Any, *, is_opposite: bool = False
    ) -> None:
        self._comparator = comparator
        self._is_opposite = is_opposite
        self._count = count
        self._is_key = are_read(comparator)
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
                    inner = inserted(elements, inner, position)
                return inner

            return counted(0, sub(last, start), carried, step)

        return counted(add(start, 1), self._size, rows, sink)

    def _exchanged(self, first: list[Any], second: list[Any]) -> tuple[list[Any], list[Any]]:
        """Put two elements in order; they stay where neither comes before the other."""
        return swapped(self._comes_before(second, first), first, second)

    def _comes_before(self, left: Sequence[Any], right: Sequence[Any]) -> Any:
        sides = (right, left) if self._is_opposite else (left, right)
        return comes_before(self._comparator, *sides)

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
            written = inserted(elements, written, add(start, number))
            left, right = _advanced(left, right, is_right, 1)
            elements, is_left = self._next_element(source, left_end, right_end, is_last=True)
            written = inserted(elements, written, sub(last, number))
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
            written = inserted(elements_at(source, head), written, position)
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


def _advanced(left: Any, right: Any, is_right: Any, step: int) -> tuple[Any, Any]:
    """Return both positions, with the one of the side that was taken from advanced by `step`."""
    by_right = arith.select(is_right, index(step), index(0))
    return add(left, sub(step, by_right)), add(right, by_right)


def comes_before(comparator: Any, left: Sequence[Any], right: Sequence[Any]) -> Any:
    """Return whether an element of each tensor comes before another, by a comparator."""
    sides = zip(left, right, strict=True)
    return inlined(comparator, [element for pair in sides for element in pair])[0]


def are_read(comparator: Any) -> list[bool]:
    """Return for each tensor whether the comparator reads its elements."""
    used = [any(True for _ in argument.uses) for argument in comparator.arguments]
    return [any(pair) for pair in zip(used[::2], used[1::2], strict=True)]
