"""The elements at some places of a sorted row, found by the digits of keys, the highest first.

The digits of a copy of the row are counted, and all elements are dropped that have another digit
than those at these places: they come before them all, or after. So it goes on with the next digit
until few are left, which are sorted. A digit is the highest bits in which the keys that are left
differ. Elements that are left keep their order: of equal ones those come first that a stable sort
has first.

Most elements of a long row are not even copied. Of a sample two elements are found, in the same
way, between which those at the places very probably are: they are a few of its standard deviations
apart (R. W. Floyd and R. L. Rivest, Expected time bounds for selection, CACM 18, 1975). One pass
over the row counts the elements before them and copies those between them, as many at a time as a
vector has lanes. Should the places not be among these, all of the row is copied.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from linalg_ext.bindings import arith, ir, math, tensor, vector
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted, either
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.tensor_loops import (
    add,
    compare,
    empty_like,
    extract_slice,
    insert_slice,
    mul,
    sub,
)

from ._merge_sort import MergeSort, comes_before
from ._radix_sort import RadixSort, Word, cleared, elements_at, inserted
from ._row_select import Lanes, Places

_SHORTEST, _SHORTEST_OF_LANES = 256, 512
"""Rows that are shorter are sorted; the second where many are sorted at a time, in lanes."""

_LONG = 4096
"""The length of rows from which on the first few are found so, too: in any order as quickly."""

_WORTH = 32
"""The least ratio of a row's length to the number of elements that are found."""

_FEW = 64
"""Elements that are sorted rather than told apart by another digit."""

_BITS, _SHORT_BITS, _LONG_ROW = 11, 8, 1 << 14
"""Bits of a digit in long rows and in shorter ones, and the length of a long row."""

_LEAST_SAMPLE = 256

_LEAST_RATIO = 4
"""The least ratio of a row's length to that of its sample."""

_DEVIATIONS = 3
"""The distance of the limits from the places, in standard deviations of the sample."""


def is_worth_it(word: Word, used: Sequence[Places], size: Any, *, in_lanes: bool) -> bool:
    """Return whether finding some places of each row takes less time than sorting it.

    A part takes as long as a pass of the sort, and integers often have few digits.
    """
    shortest = _SHORTEST_OF_LANES if in_lanes else _SHORTEST
    longest = max(part.count for part in used)
    passes = word.digits if word.has_floats else word.digits // 2
    is_long = isinstance(size, int) and size >= max(shortest, _WORTH * longest)
    return is_long and len(used) <= passes


def is_better(word: Word, few: Places, size: Any) -> bool:
    """Return whether it takes less time than finding the first few alone, whatever their order."""
    return size >= _LONG and few.count > 1 and is_worth_it(word, [few], size, in_lanes=False)


@dataclass(frozen=True)
class _Left:
    """The elements of a row that are left, at the front of buffers.

    Attributes:
        count: their number, an index.
        before: the number of those that were dropped because they come before, an index.
        least: their least key.
        most: their greatest key.
        buffers: one of each tensor.
        table: the counts of digits.
    """

    count: Any
    before: Any
    least: Any
    most: Any
    buffers: list[Any]
    table: Any

    def values(self) -> list[Any]:
        return [self.count, self.before, self.least, self.most, self.table, *self.buffers]

    @classmethod
    def of(cls, values: Sequence[Any]) -> _Left:
        count, before, least, most, table, *buffers = values
        return cls(count, before, least, most, buffers, table)


@dataclass(frozen=True)
class _Limit:
    """An element of each tensor beyond which none is sought, where `is_there`, an index, is 1."""

    elements: Sequence[Any]
    is_there: Any

    def beyond(self, are_beyond: Any) -> Any:
        """Return a condition, or a vector of such, where there is a limit; else that it is not."""
        is_there = compare("eq", self.is_there, 1)
        if isinstance(are_beyond.type, ir.VectorType):
            is_there = vector.broadcast(are_beyond.type, is_there)
        return arith.andi(are_beyond, is_there)


@dataclass(frozen=True)
class _Step:
    """Elements to find in a row, or in its sample: those from `begin` up to `end`.

    Attributes:
        begin: the first place.
        end: the place behind the last.
        result: where they are put among all that is found.
        has_low: 1 where a limit before them is found in a sample, else 0.
        has_high: 1 where a limit behind them is found in a sample, else 0.
    """

    begin: int
    end: int
    result: int
    has_low: int = 0
    has_high: int = 0


class DigitSelect:
    """Finds the elements at some places of rows.

    Args:
        comparator: a block of two elements (a, b) of each tensor that yields whether a comes first.
        word: the key of that comparator.
        inputs: the tensors, whose last dimension is a row.
        used: the places whose elements are wanted.

    Attributes:
        places: those whose elements are found: parts of one length.
    """

    def __init__(
        self, comparator: Any, word: Word, inputs: Sequence[Any], used: Sequence[Places]
    ) -> None:
        self._comparator = comparator
        self._word = word
        self._inputs = inputs
        self._lanes = Lanes(comparator, inputs)
        self._size = size = ir.ShapedType(inputs[0].type).shape[-1]
        self._bits = _BITS if size >= _LONG_ROW else _SHORT_BITS
        self._length = max(part.count for part in used)
        begins = (min(part.begin, size - self._length) for part in used)
        self.places = [Places(begin, begin + self._length) for begin in begins]
        self._sample = max(_LEAST_SAMPLE, *map(self._best_sample, self.places))
        self._is_sampled = self._lanes.count > 1 and size >= _LEAST_RATIO * self._sample

    def scratch(self) -> list[Any]:
        """Return two rows for each tensor, its found elements, and a table of counts."""
        lengths = (self._size, self._size, self._length * len(self.places))
        rows = [empty_like(value.type, [length]) for length in lengths for value in self._inputs]
        slots = max(1 << self._bits, self._digits(None).table_size)
        table = ir.RankedTensorType.get([slots], ir.IndexType.get())
        return [*rows, empty_like(table, [slots])]

    def find(self, row: Sequence[Any], scratch: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the elements of a row in order, and the scratch as it is then."""
        count, steps = len(row), self._steps()

        def parts(values: Sequence[Any]) -> list[list[Any]]:
            return [list(values[start : start + count]) for start in range(0, len(values), count)]

        def step(number: Any, carried: list[Any]) -> list[Any]:
            low, high, buffers, spare, results, (table,) = parts(carried)
            begin, end, result, has_low, has_high = (
                _by_number(number, [getattr(step, field.name) for step in steps])
                for field in fields(_Step)
            )
            limits = _Limit(low, has_low), _Limit(high, has_high)
            left = self._gathered(row, number, (begin, end), limits, buffers, table)
            left = self._narrowed(left, begin, end)
            buffers, spare, table = self._sorted(left, spare)
            # All that is read lies in the buffers, whatever was counted.
            low, high = (
                elements_at(buffers, arith.minui(sub(place, left.before), index(self._size - 1)))
                for place in (begin, sub(end, 1))
            )
            start = arith.minui(sub(begin, left.before), index(self._size - self._length))
            results = [
                insert_slice(
                    extract_slice(buffer, [start], [self._length]), into, [result], [self._length]
                )
                for buffer, into in zip(buffers, results, strict=True)
            ]
            return [*low, *high, *buffers, *spare, *results, table]

        # No limit is read before it is found.
        carried = [*elements_at(row, index(0)) * 2, *scratch]
        carried = counted(0, len(steps), carried, step)
        return parts(carried)[4], carried[2 * count :]

    def _steps(self) -> list[_Step]:
        """Return the elements to find one after another: of the sample, then of the row."""
        steps: list[_Step] = []
        for number, part in enumerate(self.places):
            result = number * self._length
            has_low = has_high = 0
            if self._is_sampled:
                low, high = self._limits(part)
                has_low, has_high = int(low > 0), int(high < self._sample)
                steps.append(_Step(low, high, result, has_low, has_high))
            steps.append(_Step(part.begin, part.end, result, has_low, has_high))
        return steps

    def _best_sample(self, part: Places) -> int:
        """Return the size of a sample that takes about as long as the part between its limits."""
        fraction = part.begin / self._size
        deviation = numbers.sqrt(fraction * (1 - fraction))
        near_ends = numbers.sqrt(5 * self._size)
        return round(max(near_ends, numbers.pow(2 * self._size * deviation, 2 / 3)))

    def _limits(self, part: Places) -> tuple[int, int]:
        """Return the places of a sorted sample between which a part of the row probably lies."""
        fractions = part.begin / self._size, part.end / self._size
        low, high = (
            self._sample * fraction
            + sign * _DEVIATIONS * (1 + numbers.sqrt(self._sample * fraction * (1 - fraction)))
            for fraction, sign in zip(fractions, (-1, 1), strict=True)
        )
        return max(0, int(low)), min(self._sample, int(high) + 1)

    def _gathered(
        self,
        row: Sequence[Any],
        number: Any,
        places: tuple[Any, Any],
        limits: tuple[_Limit, _Limit],
        buffers: list[Any],
        table: Any,
    ) -> _Left:
        """Take a sample of a row in each other step, else the elements between two limits."""
        size = index(self._size)
        if not self._is_sampled:
            count, before, buffers = size, index(0), _copied(row, buffers, self._size)
        else:
            is_sample = compare("eq", arith.andi(number, index(1)), 0)
            none = [index(0), index(0), *buffers]
            # A branch that leaves the buffers as they are: else it is unclear who frees them.
            sample = either(is_sample, lambda: self._sampled(row, buffers), lambda: none, none)
            count, before, *buffers = either(
                is_sample,
                lambda: sample,
                lambda: self._between(row, places, limits, sample[2:]),
                sample,
            )
        count = arith.minui(count, size)  # which bounds the loops

        least, most = self._word.extremes(self._comparator, buffers, count)
        return _Left(count, before, least, most, buffers, table)

    def _key(self, elements: Sequence[Any]) -> Any:
        return self._word.of(self._comparator, elements)

    def _sampled(self, row: Sequence[Any], buffers: Sequence[Any]) -> list[Any]:
        """Return the number of elements of a sample, none before them, and a copy of it.

        The elements come from all over the row: the steps between them are a golden section of it.
        """
        stride = round(self._size * (5**0.5 - 1) / 2)
        while numbers.gcd(stride, self._size) > 1:
            stride += 1

        def copy(number: Any, buffers: list[Any]) -> list[Any]:
            place = arith.remui(mul(number, stride), index(self._size))
            return inserted(elements_at(row, place), buffers, number)

        return [index(self._sample), index(0), *counted(0, self._sample, buffers, copy)]

    def _between(
        self,
        row: Sequence[Any],
        places: tuple[Any, Any],
        limits: tuple[_Limit, _Limit],
        buffers: Sequence[Any],
    ) -> list[Any]:
        """Return the number of elements between two limits, of those before, and a copy of them."""
        low, high = limits
        lanes = self._lanes.count

        def some(number: Any, carried: list[Any]) -> list[Any]:
            count, before, *buffers = carried
            first = mul(number, lanes)
            elements = self._lanes.read(row, first)
            are_before = low.beyond(self._lanes.come_before(elements, low.elements))
            are_after = high.beyond(self._lanes.come_before(high.elements, elements))
            are_outside = arith.ori(are_before, are_after)
            condition = ir.VectorType(are_outside.type).element_type
            is_none = vector.reduction(condition, vector.CombiningKind.AND, are_outside)
            return either(
                is_none,
                lambda: [count, add(before, _number_of(are_before)), *buffers],
                lambda: counted(first, add(first, lanes), carried, append),
                carried,
            )

        def append(place: Any, carried: list[Any]) -> list[Any]:
            count, before, *buffers = carried
            elements = elements_at(row, place)
            is_before = low.beyond(comes_before(self._comparator, elements, low.elements))
            is_after = high.beyond(comes_before(self._comparator, high.elements, elements))
            is_outside = arith.ori(is_before, is_after)
            # The next element overwrites one outside.
            return [
                add(count, arith.select(is_outside, index(0), index(1))),
                add(before, arith.select(is_before, index(1), index(0))),
                *inserted(elements, buffers, count),
            ]

        whole = self._size // lanes
        carried = counted(0, whole, [index(0), index(0), *buffers], some)
        carried = counted(whole * lanes, self._size, carried, append)
        count, before, *copies = carried
        begin, end = places
        is_inside = arith.andi(
            compare("ule", before, begin), compare("ule", end, add(before, count))
        )
        return either(
            is_inside,
            lambda: carried,
            lambda: [index(self._size), index(0), *_copied(row, copies, self._size)],
            carried,
        )

    def _narrowed(self, left: _Left, begin: Any, end: Any) -> _Left:
        """Drop elements by digits until few are left, or equal ones, or those that are sought."""
        enough = arith.maxui(index(_FEW), mul(sub(end, begin), 2))

        def narrow_or_keep(_: Any, values: list[Any]) -> list[Any]:
            left = _Left.of(values)
            is_more = arith.andi(
                compare("ugt", left.count, enough), compare("ult", left.least, left.most)
            )
            return either(
                is_more, lambda: self._with_digit(left, begin, end).values(), lambda: values, values
            )

        rounds = -(-self._word.bits // self._bits) + 1
        return _Left.of(counted(0, rounds, left.values(), narrow_or_keep))

    def _with_digit(self, left: _Left, begin: Any, end: Any) -> _Left:
        """Drop the elements whose highest digit says that they come before, or after."""
        count = arith.minui(left.count, index(self._size))  # which bounds the loops
        differing = sub(
            self._word.type.width, _as_index(math.ctlz(arith.subi(left.most, left.least)))
        )
        shift = arith.maxsi(sub(differing, self._bits), index(0))
        shift = arith.index_castui(self._word.type, shift)

        def digit(elements: Sequence[Any]) -> tuple[Any, Any]:
            key = self._key(elements)
            number = arith.shrui(arith.subi(key, left.least), shift)
            last = constant(number.type, (1 << self._bits) - 1)
            return key, _as_index(arith.minui(number, last))

        def count_one(place: Any, carried: list[Any]) -> list[Any]:
            (table,) = carried
            _, slot = digit(elements_at(left.buffers, place))
            return [tensor.insert(add(tensor.extract(table, [slot]), 1), table, [slot])]

        table = cleared(left.table, 1 << self._bits)
        (table,) = counted(0, count, [table], count_one)
        first, last, before = self._slots(table, left.before, begin, end)

        def keep(place: Any, carried: list[Any]) -> list[Any]:
            filled, least, most, *buffers = carried
            elements = elements_at(buffers, place)
            key, slot = digit(elements)
            is_left = compare("ule", sub(slot, first), sub(last, first))
            # The next element overwrites one that is dropped.
            return [
                add(filled, arith.select(is_left, index(1), index(0))),
                arith.select(is_left, arith.minui(least, key), least),
                arith.select(is_left, arith.maxui(most, key), most),
                *inserted(elements, buffers, filled),
            ]

        carried = [index(0), *self._word.no_extremes(), *left.buffers]
        filled, least, most, *buffers = counted(0, count, carried, keep)
        return _Left(filled, before, least, most, buffers, table)

    def _slots(self, table: Any, before: Any, begin: Any, end: Any) -> list[Any]:
        """Return the first and the last slot of the elements sought, and how many come before."""

        def look(slot: Any, carried: list[Any]) -> list[Any]:
            place, first, last, before = carried
            next_place = add(place, tensor.extract(table, [slot]))
            is_before = compare("ule", next_place, begin)
            is_not_after = compare("ult", place, end)
            return [
                next_place,
                arith.select(is_before, add(slot, 1), first),
                arith.select(is_not_after, slot, last),
                arith.select(is_before, next_place, before),
            ]

        zero = index(0)
        return counted(0, 1 << self._bits, [before, zero, zero, before], look)[1:]

    def _digits(self, size: Any) -> RadixSort:
        return RadixSort(self._comparator, self._word.keys, len(self._inputs), size)

    def _sorted(self, left: _Left, spare: list[Any]) -> tuple[list[Any], list[Any], Any]:
        """Return buffers with the elements left sorted in front, spare ones, and the table."""
        count = len(spare)
        size = arith.minui(left.count, index(self._size))

        def merged() -> list[Any]:
            sorter = MergeSort(self._comparator, count, size)
            return [*sorter.sort(left.buffers, spare), left.table]

        def by_digits() -> list[Any]:
            sorter = self._digits(size)
            if not sorter.is_odd:
                return sorter.sort(left.buffers, left.buffers, spare, left.table)
            # The first pass writes the rows, and so reads copies of them.
            copies = _copied(left.buffers, spare, size)
            return sorter.sort(copies, left.buffers, copies, left.table)

        # Digits are less code; the table of a short row would take longer than merges.
        whole = by_digits if self._size >= _LONG else merged
        values = [*left.buffers, *spare, left.table]
        *both, table = either(compare("ult", left.least, left.most), whole, lambda: values, values)
        return both[:count], both[count:], table


def _copied(rows: Sequence[Any], into: Sequence[Any], size: Any) -> list[Any]:
    """Return copies of the first elements of rows, in the place of others.

    By a loop, see `cleared`.
    """
    return counted(
        0, size, into, lambda place, into: inserted(elements_at(rows, place), into, place)
    )


def _by_number(number: Any, values: Sequence[int]) -> Any:
    """Return the value at an index of a list that is known."""
    *earlier, chosen = map(index, values)
    for position, value in reversed(list(enumerate(earlier))):
        chosen = arith.select(compare("eq", number, position), value, chosen)
    return chosen


def _number_of(mask: Any) -> Any:
    """Return how many bits of a vector are set."""
    width = ir.IntegerType.get_signless(mask.type.shape[0])
    bits = vector.bitcast(ir.VectorType.get([1], width), mask)
    word = arith.extui(ir.IntegerType.get_signless(64), vector.extract(bits, [], [0]))
    return _as_index(math.ctpop(word))


def _as_index(number: Any) -> Any:
    return arith.index_castui(ir.IndexType.get(), number)
