"""The data of numbers: linear combinations of atoms, always in normal form.

Two numbers that differ in the order of sums, products, minima or maxima only are equal and hash
alike. Texts and emitted IR keep the order in which the parts were written, so that they are the
same in every process.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import TypeAlias, TypeVar, cast

from linalg_ext.errors import ArgumentTypeError, caller_location


class Arithmetic:
    """The operators of numbers that are not known: `+ - * // %` with integers and one another.

    `//` rounds down and `%` has the sign of the divisor, as in Python. A divisor that is not known
    is taken to be positive.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return _text_of(cast("Atom | Expression", self))

    def __add__(self, other: Operand) -> Number:
        return linear((_number_of(self), 1), (as_number(other), 1))

    def __sub__(self, other: Operand) -> Number:
        return linear((_number_of(self), 1), (as_number(other), -1))

    def __rsub__(self, other: Operand) -> Number:
        return linear((as_number(other), 1), (_number_of(self), -1))

    def __neg__(self) -> Number:
        return linear((_number_of(self), -1))

    def __mul__(self, other: Operand) -> Number:
        return multiply(_number_of(self), as_number(other))

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: Operand) -> Number:
        return _divisions["//"](_number_of(self), as_number(other))

    def __rfloordiv__(self, other: Operand) -> Number:
        return _divisions["//"](as_number(other), _number_of(self))

    def __mod__(self, other: Operand) -> Number:
        return _divisions["%"](_number_of(self), as_number(other))

    def __rmod__(self, other: Operand) -> Number:
        return _divisions["%"](as_number(other), _number_of(self))


Division: TypeAlias = "Callable[[Number, Number], Number]"

_divisions: dict[str, Division] = {}


def add_division(operator: str, division: Division) -> None:
    """Register the function of `//` or `%`: folding needs bounds, which need this file's data."""
    _divisions[operator] = division


P = TypeVar("P", bound="Atom | Condition")
Answer = TypeVar("Answer")


def noted(answer: Callable[[P], Answer]) -> Callable[[P], Answer]:
    """A function of an atom or a condition whose answers these note: they live as long as it."""
    name = f"_{answer.__name__}"

    def noted_answer(part: P) -> Answer:
        notes = part.__dict__
        if name not in notes:
            notes[name] = answer(part)
        value: Answer = notes[name]
        return value

    return noted_answer


class Atom(Arithmetic, ABC):
    """Something that sums do not look into."""

    @abstractmethod
    def _identity(self) -> Hashable:
        """Return a key that two equal atoms share, independent of how they were written."""

    @property
    def number(self) -> Number:
        """The atom as a number."""
        return Expression(0, ((self, 1),))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        # Hashes are kept, and tell most apart without a look at the parts of atoms.
        if not isinstance(other, Atom) or hash(self) != hash(other):
            return False
        if self._token is other._token:
            return True
        if self._identity() != other._identity():
            return False
        other.__dict__["_known_token"] = self._token
        return True

    @property
    def _token(self) -> object:
        """An object that atoms found to be equal share, so that deep atoms are compared once."""
        return self.__dict__.setdefault("_known_token", object())

    def __hash__(self) -> int:
        hash_: int | None = self.__dict__.get("_hash")
        if hash_ is None:
            hash_ = self.__dict__["_hash"] = hash(self._identity())
        return hash_


@dataclass(frozen=True, eq=False)
class Symbol(Atom):
    """A number that is known at run time alone: a size, an offset, an induction variable.

    Args:
        key: its identity: a name, an IR value. Two symbols of one key are one, and must be given
            the same bounds.
        lower, upper: numbers that it never passes, both inclusive; None if absent.
        step: its distance from `lower` is a multiple of this.
        name: for people, or the function that gives it; the text of the key if it is not given.
    """

    key: Hashable
    lower: Number | None = None
    upper: Number | None = None
    step: int = 1
    name: str | Callable[[], str] = ""

    def __post_init__(self) -> None:
        for field in ("lower", "upper"):
            bound = getattr(self, field)
            if bound is not None:
                object.__setattr__(self, field, as_number(bound))
        if self.step < 1:
            raise ArgumentTypeError(
                f"symbol {self} has step {self.step}",
                where=caller_location(),
                expected="a positive step",
            )
        if isinstance(self.lower, int) and isinstance(self.upper, int):
            # The last one that is reached: a loop to 79 by 4 ends at 76.
            reached = self.upper - (self.upper - self.lower) % self.step
            object.__setattr__(self, "upper", reached)

    def _identity(self) -> Hashable:
        return ("symbol", self.key)

    @property
    def number(self) -> Number:
        """The symbol as a number: an integer where its bounds leave one alone."""
        if isinstance(self.lower, int) and self.lower == self.upper:
            return self.lower
        return Expression(0, ((self, 1),))

    def __str__(self) -> str:
        name = self.name() if callable(self.name) else self.name
        return name or str(self.key)

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Product(Atom):
    """A product of two or more atoms."""

    factors: tuple[Atom, ...]

    def _identity(self) -> Hashable:
        return ("product", frozenset(Counter(self.factors).items()))


@dataclass(frozen=True, eq=False)
class Extreme(Atom):
    """The smallest (`is_minimum`) or the largest of two or more numbers."""

    is_minimum: bool
    operands: tuple[Number, ...]

    def _identity(self) -> Hashable:
        return ("min" if self.is_minimum else "max", frozenset(self.operands))


@dataclass(frozen=True, eq=False)
class Quotient(Atom):
    """`dividend // divisor`, rounded down."""

    dividend: Number
    divisor: Number

    def _identity(self) -> Hashable:
        return ("quotient", self.dividend, self.divisor)


@dataclass(frozen=True, eq=False)
class Remainder(Atom):
    """`dividend % divisor`: from 0 to below the divisor."""

    dividend: Number
    divisor: Number

    def _identity(self) -> Hashable:
        return ("remainder", self.dividend, self.divisor)


@dataclass(frozen=True, eq=False)
class Selection(Atom):
    """`then` where a condition holds, else `otherwise`."""

    condition: Condition
    then: Number
    otherwise: Number

    def _identity(self) -> Hashable:
        return ("select", self.condition, self.then, self.otherwise)


class Expression(Arithmetic):
    """A sum of atoms with integer coefficients and a constant; at least one atom. Immutable."""

    __slots__ = ("_hash", "_upper", "constant", "terms")

    constant: int
    terms: tuple[tuple[Atom, int], ...]

    def __init__(self, constant: int, terms: tuple[tuple[Atom, int], ...]) -> None:
        self.constant = constant
        self.terms = terms
        self._hash: int | None = None
        # The bound from `bounds.upper`. The expression keeps it, so it lives as long as its key.
        self._upper: tuple[int | None] | None = None

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Expression)
            and self.constant == other.constant
            and len(self.terms) == len(other.terms)
            and hash(self) == hash(other)
            and frozenset(self.terms) == frozenset(other.terms)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.constant, frozenset(self.terms)))
        return self._hash

    def __repr__(self) -> str:
        return str(self)


Number: TypeAlias = int | Expression
"""An integer that is known, or one that is not."""

Operand: TypeAlias = int | Expression | Atom
"""Operands of arithmetic: a number, or a symbol that stands for one."""


class Relation(Enum):
    """The relation of a difference to zero."""

    AT_MOST = "<="
    EQUAL = "=="
    DIFFERENT = "!="


class Condition:
    """Something that is found out at run time: a comparison, or several of them."""

    __slots__ = ()

    def __str__(self) -> str:
        return _text_of(self)


@dataclass(frozen=True)
class Comparison(Condition):
    """`difference` compared with 0."""

    relation: Relation
    difference: Expression


@dataclass(frozen=True)
class AllOf(Condition):
    """All of two or more conditions."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf(Condition):
    """One or more of two or more conditions."""

    conditions: tuple[Condition, ...]


def as_number(value: Operand) -> Number:
    """A number from a caller's argument: an integer of any kind, a symbol, a number.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if isinstance(value, (int, Expression)) and not isinstance(value, bool):
        return value
    if isinstance(value, Atom):
        return value.number
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise ArgumentTypeError(
        f"{value!r} is not an offset, size or stride",
        where=caller_location(),
        expected="an integer, a Symbol, or an expression of these",
    )


def linear(*parts: tuple[Number, int]) -> Number:
    """The sum of numbers, each times an integer."""
    constant = 0
    terms: dict[Atom, int] = {}
    for number, factor in parts:
        if isinstance(number, int):
            constant += number * factor
            continue
        constant += number.constant * factor
        for atom, coefficient in number.terms:
            terms[atom] = terms.get(atom, 0) + coefficient * factor
    nonzero_terms = tuple((atom, factor) for atom, factor in terms.items() if factor)
    return Expression(constant, nonzero_terms) if nonzero_terms else constant


def multiply(lhs: Number, rhs: Number) -> Number:
    """A product, its brackets multiplied out."""
    if isinstance(rhs, int):
        return linear((lhs, rhs))
    if isinstance(lhs, int):
        return linear((rhs, lhs))
    parts = [(_monomial((a, b)), x * y) for a, x in lhs.terms for b, y in rhs.terms]
    parts += [(a.number, x * rhs.constant) for a, x in lhs.terms]
    parts += [(b.number, y * lhs.constant) for b, y in rhs.terms]
    return linear((lhs.constant * rhs.constant, 1), *parts)


def _monomial(atoms: Iterable[Atom]) -> Number:
    factors = (atom.factors if isinstance(atom, Product) else (atom,) for atom in atoms)
    return Product(reduce(operator.add, factors)).number


def _number_of(value: Arithmetic) -> Number:
    """The number that an atom or an expression represents."""
    return as_number(cast("Atom | Expression", value))


# Texts. Sets of sets share their parts, and a text that spelled each of them out would grow several
# times with every level. So in a long text a part that occurs twice or more has a name: `#2 - #1
# (where #1 = ..., #2 = ...)`.

_LONG = 400
"""From how many characters on a text has names for its parts."""

Part = Atom | Condition


def _text_of(whole: Number | Part) -> str:
    """A number, a part of one, or a condition as a text for people."""
    counts: Counter[Part] = Counter()
    lengths: dict[Part, int] = {}
    if _measured(whole, counts, lengths) < _LONG:
        return _Writer({}).text(whole)
    shared = [part for part in lengths if counts[part] > 1 and not isinstance(part, Symbol)]
    names = {part: f"#{number}" for number, part in enumerate(shared, start=1)}
    writer = _Writer(names)
    where = ", ".join(f"{name} = {writer.spelled(part)}" for part, name in names.items())
    return f"{writer.text(whole)} (where {where})" if where else writer.text(whole)


def _measured(whole: Number | Part, counts: Counter[Part], lengths: dict[Part, int]) -> int:
    """About how long the text of something is; inner parts are noted first, each once."""
    if isinstance(whole, int):
        return len(str(whole))
    if isinstance(whole, Expression):
        return 4 + sum(4 + _measured(atom, counts, lengths) for atom, _ in whole.terms)
    counts[whole] += 1
    if whole not in lengths:
        length = len(str(whole)) if isinstance(whole, Symbol) else 4
        length += sum(2 + _measured(inner, counts, lengths) for inner in inside(whole))
        lengths[whole] = length
    return lengths[whole]


def inside(part: Part) -> Iterator[Number | Part]:
    """The numbers, atoms and conditions that a part is made of; none for a symbol."""
    match part:
        case Product(inner) | AllOf(inner) | AnyOf(inner) | Extreme(_, inner):
            yield from inner
        case Quotient(one, other) | Remainder(one, other):
            yield from (one, other)
        case Selection(condition, then, otherwise):
            yield from (condition, then, otherwise)
        case Comparison(_, difference):
            yield difference


class _Writer:
    def __init__(self, names: dict[Part, str]) -> None:
        self._names = names

    def text(self, whole: Number | Part) -> str:
        """Something as it stands in another."""
        if isinstance(whole, int):
            return str(whole)
        if isinstance(whole, Expression):
            return self._sum(whole)
        return self._names.get(whole) or self.spelled(whole)

    def spelled(self, part: Part) -> str:
        """A part, whether it has a name or not."""
        match part:
            case Symbol():
                return str(part)
            case Product(factors):
                return "*".join(map(self.text, factors))
            case Extreme(is_minimum, operands):
                listed = ", ".join(map(self.text, operands))
                return f"{'min' if is_minimum else 'max'}({listed})"
            case Quotient(dividend, divisor):
                return f"{self._tight(dividend)} // {self._tight(divisor)}"
            case Remainder(dividend, divisor):
                return f"{self._tight(dividend)} % {self._tight(divisor)}"
            case Selection(condition, then, otherwise):
                listed = ", ".join(map(self.text, (condition, then, otherwise)))
                return f"select({listed})"
            case AllOf(conditions):
                return " and ".join(map(self._bracketed, conditions))
            case AnyOf(conditions):
                return " or ".join(map(self._bracketed, conditions))
            case Comparison(relation, difference):
                return f"{self.text(difference)} {relation.value} 0"
        raise TypeError(f"unknown part {type(part).__name__}")

    def _bracketed(self, condition: Condition) -> str:
        return self._names.get(condition) or f"({self.spelled(condition)})"

    def _sum(self, number: Expression) -> str:
        parts = [(self._term(atom, abs(factor)), factor < 0) for atom, factor in number.terms]
        if number.constant:
            # A number first where all else is subtracted from it: `80 - i`.
            first = number.constant > 0 and all(negative for _, negative in parts)
            constant = (str(abs(number.constant)), number.constant < 0)
            parts.insert(0 if first else len(parts), constant)
        text, is_negative = parts[0]
        start = f"-{text}" if is_negative else text
        return start + "".join(f" {'-' if minus else '+'} {text}" for text, minus in parts[1:])

    def _term(self, atom: Atom, factor: int) -> str:
        text = self.text(atom)
        if factor == 1:
            return text
        is_plain = atom in self._names or not isinstance(atom, (Quotient, Remainder))
        return f"{factor}*{text}" if is_plain else f"{factor}*({text})"

    def _tight(self, number: Number) -> str:
        """A number as an operand of `//` or `%`: sums and products get brackets."""
        if isinstance(number, int):
            return str(number)
        ((atom, factor), *rest) = number.terms
        is_plain = not rest and factor == 1 and not number.constant
        is_loose = isinstance(atom, (Quotient, Remainder, Product)) and atom not in self._names
        text = self.text(number)
        return text if is_plain and not is_loose else f"({text})"
