"""A stable sort of rows by the digits of keys, built in IR: the least digit first, 8 bits each.

The occurrences of each digit are counted first, for all digits at once. They give the place where
the elements of a digit begin. Then each pass moves all elements to their places by one digit, from
one buffer into another and back again; elements of one digit keep their order. Two passes in which
all elements have one digit are left out: small numbers of a wide type take the time of a narrow
one.

The first pass reads the inputs. Where passes are odd in number it writes the rows, else the spare
ones: so the last pass writes the rows. A place beyond the row is none, even should another thread
change elements between counting and moving.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.transforms.ir_utils.arithmetic import constant, index
from linalg_ext.transforms.ir_utils.tensor_loops import add, compare, counted, either, mul, sub

from ._sort_keys import SortKey

_BITS = 8
_DIGITS = 1 << _BITS
_WIDEST = 64

_WORTH = 48
"""Elements of a row for each pass, from which on the passes take less time than merges."""


@dataclass(frozen=True)
class _Word:
    """Keys in one integer, the first in its highest bits."""

    keys: tuple[SortKey, ...]

    @property
    def bits(self) -> int:
        return sum(key.bits for key in self.keys)

    @property
    def digits(self) -> int:
        return -(-self.bits // _BITS)

    def of(self, comparator: Any, elements: Sequence[Any]) -> Any:
        """That of an element of each tensor."""
        type_ = ir.IntegerType.get_signless(32 if self.bits <= 32 else _WIDEST)
        word = constant(type_, 0)
        for number, key in enumerate(self.keys):
            part = key.of(comparator, elements)
            if key.bits < type_.width:
                part = arith.extui(type_, part)
            if number:
                part = arith.ori(arith.shli(word, constant(type_, key.bits)), part)
            word = part
        return word


def _words(keys: Sequence[SortKey]) -> list[_Word]:
    """Keys in as few words as hold them."""
    words: list[_Word] = []
    for key in keys:
        if words and words[-1].bits + key.bits <= _WIDEST:
            words[-1] = _Word((*words[-1].keys, key))
        else:
            words.append(_Word((key,)))
    return words


class RadixSort:
    """Sorts rows of one length.

    Args:
        comparator: a block of two elements (a, b) of each tensor that yields whether a comes first.
        keys: those of the comparator.
        count: how many tensors are moved together.
        size: of a row, at least 1: a number, or a value of type index.
    """

    def __init__(self, comparator: Any, keys: Sequence[SortKey], count: int, size: Any) -> None:
        self._comparator = comparator
        self._count = count
        self._size = size
        self._words = _words(keys)

    @property
    def least_size(self) -> int:
        """The least size of a row that it sorts in less time than merges do."""
        return _WORTH * sum(word.digits for word in self._words)

    @property
    def table_size(self) -> int:
        """The size of the table of counts."""
        return _DIGITS * max(word.digits + word.digits % 2 for word in self._words)

    def sort(
        self, given: Sequence[Any], rows: Sequence[Any], spare: Sequence[Any], table: Any
    ) -> list[Any]:
        """Given rows, sorted; with the spare ones and the table, as they are then.

        Args:
            given: what is sorted.
            rows: where it goes.
            spare: as many, of the same length.
            table: a tensor of `table_size` indices.
        """
        *others, last = self._words
        table = self._occurrences(last, given, table, last.digits)
        if last.digits % 2:
            rows, table = self._first_pass(last, given, rows, table)
        else:
            rows, spare, table = self._first_pair(last, given, rows, spare, table)
        begin = 2 - last.digits % 2
        carried = self._pairs(last, begin, last.digits, [*rows, *spare, table])
        for word in reversed(others):
            *buffers, table = carried
            digits = word.digits + word.digits % 2  # one may be 0 in all
            table = self._occurrences(word, buffers[: self._count], table, digits)
            carried = self._pairs(word, 0, digits, [*buffers, table])
        return carried

    def _occurrences(self, word: _Word, source: Sequence[Any], table: Any, digits: int) -> Any:
        """Count each digit's occurrences in the table, those of the least digit first."""
        none = linalg.fill(index(0), outs=[table])

        def element(place: Any, carried: list[Any]) -> list[Any]:
            value = self._word(word, source, place)
            (table,) = carried
            for number in range(digits):
                slot = self._slot(value, number)
                table = tensor.insert(add(tensor.extract(table, [slot]), 1), table, [slot])
            return [table]

        (table,) = counted(0, self._size, [none], element)
        return table

    def _pairs(self, word: _Word, begin: int, end: int, carried: list[Any]) -> list[Any]:
        """Passes there and back, by the digits from one to another."""
        if begin == end:
            return carried

        def pair(number: Any, carried: list[Any]) -> list[Any]:
            first = add(mul(number, 2), begin)
            *buffers, table = carried
            here, there = buffers[: self._count], buffers[self._count :]

            def passes() -> list[Any]:
                moved, counts = self._moved(word, here, there, table, first)
                back, counts = self._moved(word, moved, here, counts, add(first, 1))
                return [*back, *moved, counts]

            is_one = self._is_one(word, here, table, [first, add(first, 1)])
            return either(is_one, lambda: carried, passes, carried)

        return counted(0, (end - begin) // 2, carried, pair)

    def _first_pass(
        self, word: _Word, given: Sequence[Any], rows: Sequence[Any], table: Any
    ) -> tuple[list[Any], Any]:
        def moved() -> list[Any]:
            made, counts = self._moved(word, given, rows, table, 0)
            return [*made, counts]

        is_one = self._is_one(word, given, table, [0])
        whole = [*rows, table]
        *made, table = either(is_one, lambda: [*_copied(given, rows), table], moved, whole)
        return made, table

    def _first_pair(
        self, word: _Word, given: Sequence[Any], rows: Any, spare: Any, table: Any
    ) -> tuple[list[Any], list[Any], Any]:
        def moved() -> list[Any]:
            there, counts = self._moved(word, given, spare, table, 0)
            back, counts = self._moved(word, there, rows, counts, 1)
            return [*back, *there, counts]

        is_one = self._is_one(word, given, table, [0, 1])
        whole = [*rows, *spare, table]
        *made, table = either(
            is_one, lambda: [*_copied(given, rows), *whole[self._count :]], moved, whole
        )
        return made[: self._count], made[self._count :], table

    def _is_one(self, word: _Word, rows: Sequence[Any], table: Any, digits: list[Any]) -> Any:
        """Return whether all elements have one digit, at each of some."""
        value = self._word(word, rows, index(0))
        all_are: Any = None
        for digit in digits:
            occurs = tensor.extract(table, [self._slot(value, digit)])
            is_one = compare("eq", occurs, self._size)
            all_are = is_one if all_are is None else arith.andi(all_are, is_one)
        return all_are

    def _moved(
        self, word: _Word, source: Sequence[Any], target: Sequence[Any], table: Any, digit: Any
    ) -> tuple[list[Any], Any]:
        """The elements at their places by a digit; the table, whose numbers are places then."""
        first = mul(digit, _DIGITS)
        last = sub(self._size, 1)

        def begin(number: Any, carried: list[Any]) -> list[Any]:
            place, table = carried
            slot = add(first, number)
            occurs = tensor.extract(table, [slot])
            return [add(place, occurs), tensor.insert(place, table, [slot])]

        table = counted(0, _DIGITS, [index(0), table], begin)[1]

        def move(number: Any, carried: list[Any]) -> list[Any]:
            *target, table = carried
            slot = self._slot(self._word(word, source, number), digit)
            place = tensor.extract(table, [slot])
            table = tensor.insert(add(place, 1), table, [slot])
            place = arith.minui(place, index(last))
            moved = [
                tensor.insert(tensor.extract(row, [number]), into, [place])
                for row, into in zip(source, target, strict=True)
            ]
            return [*moved, table]

        *moved, table = counted(0, self._size, [*target, table], move)
        return moved, table

    def _word(self, word: _Word, rows: Sequence[Any], place: Any) -> Any:
        return word.of(self._comparator, [tensor.extract(row, [place]) for row in rows])

    def _slot(self, value: Any, digit: Any) -> Any:
        """Return the slot of the table where a digit of a word is counted."""
        shift = arith.index_cast(value.type, index(mul(digit, _BITS)))
        number = arith.andi(arith.shrui(value, shift), constant(value.type, _DIGITS - 1))
        return add(arith.index_castui(ir.IndexType.get(), number), mul(digit, _DIGITS))


def _copied(given: Sequence[Any], into: Sequence[Any]) -> list[Any]:
    return [linalg.copy(row, outs=[target]) for row, target in zip(given, into, strict=True)]
