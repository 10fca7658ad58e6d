"""A stable sort of rows by the digits of keys, built in IR: the least digit first.

A digit has 8 bits. Where the row is long enough to write to more places at once, and its buffers
stay in the caches, the digits are wider and the passes fewer: three for 32 bits, six for 64.

The occurrences of each digit are counted first, for all digits at once. They give the place where
the elements of a digit begin. Then each pass moves all elements to their places by one digit, from
one buffer into another and back again; elements of one digit keep their order. Behind the first,
two passes in which all elements have one digit are left out. Integers are counted from the least of
them: where all are near to it, whatever their signs, there are no digits but the lowest.

The first pass reads the inputs. Where passes are odd in number it writes the rows, else the spare
ones: so the last pass writes the rows. A place beyond the row is none, even should another thread
change elements between counting and moving.

The keys are derived from the comparator, which is read as a truth table. Each of its comparisons
applies one function, a key, to both elements: `compare(key(a), key(b))`. The order of a and b then
depends only on the relations of their keys: less, equal, greater, or one of them is not a number.
These are a few cases, and all are tried. The table may be that of a lexicographic order: by one
key, by the next where that one is equal, and so on. The result is then the keys with their
directions. It does not depend on the form of the comparator: a chain of `or` and `and`, a `select`,
a negation. For any other table there are no keys.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted, either
from linalg_ext.transforms.ir_utils.arithmetic import constant, known_condition, negated
from linalg_ext.transforms.ir_utils.generics import computed_anew
from linalg_ext.transforms.ir_utils.tensor_loops import add, compare, mul, sub
from linalg_ext.transforms.ir_utils.walking import producer

_BITS, _WIDE_BITS = 8, 11
_WIDE_ROWS, _WIDE_BYTES = 1 << 11, 1 << 21
"""The elements of a row from which on wide digits take less time, and its bytes up to which."""

_WIDEST = 64
"""Bits of a word."""

_WORTH = 48
"""Elements of a row for each pass, from which on the passes take less time than merges."""


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
        self._has_integers = len(self._words) == 1 and not self._words[0].has_floats
        if len(self._words) == 1 and self._has_wide_digits():
            self._words = [replace(self._words[0], digits=-(-self._words[0].bits // _WIDE_BITS))]

    def _has_wide_digits(self) -> bool:
        if not isinstance(self._size, int):
            return False
        types = [argument.type for argument in self._comparator.arguments][::2]
        element_bytes = sum((_width_of(type_) or _WIDEST) // 8 for type_ in types)
        return self._size >= _WIDE_ROWS and self._size * element_bytes <= _WIDE_BYTES

    @property
    def is_odd(self) -> bool:
        """True where the first pass writes the rows, else it writes the spare ones."""
        return self._words[-1].digits % 2 == 1

    @property
    def least_size(self) -> int:
        """The least size of a row that it sorts in less time than merges do."""
        return _WORTH * sum(word.digits for word in self._words)

    @property
    def table_size(self) -> int:
        """The size of the table of counts."""
        return max((word.digits + word.digits % 2) * word.slots for word in self._words)

    def sort(
        self, inputs: Sequence[Any], rows: Sequence[Any], spare: Sequence[Any], table: Any
    ) -> list[Any]:
        """Return the rows, the spare rows and the table, as they are when the rows are sorted.

        Args:
            inputs: the rows to sort.
            rows: the destinations.
            spare: as many rows, of the same length.
            table: a tensor of `table_size` indices.
        """
        *higher, last = self._words
        table = cleared(table, last.digits * last.slots)
        begin = 2 - last.digits % 2
        pairs = index((last.digits - begin) // 2)
        if self._has_integers and last.digits > begin:
            least, most = last.extremes(self._comparator, inputs, self._size)
            last = replace(last, least=least)
            is_near = arith.cmpi(
                arith.CmpIPredicate.ult,
                arith.subi(most, least),
                constant(least.type, 1 << last.digit_bits * begin),
            )
            pairs = arith.select(is_near, index(0), pairs)
            near, far = (
                arith.select(is_near, *map(index, counts))
                for counts in ((self._size, 0), (0, self._size))
            )
            table = self._counted(last, inputs, table, begin, near)
            table = self._counted(last, inputs, table, last.digits, far)
        else:
            table = self._counted(last, inputs, table, last.digits, self._size)
        if self.is_odd:
            rows, table = self._moved(last, inputs, rows, table, 0)
        else:
            spare, table = self._moved(last, inputs, spare, table, 0)
            rows, table = self._moved(last, spare, rows, table, 1)
        carried = self._pairs(last, begin, pairs, [*rows, *spare, table])
        for word in reversed(higher):
            *buffers, table = carried
            digits = word.digits + word.digits % 2  # one may be 0 in all
            table = cleared(table, digits * word.slots)
            table = self._counted(word, buffers[: self._count], table, digits, self._size)
            carried = self._pairs(word, 0, digits // 2, [*buffers, table])
        return carried

    def _counted(
        self, word: Word, source: Sequence[Any], table: Any, digits: int, size: Any
    ) -> Any:
        """Count the occurrences of digits in a table of zeros, those of the least digit first."""

        def element(position: Any, carried: list[Any]) -> list[Any]:
            value = self._word(word, source, position)
            (table,) = carried
            for number in range(digits):
                slot = _slot(word, value, number)
                table = tensor.insert(add(tensor.extract(table, [slot]), 1), table, [slot])
            return [table]

        return counted(0, size, [table], element)[0]

    def _pairs(self, word: Word, begin: int, pairs: Any, carried: list[Any]) -> list[Any]:
        """Make passes there and back, by two digits each, the first of them `begin`."""
        if begin == word.digits:
            return carried

        def pair(number: Any, carried: list[Any]) -> list[Any]:
            first = add(mul(number, 2), begin)
            *buffers, table = carried
            rows, spare = buffers[: self._count], buffers[self._count :]

            def passes() -> list[Any]:
                moved, counts = self._moved(word, rows, spare, table, first)
                back, counts = self._moved(word, moved, rows, counts, add(first, 1))
                return [*back, *moved, counts]

            is_one = self._is_one(word, rows, table, [first, add(first, 1)])
            return either(is_one, lambda: carried, passes, carried)

        return counted(0, pairs, carried, pair)

    def _is_one(self, word: Word, rows: Sequence[Any], table: Any, digits: Iterable[Any]) -> Any:
        """Return whether all elements have one digit, at each of `digits`."""
        value = self._word(word, rows, index(0))
        all_are: Any = None
        for digit in digits:
            occurs = tensor.extract(table, [_slot(word, value, digit)])
            is_one = compare("eq", occurs, self._size)
            all_are = is_one if all_are is None else arith.andi(all_are, is_one)
        return all_are

    def _moved(
        self, word: Word, source: Sequence[Any], target: Sequence[Any], table: Any, digit: Any
    ) -> tuple[list[Any], Any]:
        """Return the elements at their places by a digit, and the table, then one of places."""
        first = mul(digit, word.slots)
        last = sub(self._size, 1)

        def begin(number: Any, carried: list[Any]) -> list[Any]:
            position, table = carried
            slot = add(first, number)
            occurs = tensor.extract(table, [slot])
            return [add(position, occurs), tensor.insert(position, table, [slot])]

        table = counted(0, word.slots, [index(0), table], begin)[1]

        def move(number: Any, carried: list[Any]) -> list[Any]:
            *target, table = carried
            slot = _slot(word, self._word(word, source, number), digit)
            position = tensor.extract(table, [slot])
            table = tensor.insert(add(position, 1), table, [slot])
            position = arith.minui(position, index(last))
            moved = [
                tensor.insert(tensor.extract(row, [number]), into, [position])
                for row, into in zip(source, target, strict=True)
            ]
            return [*moved, table]

        *moved, table = counted(0, self._size, [*target, table], move)
        return moved, table

    def _word(self, word: Word, rows: Sequence[Any], position: Any) -> Any:
        return word.of(self._comparator, elements_at(rows, position))


def _slot(word: Word, value: Any, digit: Any) -> Any:
    """Return the slot of the table where a digit of a word's value is counted."""
    shift = arith.index_cast(value.type, index(mul(digit, word.digit_bits)))
    number = arith.andi(arith.shrui(value, shift), constant(value.type, word.slots - 1))
    return add(arith.index_castui(ir.IndexType.get(), number), mul(digit, word.slots))


@dataclass(frozen=True)
class Word:
    """Keys in one integer, the first in its highest bits.

    Attributes:
        keys: the keys.
        digits: the number of digits that it is divided into.
        least: a value from which it is counted; None for 0.
    """

    keys: tuple[SortKey, ...]
    digits: int
    least: Any = None

    @classmethod
    def of_keys(cls, *keys: SortKey) -> Word:
        return cls(keys, -(-sum(key.bits for key in keys) // _BITS))

    @property
    def bits(self) -> int:
        return sum(key.bits for key in self.keys)

    @property
    def digit_bits(self) -> int:
        return -(-self.bits // self.digits)

    @property
    def slots(self) -> int:
        """The number of values of a digit."""
        return 1 << self.digit_bits

    @property
    def has_floats(self) -> bool:
        """Return whether a key is a float, whose digits differ however near the numbers are."""
        return any(isinstance(key.value.type, ir.FloatType) for key in self.keys)

    @property
    def type(self) -> Any:
        return ir.IntegerType.get_signless(32 if self.bits <= 32 else _WIDEST)

    def of(self, comparator: Any, elements: Sequence[Any]) -> Any:
        """Return the word of an element of each tensor."""
        type_ = self.type
        word = constant(type_, 0)
        for number, key in enumerate(self.keys):
            part = key.of(comparator, elements)
            if key.bits < type_.width:
                part = arith.extui(type_, part)
            if number:
                part = arith.ori(arith.shli(word, constant(type_, key.bits)), part)
            word = part
        return word if self.least is None else arith.subi(word, self.least)

    def no_extremes(self) -> list[Any]:
        """Return the least value of no elements, and the greatest."""
        return [constant(self.type, -1), constant(self.type, 0)]

    def extremes(self, comparator: Any, rows: Sequence[Any], size: Any) -> list[Any]:
        """Return the least value of the first elements of rows, and the greatest."""

        def extend(position: Any, extremes: list[Any]) -> list[Any]:
            value = self.of(comparator, elements_at(rows, position))
            return [arith.minui(extremes[0], value), arith.maxui(extremes[1], value)]

        return counted(0, size, self.no_extremes(), extend)


def _words(keys: Sequence[SortKey]) -> list[Word]:
    """Put keys into as few words as hold them."""
    words: list[Word] = []
    for key in keys:
        if words and words[-1].bits + key.bits <= _WIDEST:
            words[-1] = Word.of_keys(*words[-1].keys, key)
        else:
            words.append(Word.of_keys(key))
    return words


def word_of(comparator: Any) -> Word | None:
    """Return the keys of a comparator in one word; None where it has none, or takes more."""
    words = _words(keys_of(comparator) or [])
    return words[0] if len(words) == 1 else None


def elements_at(rows: Sequence[Any], position: Any) -> list[Any]:
    """Return the element of each row at a position."""
    return [tensor.extract(row, [position]) for row in rows]


def cleared(table: Any, size: int) -> Any:
    """Return a table with zeros at its first places.

    By a loop: a fill reads nothing of the table, and might be given another tensor to write to.
    """
    zero = [index(0)]
    return counted(0, size, [table], lambda place, into: inserted(zero, into, place))[0]


def inserted(elements: Sequence[Any], rows: Sequence[Any], position: Any) -> list[Any]:
    """Return the rows with an element of each at a position."""
    return [
        tensor.insert(element, row, [position]) for element, row in zip(elements, rows, strict=True)
    ]


def copied(inputs: Sequence[Any], into: Sequence[Any]) -> list[Any]:
    """Return copies of tensors, in the place of others."""
    return [linalg.copy(value, outs=[init]) for value, init in zip(inputs, into, strict=True)]


_MOST_CASES = 256
"""The most cases of a truth table: three floats, or five integers."""

_PURE = ("arith.", "complex.", "index.", "math.")
_FLOATS: Mapping[str, int] = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}

_LESS, _EQUAL, _GREATER, _LEFT_NAN, _RIGHT_NAN, _BOTH_NAN = range(6)
_INTEGER_CASES = (_LESS, _EQUAL, _GREATER)
_FLOAT_CASES = (*_INTEGER_CASES, _LEFT_NAN, _RIGHT_NAN, _BOTH_NAN)
_SWAPPED = (_GREATER, _EQUAL, _LESS, _RIGHT_NAN, _LEFT_NAN, _BOTH_NAN)

_ORDERED = {
    "EQ": {_EQUAL},
    "GT": {_GREATER},
    "GE": {_GREATER, _EQUAL},
    "LT": {_LESS},
    "LE": {_LESS, _EQUAL},
    "NE": {_LESS, _GREATER},
    "RD": {_LESS, _EQUAL, _GREATER},
    "NO": set[int](),
}
"""Cases in which a predicate holds of numbers, by the end of its name."""

_State: TypeAlias = Mapping[int, int]
"""The case of each key, by the number of its form."""


@dataclass(frozen=True)
class SortKey:
    """A key by which elements are ordered.

    Attributes:
        value: the key of the first of the comparator's two elements, in its block.
        is_signed: True for a signed integer.
        is_descending: True where the larger one comes first.
        is_nan_last: True where NaN comes after all numbers, False where it comes before them.
    """

    value: Any
    is_signed: bool
    is_descending: bool
    is_nan_last: bool

    @property
    def bits(self) -> int:
        """The width of the key as an integer."""
        return _width_of(self.value.type) or 0

    def of(self, block: Any, elements: Sequence[Any]) -> Any:
        """Build the key of an element of each tensor: an unsigned integer, smaller for the first.

        Elements that are equal in the order have equal keys.
        """
        replacements = dict(zip(list(block.arguments)[::2], elements, strict=True))
        key = computed_anew(self.value, block, replacements)
        is_float = isinstance(key.type, ir.FloatType)
        key = self._of_float(key) if is_float else self._of_integer(key)
        return negated(key) if self.is_descending else key

    def _of_integer(self, key: Any) -> Any:
        type_ = ir.IntegerType.get_signless(self.bits)
        if isinstance(key.type, ir.IndexType):
            key = arith.index_cast(type_, key)
        return arith.xori(key, _sign(type_)) if self.is_signed else key

    def _of_float(self, key: Any) -> Any:
        type_ = ir.IntegerType.get_signless(self.bits)
        is_nan = arith.cmpf(arith.CmpFPredicate.UNO, key, key)
        bits, sign = arith.bitcast(type_, key), _sign(type_)
        # Both zeros are one.
        is_negative_zero = arith.cmpi(arith.CmpIPredicate.eq, bits, sign)
        bits = arith.select(is_negative_zero, constant(type_, 0), bits)
        spread = arith.shrsi(bits, constant(type_, self.bits - 1))
        ordered = arith.xori(bits, arith.ori(spread, sign))
        is_top = self.is_nan_last != self.is_descending
        return arith.select(is_nan, constant(type_, -1 if is_top else 0), ordered)


def _width_of(type_: Any) -> int | None:
    """Return the width of a key of a type in bits; None where its bits have no order."""
    if isinstance(type_, ir.IndexType):
        return 64
    if isinstance(type_, ir.IntegerType):
        return type_.width if type_.width <= _WIDEST else None
    return _FLOATS.get(str(type_))


def keys_of(comparator: Any) -> list[SortKey] | None:
    """Return the keys of a comparator, the first to be compared first; None where it has none.

    Args:
        comparator: a block of (a0, b0, a1, b1, ...) that yields whether a comes before b.
    """
    reader = _Reader(comparator)
    (result,) = list(comparator.operations)[-1].operation.operands
    if not reader.reads(result):
        return None
    return reader.lexicographic(result, {}) or None


class _Reader:
    """Reads a comparator: the forms of its values, and its result in each case.

    A form is how a value is made of an element, whichever of the two that is. Each has a number.
    """

    def __init__(self, block: Any) -> None:
        self._arguments = {value: number for number, value in enumerate(block.arguments)}
        self._makers = {
            value: op.operation for op in block.operations for value in op.operation.results
        }
        self._forms: dict[Any, tuple[int, frozenset[int]] | None] = {}
        self._numbers: dict[Any, int] = {}
        self._types: dict[int, Any] = {}
        self._firsts: dict[int, Any] = {}
        self._signs: dict[int, set[bool]] = {}

    def reads(self, value: Any) -> bool:
        """Return whether a condition is made of comparisons of keys alone; takes note of these."""
        if known_condition(value) is not None:
            return True
        op = self._makers.get(value)
        if op is None:
            return False
        if self._notes(op):
            return math.prod(len(self._cases(form)) for form in self._types) <= _MOST_CASES
        return _is_logic(op) and all(self.reads(operand) for operand in op.operands)

    def _notes(self, op: Any) -> bool:
        compared = self._compared(op)
        if compared is None:
            return False
        form, *sides = compared
        self._types[form] = op.operands[0].type
        self._firsts.update(
            (form, operand) for operand, side in zip(op.operands, sides, strict=True) if side == 0
        )
        name = _predicate(op)
        if op.name == "arith.cmpi" and name[0] in "su":
            self._signs.setdefault(form, set()).add(name[0] == "s")
        return True

    def _compared(self, op: Any) -> tuple[int, int, int] | None:
        """Return the form of both operands of a comparison, and the element of each."""
        if op.name not in ("arith.cmpi", "arith.cmpf") or _width_of(op.operands[0].type) is None:
            return None
        left, right = (self._form(operand) for operand in op.operands)
        if left is None or right is None or left[0] != right[0]:
            return None
        if len(left[1]) != 1 or len(right[1]) != 1:
            return None
        ((a,), (b,)) = left[1], right[1]
        return left[0], a, b

    def _form(self, value: Any) -> tuple[int, frozenset[int]] | None:
        """Return the number of the form of a value, and the elements that it depends on."""
        if value not in self._forms:
            self._forms[value] = self._new_form(value)
        return self._forms[value]

    def _new_form(self, value: Any) -> tuple[int, frozenset[int]] | None:
        if value in self._arguments:
            number, side = divmod(self._arguments[value], 2)
            return self._number(number), frozenset({side})
        op = producer(value)
        if value not in self._makers and (op is None or op.name != "arith.constant"):
            return self._number(value), frozenset()
        if not op.name.startswith(_PURE) or len(op.results) != 1 or len(op.regions):
            return None
        operands = [self._form(operand) for operand in op.operands]
        read = [form for form in operands if form is not None]
        if len(read) != len(operands):
            return None
        attributes = tuple(
            (name, str(attribute)) for name, attribute in sorted(op.attributes.items())
        )
        form = (op.name, str(value.type), attributes, *(number for number, _ in read))
        return self._number(form), frozenset[int]().union(*(sides for _, sides in read))

    def _number(self, form: Any) -> int:
        return self._numbers.setdefault(form, len(self._numbers))

    def _cases(self, form: int) -> tuple[int, ...]:
        is_float = isinstance(self._types[form], ir.FloatType)
        return _FLOAT_CASES if is_float else _INTEGER_CASES

    def _holds(self, value: Any, state: _State) -> bool:
        """Evaluate a condition for a case of each key."""
        number = known_condition(value)
        if number is not None:
            return number
        op = self._makers[value]
        compared = self._compared(op)
        if compared is not None:
            return _relates(
                _predicate(op).upper(), _case_of_sides(state[compared[0]], *compared[1:])
            )
        operands = [self._holds(operand, state) for operand in op.operands]
        match op.name:
            case "arith.andi":
                return operands[0] and operands[1]
            case "arith.ori":
                return operands[0] or operands[1]
            case "arith.select":
                return operands[1] if operands[0] else operands[2]
            case _:
                is_equal = op.name == "arith.cmpi" and _predicate(op) == "eq"
                return (operands[0] == operands[1]) == is_equal

    def lexicographic(self, result: Any, fixed: _State) -> list[SortKey] | None:
        """Return the keys beyond those that are equal, in order."""
        free = [form for form in self._types if form not in fixed]
        if not free:
            return None if self._holds(result, fixed) else []
        for form in free:
            key = self._first(result, fixed, form, [other for other in free if other != form])
            if key is None:
                continue
            rest = self.lexicographic(result, {**fixed, form: _EQUAL})
            if rest is not None:
                return [key, *rest]
        return None

    def _first(
        self, result: Any, fixed: _State, form: int, other_forms: Sequence[int]
    ) -> SortKey | None:
        """Return a form as the key that decides wherever it is not equal; None if it does not."""
        states = [
            dict(zip(other_forms, cases, strict=True))
            for cases in itertools.product(*map(self._cases, other_forms))
        ]

        def column(case: int) -> list[bool]:
            return [self._holds(result, {**fixed, **state, form: case}) for state in states]

        less, greater = set(column(_LESS)), set(column(_GREATER))
        signs = self._signs.get(form, {False})
        if form not in self._firsts or len(signs) != 1:
            return None
        if len(less) != 1 or len(greater) != 1 or less == greater:
            return None
        is_nan_last = True
        if _BOTH_NAN in self._cases(form):
            left, right = set(column(_LEFT_NAN)), set(column(_RIGHT_NAN))
            # NaN is unordered where neither side comes first: either end will do.
            if left != right:
                if len(left) != 1 or len(right) != 1 or column(_BOTH_NAN) != column(_EQUAL):
                    return None
                is_nan_last = right == {True}
        return SortKey(self._firsts[form], True in signs, greater == {True}, is_nan_last)


def _case_of_sides(case: int, left: int, right: int) -> int:
    """Return a case as a comparison of these elements, left and right, sees it."""
    if left != right:
        return _SWAPPED[case] if left else case
    is_nan = case == _BOTH_NAN or case == (_RIGHT_NAN if left else _LEFT_NAN)
    return _BOTH_NAN if is_nan else _EQUAL


def _relates(name: str, case: int) -> bool:
    if name.startswith("ALWAYS"):
        return name == "ALWAYSTRUE"
    if case in _INTEGER_CASES:
        return case in _ORDERED[name[-2:]]
    return name[0] == "U"


def _predicate(op: Any) -> str:
    number = ir.IntegerAttr(op.attributes["predicate"]).value
    kinds: Any = arith.CmpIPredicate if op.name == "arith.cmpi" else arith.CmpFPredicate
    return str(kinds(number).name)


def _is_logic(op: Any) -> bool:
    if any(str(operand.type) != "i1" for operand in op.operands):
        return False
    if op.name == "arith.cmpi":
        return _predicate(op) in ("eq", "ne")
    return op.name in ("arith.andi", "arith.ori", "arith.xori", "arith.select")


def _sign(type_: Any) -> Any:
    return constant(type_, -1 << (type_.width - 1))
