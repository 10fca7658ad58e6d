"""Conditions on positions, such as that of a causal mask: key <= query + 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ._expressions import Applied, Expression, Number, Position

_SMALL = 1 << 40
"""No size of a tensor comes near this, and nothing overflows that is a few of it."""

_PREDICATES = {2: "slt", 3: "sle", 4: "sgt", 5: "sge"}
_OPPOSITE = {"slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt"}
_MIRRORED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}


@dataclass(frozen=True)
class Comparison:
    """`sum of factors * positions + constant`, compared with 0.

    Attributes:
        predicate: `slt`, `sle`, `sgt` or `sge`.
        factors: what the position of each loop is multiplied by.
        constant: what is added.
    """

    predicate: str
    factors: Mapping[int, int]
    constant: int

    @property
    def mirrored(self) -> Comparison:
        """The same with all signs changed."""
        factors = {loop: -factor for loop, factor in self.factors.items()}
        return Comparison(_MIRRORED[self.predicate], factors, -self.constant)

    @property
    def opposite(self) -> Comparison:
        """The comparison that holds where this one does not."""
        return Comparison(_OPPOSITE[self.predicate], self.factors, self.constant)


def comparison_of(expression: Expression) -> Comparison | None:
    """A comparison of positions; None where an expression is none."""
    if not isinstance(expression, Applied) or expression.name != "arith.cmpi":
        return None
    text = expression.attributes.removeprefix("predicate = ").removesuffix(" : i64")
    predicate = _PREDICATES.get(int(text)) if text.isdigit() else None
    left, right = (_linear(each) for each in expression.operands)
    if predicate is None or left is None or right is None:
        return None
    for loop, factor in right.items():
        left[loop] = left.get(loop, 0) - factor
    constant = left.pop(None, 0)
    factors = {loop: f for loop, f in left.items() if f and loop is not None}
    return Comparison(predicate, factors, constant)


def last_seen(changed: Expression, row: int, key: int) -> int | None:
    """Return the distance from a row's own position to the last key whose score is not -inf.

    Args:
        changed: the score after its changes.
        row: a loop over rows.
        key: the loop over keys.

    Returns:
        The distance; None where no condition bounds it.
    """
    return min(_bounds(changed, row, key, {"sge": 0, "sgt": -1}), default=None)


def first_seen(changed: Expression, row: int, key: int) -> int | None:
    """The same for the first key whose score is not -inf."""
    return max(_bounds(changed, row, key, {"sle": 0, "slt": 1}), default=None)


def _needed(changed: Expression) -> list[Comparison]:
    """Comparisons each of which must hold lest a score be -inf."""
    if not isinstance(changed, Applied) or changed.name != "arith.select":
        return []
    condition, yes, no = changed.operands
    if _is_lowest(no):
        return [*_conjuncts(condition), *_needed(yes)]
    if _is_lowest(yes):
        one = comparison_of(condition)
        return [*([one.opposite] if one is not None else []), *_needed(no)]
    return []


def _conjuncts(condition: Expression) -> list[Comparison]:
    if isinstance(condition, Applied) and condition.name == "arith.andi":
        return [each for operand in condition.operands for each in _conjuncts(operand)]
    one = comparison_of(condition)
    return [one] if one is not None else []


def _bounds(changed: Expression, row: int, key: int, more: Mapping[str, int]) -> list[int]:
    """Return the distances from a row's own position to the limits that conditions set to its keys.

    Args:
        more: the number added to a limit, for each predicate of `row - key + limit` that sets one.
    """
    found: list[int] = []
    for condition in _needed(changed):
        one = condition if condition.factors.get(key) == -1 else condition.mirrored
        if one.factors == {row: 1, key: -1} and one.predicate in more:
            found.append(one.constant + more[one.predicate])
    return found


def _is_lowest(expression: Expression) -> bool:
    return isinstance(expression, Number) and expression.text.startswith(
        ("0xFF800000 ", "0xFFF0000000000000 ")
    )


def _linear(expression: Expression) -> dict[int | None, int] | None:
    """An integer as a sum of positions; the constant is at None."""
    match expression:
        case Position(loop=loop):
            return {} if loop is None else {loop: 1}
        case Number(text=text):
            number, _, type_ = text.rpartition(" : ")
            if type_ not in ("index", "i32", "i64") or not number.lstrip("-").isdigit():
                return None
            return {None: int(number)} if abs(int(number)) < _SMALL else None
        case Applied(name="arith.addi" | "arith.subi" as name, operands=(left, right)):
            one, other = _linear(left), _linear(right)
            if one is None or other is None:
                return None
            sign = 1 if name == "arith.addi" else -1
            return {loop: one.get(loop, 0) + sign * other.get(loop, 0) for loop in {**one, **other}}
        case Applied(name="arith.index_cast" | "arith.extsi", operands=(inner,), type=type_):
            # A position that does not fit into 32 bits would not be the same in them.
            return _linear(inner) if type_ in ("index", "i64") else None
    return None
