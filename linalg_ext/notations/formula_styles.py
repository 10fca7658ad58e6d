"""The two styles of formulas: a line of text, and LaTeX.

A function that is in no table is written `name(x, y)`: the language may grow without them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from linalg_ext.definition.affine import AffineKind
from linalg_ext.notations.formula_style import (
    ATOM,
    CHOICE,
    COMPARISON,
    POWER,
    PRODUCT,
    QUOTIENT,
    SUM,
    Form,
    Rendered,
    Style,
    around,
    infix,
    negation,
    power_of,
    quotient,
)


def _named(name: str) -> Form:
    return lambda style, args: style.call(name, args)


def _comparisons(spellings: Mapping[str, str]) -> dict[str, Form]:
    return {name: infix(f" {sign} ", COMPARISON, grouped=True) for name, sign in spellings.items()}


_SIGNED: dict[str, Form] = {
    f"{name}{suffix}": _named(name)
    for name in ("max", "min")
    for suffix in ("_signed", "_unsigned")
}


def _text_choice(style: Style, args: Sequence[Rendered]) -> Rendered:
    condition, x, y = (style.held(arg, COMPARISON) for arg in args)
    return Rendered(f"{x} if {condition} else {y}", CHOICE)


def _text_reciprocal(style: Style, args: Sequence[Rendered]) -> Rendered:
    return Rendered(f"1 / {style.held(args[0], POWER)}", QUOTIENT)


TEXT = Style(
    forms={
        **_SIGNED,
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
        "reciprocal": _text_reciprocal,
        "rsqrt": lambda style, args: Rendered(f"1 / sqrt({args[0].text})", QUOTIENT),
        "select": _text_choice,
    },
    reductions={
        "add": "Σ",
        "mul": "Π",
        "max_signed": "max",
        "max_unsigned": "max",
        "min_signed": "min",
        "min_unsigned": "min",
    },
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
    reduced=lambda sign, ranges: f"{sign}_{{{ranges}}}",
    scientific=str,
)


def _latex_name(name: str) -> str:
    """`A`, `d_{0}`, `\\mathrm{strides}`: what is longer than a letter stands upright."""
    if found := re.fullmatch(r"([A-Za-z])(\d+)", name):
        return f"{found[1]}_{{{found[2]}}}"
    if len(name) == 1:
        return name
    return rf"\mathrm{{{name.replace('_', chr(92) + '_')}}}"


def _latex_dim(name: str) -> str:
    if found := re.fullmatch(r"([A-Za-z])(\d+)", name):
        return f"{found[1]}_{{{found[2]}}}"
    return name if len(name) == 1 else rf"\mathit{{{name.replace('_', chr(92) + '_')}}}"


def _latex_element(name: str, indices: Sequence[str]) -> str:
    """`C_{mn}`; with commas where an index is more than a letter."""
    apart = "" if all(len(index) == 1 for index in indices) else ", "
    # A name that has a subscript already, such as d_{0}, gets no second one beside it.
    base = f"{{{name}}}" if "_{" in name else name
    return f"{base}_{{{apart.join(indices)}}}"


def _latex_product(style: Style, args: Sequence[Rendered]) -> Rendered:
    left, right = (style.held(arg, PRODUCT) for arg in args)
    sign = r" \cdot " if right[:1].isdigit() or left[-1:].isdigit() else " "
    return Rendered(f"{left}{sign}{right}", PRODUCT)


def _latex_fraction(style: Style, args: Sequence[Rendered]) -> Rendered:
    return Rendered(rf"\frac{{{args[0].text}}}{{{args[1].text}}}", ATOM)


def _latex_choice(style: Style, args: Sequence[Rendered]) -> Rendered:
    condition, x, y = (arg.text for arg in args)
    cases = rf"{x} & \text{{if }} {condition} \\ {y} & \text{{otherwise}}"
    return Rendered(rf"\begin{{cases}} {cases} \end{{cases}}", ATOM)


def _latex_root(style: Style, args: Sequence[Rendered]) -> Rendered:
    return Rendered(rf"\sqrt{{{args[0].text}}}", ATOM)


def _latex_power(style: Style, args: Sequence[Rendered]) -> Rendered:
    return Rendered(f"{style.held(args[0], ATOM)}^{{{args[1].text}}}", POWER)


def _latex_operator(name: str) -> Form:
    def form(style: Style, args: Sequence[Rendered]) -> Rendered:
        opening, closing = style.brackets
        inside = ", ".join(arg.text for arg in args)
        return Rendered(rf"\{name}{opening}{inside}{closing}", ATOM)

    return form


def _latex_number(text: str) -> str:
    mantissa, exponent, power = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if exponent else text


LATEX = Style(
    forms={
        **{name: _latex_operator(name.partition("_")[0]) for name in _SIGNED},
        **{name: _latex_operator(name) for name in ("exp", "log", "tanh", "sin", "cos", "tan")},
        **_comparisons({"eq": "=", "ne": r"\ne", "lt": "<", "le": r"\le", "gt": ">", "ge": r"\ge"}),
        "add": infix(" + ", SUM),
        "sub": infix(" - ", SUM, grouped=True),
        "mul": _latex_product,
        "div": _latex_fraction,
        "div_unsigned": _latex_fraction,
        "powf": _latex_power,
        "negf": negation,
        "square": power_of("^{2}"),
        "sqrt": _latex_root,
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
        "max_signed": r"\max",
        "max_unsigned": r"\max",
        "min_signed": r"\min",
        "min_unsigned": r"\min",
    },
    brackets=(r"\left(", r"\right)"),
    member=r"\in",
    separator=r";\quad ",
    dim=_latex_dim,
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
    reduced=lambda sign, ranges: f"{sign}_{{{ranges}}}",
    scientific=_latex_number,
)
