"""Scalar expressions of elements of tensors and buffers, read from the bodies of structured ops.

Loops are numbers; an axis of one element has None.

Models of 16-bit floats cast to f32 and back around each op. A nest does not have its scores in
memory, where they would be rounded: all is computed in f32, from operands that are widened as they
are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeGuard

from linalg_ext.bindings import ir

At: TypeAlias = "tuple[int | None, ...]"
"""The loop that runs along each axis; None for an axis of one element."""


@dataclass(frozen=True)
class Element:
    """An element of a tensor or a buffer."""

    value: Any
    at: At

    @property
    def loops(self) -> set[int]:
        """The loops along its axes."""
        return {loop for loop in self.at if loop is not None}


@dataclass(frozen=True)
class Number:
    """A constant, as MLIR writes it: `0.125 : f32`."""

    text: str


@dataclass(frozen=True)
class Position:
    """The position of a loop, an index; None for a loop of one step."""

    loop: int | None


@dataclass(frozen=True)
class Applied:
    """An op of one result on scalars; its attributes and type are as MLIR writes them."""

    name: str
    attributes: str
    operands: tuple[Expression, ...]
    type: str

    def mapped(self, function: Callable[[Expression], Expression]) -> Applied:
        """Return the op with a function applied to its operands."""
        return replace(self, operands=tuple(map(function, self.operands)))


Expression: TypeAlias = "Element | Number | Position | Applied"


def is_op(expression: Expression, name: str) -> TypeGuard[Applied]:
    """Return whether an expression is an op of a name on others."""
    return isinstance(expression, Applied) and expression.name == name


def walk(expression: Expression) -> Iterator[Expression]:
    yield expression
    if isinstance(expression, Applied):
        for operand in expression.operands:
            yield from walk(operand)


def elements_of(expression: Expression) -> list[Element]:
    """Return the elements in an expression, each once."""
    elements: list[Element] = []
    for part in walk(expression):
        if isinstance(part, Element) and part not in elements:
            elements.append(part)
    return elements


def replaced(expression: Expression, old: Expression, new: Expression) -> Expression:
    if expression == old:
        return new
    if isinstance(expression, Applied):
        return expression.mapped(lambda operand: replaced(operand, old, new))
    return expression


def product(expression: Expression) -> list[Expression]:
    if is_op(expression, "arith.mulf"):
        return [factor for operand in expression.operands for factor in product(operand)]
    return [expression]


def is_constant(expression: Expression) -> bool:
    """Return whether an expression is a number, or a cast of one."""
    if isinstance(expression, Applied):
        return all(isinstance(operand, Number) for operand in expression.operands)
    return isinstance(expression, Number)


def number(expression: Expression) -> float | None:
    if not isinstance(expression, Number):
        return None
    text, _, type_ = expression.text.rpartition(" : ")
    if not text:
        return {"true": 1.0, "false": 0.0}.get(expression.text)
    if not type_.startswith("f"):
        return float(int(text)) if text.lstrip("-").isdigit() else None
    if not text.startswith("0x"):
        return float(text)
    attribute = ir.FloatAttr(ir.Attribute.parse(expression.text))
    return float(attribute.value)


NARROW = ("bf16", "f16")
WIDE = "f32"


def type_of(expression: Expression) -> str:
    match expression:
        case Applied(type=type_):
            return type_
        case Element(value=value):
            return str(ir.ShapedType(value.type).element_type)
        case Number(text=text):
            return text.rpartition(" : ")[2] if " : " in text else "i1"
    return "index"


def unrounded(expression: Expression) -> Expression:
    """Return an expression of f32 without a cast to a narrow type and back.

    The operands of a select are widened each by itself.
    """
    if not is_op(expression, "arith.extf") or expression.type != WIDE:
        return expression
    (inner,) = expression.operands
    if is_op(inner, "arith.truncf") and type_of(inner.operands[0]) == WIDE:
        return unrounded(inner.operands[0])
    if is_op(inner, "arith.select") and inner.type in NARROW:
        condition, *chosen = inner.operands
        cast = [Applied("arith.extf", "", (operand,), WIDE) for operand in chosen]
        return Applied("arith.select", "", (condition, *cast), WIDE)
    return expression


def widened(expression: Expression) -> Expression:
    """Return an expression whose narrow floats are computed in f32."""
    if isinstance(expression, Number):
        return _number(expression)
    if isinstance(expression, Element):
        is_narrow = type_of(expression) in NARROW
        return Applied("arith.extf", "", (expression,), WIDE) if is_narrow else expression
    if not isinstance(expression, Applied):
        return expression
    operands = tuple(map(widened, expression.operands))
    type_ = WIDE if expression.type in NARROW else expression.type
    if expression.name in ("arith.truncf", "arith.extf"):
        if type_of(operands[0]) == type_:
            return operands[0]
        widens = type_of(operands[0]) == WIDE and type_ == "f64"
        return Applied("arith.extf" if widens else "arith.truncf", "", operands, type_)
    return Applied(expression.name, expression.attributes, operands, type_)


def _number(number: Number) -> Number:
    if type_of(number) not in NARROW:
        return number
    value = ir.FloatAttr(ir.Attribute.parse(number.text)).value
    return Number(str(ir.FloatAttr.get(ir.F32Type.get(), value, loc=ir.Location.unknown())))


LOWEST = {"f32": "0xFF800000", "f64": "0xFFF0000000000000"}
"""-inf, as MLIR writes it."""

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
        factors: the factor of the position of each loop.
        constant: the constant term.
    """

    predicate: str
    factors: Mapping[int, int]
    constant: int

    @property
    def mirrored(self) -> Comparison:
        factors = {loop: -factor for loop, factor in self.factors.items()}
        return Comparison(_MIRRORED[self.predicate], factors, -self.constant)

    @property
    def opposite(self) -> Comparison:
        return Comparison(_OPPOSITE[self.predicate], self.factors, self.constant)


def comparison_of(expression: Expression) -> Comparison | None:
    """Return an expression as a comparison of positions; None if it is not one."""
    if not is_op(expression, "arith.cmpi"):
        return None
    text = expression.attributes.removeprefix("predicate = ").removesuffix(" : i64")
    predicate = _PREDICATES.get(int(text)) if text.isdigit() else None
    left, right = (_linear(operand) for operand in expression.operands)
    if predicate is None or left is None or right is None:
        return None
    for loop, factor in right.items():
        left[loop] = left.get(loop, 0) - factor
    constant = left.pop(None, 0)
    factors = {loop: f for loop, f in left.items() if f and loop is not None}
    return Comparison(predicate, factors, constant)


def last_seen(changed: Expression, row: int, key: int) -> int | None:
    """Return the distance from a row's own position to the last key whose score is not -inf.

    None where no condition on the row and the key, both loops, bounds it.
    """
    return min(_bounds(changed, row, key, {"sge": 0, "sgt": -1}), default=None)


def first_seen(changed: Expression, row: int, key: int) -> int | None:
    """Return the distance to the first key whose score is not -inf, as `last_seen` does."""
    return max(_bounds(changed, row, key, {"sle": 0, "slt": 1}), default=None)


def _needed(changed: Expression) -> list[Comparison]:
    """Return the comparisons all of which must hold for a score other than -inf."""
    if not is_op(changed, "arith.select"):
        return []
    condition, yes, no = changed.operands
    if _is_lowest(no):
        return [*_conjuncts(condition), *_needed(yes)]
    if _is_lowest(yes):
        comparisons = filter(None, [comparison_of(condition)])
        return [*(comparison.opposite for comparison in comparisons), *_needed(no)]
    return []


def _conjuncts(condition: Expression) -> list[Comparison]:
    if is_op(condition, "arith.andi"):
        return [comparison for operand in condition.operands for comparison in _conjuncts(operand)]
    return [*filter(None, [comparison_of(condition)])]


def _bounds(changed: Expression, row: int, key: int, more: Mapping[str, int]) -> list[int]:
    """Return the distances from a row's own position to the limits that conditions set to its keys.

    Args:
        more: the number added to a limit, for each predicate of `row - key + limit` that sets one.
    """
    bounds: list[int] = []
    for condition in _needed(changed):
        comparison = condition if condition.factors.get(key) == -1 else condition.mirrored
        if comparison.factors == {row: 1, key: -1} and comparison.predicate in more:
            bounds.append(comparison.constant + more[comparison.predicate])
    return bounds


def _is_lowest(expression: Expression) -> bool:
    return isinstance(expression, Number) and expression.text.split()[0] in LOWEST.values()


def _linear(expression: Expression) -> dict[int | None, int] | None:
    """Return an integer as a sum of positions by loop, the constant at None; else None."""
    match expression:
        case Position(loop=loop):
            return {} if loop is None else {loop: 1}
        case Number(text=text):
            number, _, type_ = text.rpartition(" : ")
            if type_ not in ("index", "i32", "i64") or not number.lstrip("-").isdigit():
                return None
            return {None: int(number)} if abs(int(number)) < _SMALL else None
        case Applied(name="arith.addi" | "arith.subi" as name, operands=(left, right)):
            left_terms, right_terms = _linear(left), _linear(right)
            if left_terms is None or right_terms is None:
                return None
            sign = 1 if name == "arith.addi" else -1
            return {
                loop: left_terms.get(loop, 0) + sign * right_terms.get(loop, 0)
                for loop in {**left_terms, **right_terms}
            }
        case Applied(name="arith.index_cast" | "arith.extsi", operands=(inner,), type=type_):
            # A position that does not fit into 32 bits would not be the same in them.
            return _linear(inner) if type_ in ("index", "i64") else None
    return None
