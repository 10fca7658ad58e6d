"""Numbers and conditions as texts.

Sets of sets share their parts, and a text that spelled each of them out would grow several times
with every level. So in a long text what occurs twice or more has a name: `#2 - #1 (where #1 = ...,
#2 = ...)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from linalg_ext.symbolic.integers.expression import (
    AllOf,
    AnyOf,
    Atom,
    Comparison,
    Condition,
    Expression,
    Extreme,
    Number,
    Product,
    Quotient,
    Remainder,
    Selection,
    Symbol,
)

_LONG = 400
"""From how many characters on a text has names for its parts."""

Part = Atom | Condition


def text_of(whole: Number | Part) -> str:
    """A number, a part of one, or a condition as a text for people."""
    counts: Counter[Part] = Counter()
    lengths: dict[Part, int] = {}
    if _measured(whole, counts, lengths) < _LONG:
        return _Writer({}).text(whole)
    shared = [part for part in lengths if counts[part] > 1 and not isinstance(part, Symbol)]
    names = {part: f"#{at}" for at, part in enumerate(shared, start=1)}
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
        length += sum(2 + _measured(each, counts, lengths) for each in _inside(whole))
        lengths[whole] = length
    return lengths[whole]


def _inside(part: Part) -> Iterator[Number | Part]:
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
    """Writes texts in which some parts have names."""

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
        ((atom, factor), *others) = number.terms
        is_plain = not others and factor == 1 and not number.constant
        is_loose = isinstance(atom, (Quotient, Remainder, Product)) and atom not in self._names
        text = self.text(number)
        return text if is_plain and not is_loose else f"({text})"
