"""A definition as a formula for people: one line of text, or LaTeX.

    C[m, n] = Σ_{k} A[m, k] * B[k, n]

Casts are left out unless they are asked for, and so is the start of a reduction. Written only: a
formula does not say types, so none is read back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from linalg_ext.definition.functions import FunctionKind
from linalg_ext.definition.model import Assignment, OpDefinition, Operand, OperandKind
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Carried,
    Const,
    Index,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    Size,
)
from linalg_ext.notations.registry import Notation, register
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineSymbol,
)


def formula(definition: OpDefinition, *, casts: bool = False) -> str:
    """The formula in one line of text.

    Args:
        casts: whether to show casts, as `U(A[m, k])`.
    """
    return _Formula(definition, TEXT, casts).line()


def latex(definition: OpDefinition, *, casts: bool = False) -> str:
    """The formula in LaTeX, without dollar signs; arguments as of `formula`."""
    return _Formula(definition, LATEX, casts).line()


register(Notation("formula", "a formula for people, in one line of text", write=formula))
register(Notation("latex", "a formula for people, in LaTeX", write=latex))


class _Formula:
    """Writes one definition in one style."""

    def __init__(self, definition: OpDefinition, style: Style, casts: bool) -> None:
        self._definition = definition
        self._style = style
        self._casts = casts
        self._shown_names: set[str] = set()

    def line(self) -> str:
        """All assignments, and remarks on operands that they do not name."""
        style = self._style
        parts = [self._assignment(assignment) for assignment in self._definition.assignments]
        notes = [
            self._note(o) for o in self._definition.operands if o.name not in self._shown_names
        ]
        return style.separator.join([*parts, *notes])

    def _assignment(self, assignment: Assignment) -> str:
        target = self._access(assignment.target)
        return f"{target} = {self._assigned(assignment).text}"

    def _assigned(self, assignment: Assignment) -> Rendered:
        reduction = assignment.reduction
        rest = _without(assignment.value, assignment.target) if reduction else None
        if reduction is None or (reduction.function is not None and not reduction.dims):
            return self._expression(assignment.value)
        function = reduction.function
        if function is None or rest is None:
            # The value of a fold contains the value before. The order of the iteration space
            # distinguishes folds, so the dimensions are in that order.
            dims = tuple(sorted(reduction.dims, key=self._definition.dims.index))
            return self._style.reduction(
                "fold", self._ranges(dims), self._expression(assignment.value)
            )
        name = reduction.attribute or function.name
        if reduction.attribute:
            self._shown_names.add(reduction.attribute)
        body = self._expression(rest)
        return self._style.reduction(name, self._ranges(reduction.dims), body)

    def _ranges(self, dims: tuple[str, ...]) -> str:
        """The dimensions of a reduction, and the operands whose shapes bound them."""
        free = list(dims)
        groups = []
        for operand in self._definition.inputs:
            own = [dim.name for dim in operand.index_dims or () if isinstance(dim, AffineDim)]
            if own and set(own) <= set(free):
                self._shown_names.add(operand.name)
                names = ", ".join(map(self._style.dim, own))
                groups.append(f"{names} {self._style.member} {self._style.name(operand.name)}")
                free = [dim for dim in free if dim not in own]
        return ", ".join([*map(self._style.dim, free), *groups])

    def _expression(self, expr: ScalarExpr) -> Rendered:
        style = self._style
        match expr:
            case Access():
                return Rendered(self._access(expr), ATOM)
            case Lookup() | Carried():
                self._shown_names.add(expr.operand)
                indices = [
                    style.affine(i) if isinstance(i, AffineExpr) else self._expression(i)
                    for i in expr.indices
                ]
                return Rendered(self._style.access(expr.operand, indices), ATOM)
            case ScalarOperand(operand=name):
                self._shown_names.add(name)
                return Rendered(style.name(name), ATOM)
            case Const(value=value):
                return style.number(value)
            case Index(dim=dim) | Size(symbol=dim):
                return Rendered(style.dim(dim), ATOM)
            case Apply():
                return self._apply(expr)
            case _:
                return Rendered(str(expr), SUM)

    def _apply(self, expr: Apply) -> Rendered:
        args = [self._expression(arg) for arg in expr.args]
        is_cast = expr.function.kind is FunctionKind.TYPE
        if is_cast and not self._casts:
            return args[0]
        if expr.attribute is not None:
            self._shown_names.add(expr.attribute)
        if is_cast or expr.attribute is not None:
            name = str(expr.type_var) if is_cast else str(expr.attribute)
            return self._style.call(name, args)
        return self._style.function(expr.function.name, args)

    def _access(self, access: Access) -> str:
        self._shown_names.add(access.operand)
        return self._style.access(access.operand, list(map(self._style.affine, access.indices)))

    def _note(self, operand: Operand) -> str:
        """The value of an attribute, or the dimensions of a tensor, that no assignment mentions."""
        style = self._style
        name = style.name(operand.name)
        if operand.kind is OperandKind.INDEX_ATTR:
            values = ", ".join(style.affine(expr).text for expr in operand.shape)
            return f"{name} = ({values})"
        if operand.kind.is_attribute:
            return f"{name} = {style.name(str(operand.default))}"
        dims = ", ".join(style.affine(index).text for index in operand.index_dims or ())
        return f"({dims}) {style.member} {name}"


def _without(value: ScalarExpr, target: Access) -> ScalarExpr | None:
    """The value that an accumulation adds, without the target; None for other values."""
    if value == target or not isinstance(value, Apply) or len(value.args) != 2:
        return None
    if target in value.args:
        return next(arg for arg in value.args if arg != target)
    for position, arg in enumerate(value.args):
        if any(part == target for part in arg.walk()):
            rest = _without(arg, target)
            if rest is None:
                return None
            args = list(value.args)
            args[position] = rest
            return replace(value, args=tuple(args))
    return None


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
    scientific: Callable[[str], str]

    def bracketed(self, piece: Rendered, level: int) -> str:
        """A piece in brackets, unless it holds together as tightly as a level asks."""
        opening, closing = self.brackets
        return piece.text if piece.level >= level else f"{opening}{piece.text}{closing}"

    def call(self, name: str, args: Sequence[Rendered]) -> Rendered:
        """`name(x, y)`."""
        return self.applied(self.name(name), args)

    def applied(self, sign: str, args: Sequence[Rendered]) -> Rendered:
        """The sign of a function before its arguments."""
        opening, closing = self.brackets
        inside = ", ".join(arg.text for arg in args)
        return Rendered(f"{sign}{opening}{inside}{closing}", ATOM)

    def function(self, name: str, args: Sequence[Rendered]) -> Rendered:
        """A function of the language."""
        form = self.forms.get(name)
        return form(self, args) if form is not None else self.call(name, args)

    def reduction(self, name: str, ranges: str, body: Rendered) -> Rendered:
        """A reduction of a body over ranges."""
        sign = self.reductions.get(name) or self.name(name)
        return Rendered(f"{sign}_{{{ranges}}} {self.bracketed(body, QUOTIENT)}", SUM)

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
        if expr.kind is AffineKind.ADD and (subtracted := _negated(expr.rhs)) is not None:
            minus = infix(" - ", SUM, grouped=True)
            return minus(self, [self.affine(expr.lhs), self.affine(subtracted)])
        if expr.kind is AffineKind.MUL and expr.rhs == AffineConst(-1):
            return negation(self, [self.affine(expr.lhs)])
        form = self.affine_forms[expr.kind]
        return form(self, [self.affine(expr.lhs), self.affine(expr.rhs)])


def infix(sign: str, level: int, *, grouped: bool = False) -> Form:
    """`x sign y`; `grouped` where a right side of the same level needs brackets."""

    def form(style: Style, args: Sequence[Rendered]) -> Rendered:
        left, right = args
        text = f"{style.bracketed(left, level)}{sign}{style.bracketed(right, level + grouped)}"
        return Rendered(text, level)

    return form


def quotient(sign: str) -> Form:
    """`x sign y` for divisions, which no product may come near without brackets."""

    def form(style: Style, args: Sequence[Rendered]) -> Rendered:
        left, right = args
        text = f"{style.bracketed(left, PRODUCT)}{sign}{style.bracketed(right, NEGATION)}"
        return Rendered(text, QUOTIENT)

    return form


def negation(style: Style, args: Sequence[Rendered]) -> Rendered:
    """`-x`."""
    return Rendered(f"-{style.bracketed(args[0], POWER)}", NEGATION)


def around(opening: str, closing: str) -> Form:
    """`|x|` and the like: brackets of its own."""
    return lambda style, args: Rendered(f"{opening}{args[0].text}{closing}", ATOM)


def power_of(exponent: str) -> Form:
    """A fixed power, as a superscript."""
    return lambda style, args: Rendered(f"{style.bracketed(args[0], ATOM)}{exponent}", POWER)


def _negated(expr: AffineExpr) -> AffineExpr | None:
    """x, where an expression is -x."""
    if isinstance(expr, AffineConst):
        return AffineConst(-expr.value) if expr.value < 0 else None
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.MUL:
        factor = expr.rhs
        if isinstance(factor, AffineConst) and factor.value < 0:
            return expr.lhs * -factor.value
    return None


def _named(name: str) -> Form:
    return lambda style, args: style.call(name, args)


def _comparisons(spellings: Mapping[str, str]) -> dict[str, Form]:
    return {name: infix(f" {sign} ", COMPARISON, grouped=True) for name, sign in spellings.items()}


_EXTREMES = {
    f"{word}{suffix}": word for word in ("max", "min") for suffix in ("_signed", "_unsigned")
}


def _text_choice(style: Style, args: Sequence[Rendered]) -> Rendered:
    condition, x, y = (style.bracketed(arg, COMPARISON) for arg in args)
    return Rendered(f"{x} if {condition} else {y}", CHOICE)


TEXT = Style(
    forms={
        **{name: _named(word) for name, word in _EXTREMES.items()},
        **_comparisons({"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}),
        "add": infix(" + ", SUM),
        "sub": infix(" - ", SUM, grouped=True),
        "mul": infix(" * ", PRODUCT),
        "div": quotient(" / "),
        "div_unsigned": quotient(" / "),
        "powf": infix(" ** ", POWER, grouped=True),
        "negf": negation,
        "square": power_of("²"),
        "abs": around("|", "|"),
        "floor": around("⌊", "⌋"),
        "ceil": around("⌈", "⌉"),
        "reciprocal": lambda style, args: Rendered(
            f"1 / {style.bracketed(args[0], POWER)}", QUOTIENT
        ),
        "rsqrt": lambda style, args: Rendered(f"1 / sqrt({args[0].text})", QUOTIENT),
        "select": _text_choice,
    },
    reductions={"add": "Σ", "mul": "Π", **_EXTREMES},
    brackets=("(", ")"),
    member="∈",
    separator="; ",
    dim=str,
    name=str,
    element=lambda name, indices: f"{name}[{', '.join(indices)}]",
    affine_forms={
        AffineKind.ADD: infix(" + ", SUM),
        AffineKind.MUL: infix(" * ", PRODUCT),
        AffineKind.MOD: quotient(" mod "),
        AffineKind.FLOORDIV: quotient(" floordiv "),
        AffineKind.CEILDIV: quotient(" ceildiv "),
    },
    scientific=str,
)


def _latex_name(name: str, font: str = "mathrm") -> str:
    """`A`, `d_{0}`, `\\mathrm{strides}`: a name of several letters stands upright."""
    if match := re.fullmatch(r"([A-Za-z])(\d+)", name):
        return f"{match[1]}_{{{match[2]}}}"
    return name if len(name) == 1 else rf"\{font}{{{name.replace('_', chr(92) + '_')}}}"


def _latex_element(name: str, indices: Sequence[str]) -> str:
    """`C_{mn}`; with commas where an index is more than a letter."""
    apart = "" if all(len(index) == 1 for index in indices) else ", "
    # A name with a subscript, such as d_{0}, is put in braces before a second one.
    base = f"{{{name}}}" if "_{" in name else name
    return f"{base}_{{{apart.join(indices)}}}"


def _latex_product(style: Style, args: Sequence[Rendered]) -> Rendered:
    left, right = (style.bracketed(arg, PRODUCT) for arg in args)
    sign = r" \cdot " if right[:1].isdigit() or left[-1:].isdigit() else " "
    return Rendered(f"{left}{sign}{right}", PRODUCT)


def _latex_fraction(style: Style, args: Sequence[Rendered]) -> Rendered:
    return Rendered(rf"\frac{{{args[0].text}}}{{{args[1].text}}}", ATOM)


def _latex_choice(style: Style, args: Sequence[Rendered]) -> Rendered:
    condition, x, y = (arg.text for arg in args)
    cases = rf"{x} & \text{{if }} {condition} \\ {y} & \text{{otherwise}}"
    return Rendered(rf"\begin{{cases}} {cases} \end{{cases}}", ATOM)


def _latex_operator(name: str) -> Form:
    return lambda style, args: style.applied(rf"\{name}", args)


def _latex_number(text: str) -> str:
    mantissa, exponent, power = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if exponent else text


LATEX = Style(
    forms={
        **{name: _latex_operator(word) for name, word in _EXTREMES.items()},
        **{name: _latex_operator(name) for name in ("exp", "log", "tanh", "sin", "cos", "tan")},
        **_comparisons({"eq": "=", "ne": r"\ne", "lt": "<", "le": r"\le", "gt": ">", "ge": r"\ge"}),
        "add": infix(" + ", SUM),
        "sub": infix(" - ", SUM, grouped=True),
        "mul": _latex_product,
        "div": _latex_fraction,
        "div_unsigned": _latex_fraction,
        "powf": lambda style, args: Rendered(
            f"{style.bracketed(args[0], ATOM)}^{{{args[1].text}}}", POWER
        ),
        "negf": negation,
        "square": power_of("^{2}"),
        "sqrt": around(r"\sqrt{", "}"),
        "rsqrt": lambda style, args: Rendered(rf"\frac{{1}}{{\sqrt{{{args[0].text}}}}}", ATOM),
        "reciprocal": lambda style, args: Rendered(rf"\frac{{1}}{{{args[0].text}}}", ATOM),
        "abs": around(r"\left|", r"\right|"),
        "floor": around(r"\lfloor ", r" \rfloor"),
        "ceil": around(r"\lceil ", r" \rceil"),
        "select": _latex_choice,
    },
    reductions={
        "add": r"\sum",
        "mul": r"\prod",
        **{name: rf"\{word}" for name, word in _EXTREMES.items()},
    },
    brackets=(r"\left(", r"\right)"),
    member=r"\in",
    separator=r";\quad ",
    dim=lambda name: _latex_name(name, "mathit"),
    name=_latex_name,
    element=_latex_element,
    affine_forms={
        AffineKind.ADD: infix(" + ", SUM),
        AffineKind.MUL: _latex_product,
        AffineKind.MOD: quotient(r" \bmod "),
        AffineKind.FLOORDIV: lambda style, args: Rendered(
            rf"\lfloor {_latex_fraction(style, args).text} \rfloor", ATOM
        ),
        AffineKind.CEILDIV: lambda style, args: Rendered(
            rf"\lceil {_latex_fraction(style, args).text} \rceil", ATOM
        ),
    },
    scientific=_latex_number,
)
