"""The keys by which a comparator orders elements, derived from its operations.

A comparator is read as a truth table. Each of its comparisons applies one function, a key, to both
elements: `compare(key(a), key(b))`. The order of a and b then depends only on the relations of
their keys: less, equal, greater, or one of them is not a number. These are a few cases, and all are
tried. The table may be that of a lexicographic order: by one key, by the next where that one is
equal, and so on. The result is then the keys with their directions. It does not depend on the form
of the comparator: a chain of `or` and `and`, a `select`, a negation. For any other table there are
no keys.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from linalg_ext.bindings import arith, ir
from linalg_ext.transforms.ir_utils.arithmetic import constant, known_condition, negated
from linalg_ext.transforms.ir_utils.generics import computed_anew
from linalg_ext.transforms.ir_utils.walking import producer

_MOST_CASES = 256
"""The most cases of a truth table: three floats, or five integers."""

_PURE = ("arith.", "complex.", "index.", "math.")
_FLOATS: Mapping[str, int] = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
_WIDEST = 64

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
        return width_of(self.value.type) or 0

    def of(self, block: Any, elements: Sequence[Any]) -> Any:
        """Build the key of an element of each tensor: an unsigned integer, smaller for the first.

        Elements that are equal in the order have equal keys.
        """
        known = dict(zip(list(block.arguments)[::2], elements, strict=True))
        key = computed_anew(self.value, block, known)
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


def width_of(type_: Any) -> int | None:
    """Return the width of a key of a type in bits; None where its bits have no order."""
    if isinstance(type_, ir.IndexType):
        return 64
    if isinstance(type_, ir.IntegerType):
        return type_.width if type_.width <= _WIDEST else None
    return _FLOATS.get(str(type_))


def keys_of(comparator: Any) -> list[SortKey] | None:
    """The keys of a comparator, the first to be compared first; None where it has none.

    Args:
        comparator: a block of (a0, b0, a1, b1, ...) that yields whether a comes before b.
    """
    reader = _Reader(comparator)
    (result,) = list(comparator.operations)[-1].operation.operands
    if not reader.reads(result):
        return None
    return reader.lexicographic(result, {}) or None


class _Reader:
    """Reads a comparator: the forms of its values, and what it yields in each case.

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
        if op.name not in ("arith.cmpi", "arith.cmpf") or width_of(op.operands[0].type) is None:
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
        known = [each for each in operands if each is not None]
        if len(known) != len(operands):
            return None
        attributes = tuple((name, str(each)) for name, each in sorted(op.attributes.items()))
        form = (op.name, str(value.type), attributes, *(number for number, _ in known))
        return self._number(form), frozenset[int]().union(*(sides for _, sides in known))

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
            return _relates(_predicate(op).upper(), _seen(state[compared[0]], *compared[1:]))
        given = [self._holds(operand, state) for operand in op.operands]
        match op.name:
            case "arith.andi":
                return given[0] and given[1]
            case "arith.ori":
                return given[0] or given[1]
            case "arith.select":
                return given[1] if given[0] else given[2]
            case _:
                is_equal = op.name == "arith.cmpi" and _predicate(op) == "eq"
                return (given[0] == given[1]) == is_equal

    def lexicographic(self, result: Any, fixed: _State) -> list[SortKey] | None:
        """The keys beyond those that are equal, in order."""
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
        self, result: Any, fixed: _State, form: int, others: Sequence[int]
    ) -> SortKey | None:
        """A form as the key that decides wherever it is not equal; None where it does not."""
        states = [
            dict(zip(others, cases, strict=True))
            for cases in itertools.product(*map(self._cases, others))
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
            # Where neither comes first, there is no order with NaN: any will do.
            if left != right:
                if len(left) != 1 or len(right) != 1 or column(_BOTH_NAN) != column(_EQUAL):
                    return None
                is_nan_last = right == {True}
        return SortKey(self._firsts[form], True in signs, greater == {True}, is_nan_last)


def _seen(case: int, left: int, right: int) -> int:
    """A case as a comparison sees it that has these elements on its left and on its right."""
    if left != right:
        return _SWAPPED[case] if left else case
    is_nan = case == _BOTH_NAN or case == (_RIGHT_NAN if left else _LEFT_NAN)
    return _BOTH_NAN if is_nan else _EQUAL


def _relates(name: str, case: int) -> bool:
    """Return whether a predicate holds in a case."""
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
    """Return whether it combines conditions."""
    if any(str(operand.type) != "i1" for operand in op.operands):
        return False
    if op.name == "arith.cmpi":
        return _predicate(op) in ("eq", "ne")
    return op.name in ("arith.andi", "arith.ori", "arith.xori", "arith.select")


def _sign(type_: Any) -> Any:
    return constant(type_, -1 << (type_.width - 1))
