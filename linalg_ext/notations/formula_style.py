"""Construction of formulas, in any syntax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from linalg_ext.definition.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineSymbol,
)

CHOICE, COMPARISON, SUM, QUOTIENT, PRODUCT, NEGATION, POWER, ATOM = range(8)
"""Precedences of the pieces of a formula, the loosest first."""


@dataclass(frozen=True)
class Rendered:
    """A piece of a formula and how tightly it holds together."""

    text: str
    level: int


Form = Callable[["Style", Sequence[Rendered]], Rendered]
"""Writes a function of some arguments."""


@dataclass(frozen=True)
class Style:
    """The spelling of the parts of a formula.

    Attributes:
        forms: functions that are not written as `f(x, y)`.
        reductions: the sign of a reduction, by its function.
        brackets: an opening and a closing bracket.
        member: the sign between dimensions and the tensor that states their ranges.
        separator: between assignments.
        dim, name: spell a dimension or symbol, an operand or function.
        element: spells an element of a tensor.
        affine_forms: the forms of operations on indices.
        reduced: spells the sign of a reduction and its ranges.
        scientific: spells a number from its `repr`.
    """

    forms: Mapping[str, Form]
    reductions: Mapping[str, str]
    brackets: tuple[str, str]
    member: str
    separator: str
    dim: Callable[[str], str]
    name: Callable[[str], str]
    element: Callable[[str, Sequence[str]], str]
    affine_forms: Mapping[AffineKind, Form]
    reduced: Callable[[str, str], str]
    scientific: Callable[[str], str]

    def held(self, piece: Rendered, level: int) -> str:
        """A piece in brackets, unless it holds together as tightly as a level asks."""
        opening, closing = self.brackets
        return piece.text if piece.level >= level else f"{opening}{piece.text}{closing}"

    def call(self, name: str, args: Sequence[Rendered]) -> Rendered:
        """`name(x, y)`."""
        opening, closing = self.brackets
        inside = ", ".join(arg.text for arg in args)
        return Rendered(f"{self.name(name)}{opening}{inside}{closing}", ATOM)

    def function(self, name: str, args: Sequence[Rendered]) -> Rendered:
        """A function of the language."""
        form = self.forms.get(name)
        return form(self, args) if form is not None else self.call(name, args)

    def reduction(self, name: str, ranges: str, body: Rendered) -> Rendered:
        """A reduction of a body over ranges."""
        sign = self.reductions.get(name) or self.name(name)
        return Rendered(f"{self.reduced(sign, ranges)} {self.held(body, QUOTIENT)}", SUM)

    def access(self, operand: str, indices: Sequence[Rendered]) -> str:
        """An element of a tensor; of one of rank 0, its name."""
        if not indices:
            return self.name(operand)
        return self.element(self.name(operand), [index.text for index in indices])

    def number(self, value: complex) -> Rendered:
        """A constant."""
        text = self.scientific(repr(value))
        return Rendered(text, NEGATION if text.startswith("-") else ATOM)

    def affine(self, expr: AffineExpr) -> Rendered:
        """An index."""
        if isinstance(expr, AffineDim | AffineSymbol):
            return Rendered(self.dim(expr.name), ATOM)
        if isinstance(expr, AffineConst):
            return self.number(expr.value)
        if not isinstance(expr, AffineBinary):
            return Rendered(str(expr), SUM)
        if expr.kind is AffineKind.ADD and (taken := _taken_away(expr.rhs)) is not None:
            minus = infix(" - ", SUM, grouped=True)
            return minus(self, [self.affine(expr.lhs), self.affine(taken)])
        if expr.kind is AffineKind.MUL and expr.rhs == AffineConst(-1):
            return negation(self, [self.affine(expr.lhs)])
        form = self.affine_forms[expr.kind]
        return form(self, [self.affine(expr.lhs), self.affine(expr.rhs)])


def infix(sign: str, level: int, *, grouped: bool = False) -> Form:
    """`x sign y`; `grouped` where a right side of the same level needs brackets."""

    def form(style: Style, args: Sequence[Rendered]) -> Rendered:
        left, right = args
        text = f"{style.held(left, level)}{sign}{style.held(right, level + grouped)}"
        return Rendered(text, level)

    return form


def quotient(sign: str) -> Form:
    """`x sign y` for divisions, which no product may come near without brackets."""

    def form(style: Style, args: Sequence[Rendered]) -> Rendered:
        left, right = args
        text = f"{style.held(left, PRODUCT)}{sign}{style.held(right, NEGATION)}"
        return Rendered(text, QUOTIENT)

    return form


def negation(style: Style, args: Sequence[Rendered]) -> Rendered:
    """`-x`."""
    return Rendered(f"-{style.held(args[0], POWER)}", NEGATION)


def around(opening: str, closing: str) -> Form:
    """`|x|` and the like: brackets of its own."""
    return lambda style, args: Rendered(f"{opening}{args[0].text}{closing}", ATOM)


def power_of(exponent: str) -> Form:
    """A fixed power, as a superscript."""
    return lambda style, args: Rendered(f"{style.held(args[0], ATOM)}{exponent}", POWER)


def _taken_away(expr: AffineExpr) -> AffineExpr | None:
    """x, where an expression is -x."""
    if isinstance(expr, AffineConst):
        return AffineConst(-expr.value) if expr.value < 0 else None
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.MUL:
        factor = expr.rhs
        if isinstance(factor, AffineConst) and factor.value < 0:
            return expr.lhs * -factor.value
    return None
