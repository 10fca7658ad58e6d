"""Casts that limit a value to what the narrower type holds."""

from __future__ import annotations

import math

from linalg_ext.definition.element_types import family, holds, width
from linalg_ext.definition.functions import BINARY, TERNARY, TYPE
from linalg_ext.definition.scalar import Apply, Const, ScalarExpr
from linalg_ext.definition.types import TypeVar

_LARGEST = {
    "f16": 65504.0,
    "bf16": 3.3895313892515355e38,
    "f32": 3.4028234663852886e38,
    "f8E5M2": 57344.0,
    "f8E4M3": 240.0,
    "f8E4M3FN": 448.0,
    "f8E5M2FNUZ": 57344.0,
    "f8E4M3FNUZ": 240.0,
    "f8E4M3B11FNUZ": 30.0,
    "f8E3M4": 15.5,
}
"""The largest finite number of each float format that another may exceed."""


def saturating_cast(
    value: ScalarExpr,
    source: tuple[TypeVar, str],
    target: tuple[TypeVar, str],
    *,
    unsigned: bool,
) -> ScalarExpr:
    """A cast with what lies beyond the target's range at its nearest end.

    A NaN becomes 0 in an integer and stays NaN in a float. An infinity becomes the largest finite
    number of a float type of smaller range. A cast to i1 asks for "not zero", and a complex number
    has no range: both are plain.

    Args:
        value: of the source type.
        source: the type variable of the value, and its element type as MLIR spells it.
        target: those of the result.
        unsigned: whether the integers involved are unsigned.
    """
    to, element = target
    plain = Apply(TYPE["cast_unsigned" if unsigned else "cast_signed"], (value,), to)
    kinds = family(source[1]), family(element)
    if holds(element, source[1]):
        return plain
    if kinds == ("float", "integer"):
        return _rounded_into_range(value, source[0], plain, element, unsigned=unsigned)
    if kinds == ("integer", "integer"):
        low, high = _range(element, unsigned=unsigned)
        # Read as unsigned, no integer is below the range.
        sign = "unsigned" if unsigned else "signed"
        limited = _binary(f"min_{sign}", value, _constant(high, source[0]))
        if not unsigned:
            limited = _binary("max_signed", limited, _constant(low, source[0]))
        return Apply(plain.function, (limited,), to)
    largest = _LARGEST.get(element, math.inf)
    if kinds == ("float", "float") and largest < _LARGEST.get(source[1], math.inf):
        # The source may not have the target's largest number, but then it has the next power of 2.
        is_above = _binary("ge", value, _constant(largest, source[0]))
        is_below = _binary("le", value, _constant(-largest, source[0]))
        inner = _select(is_below, _constant(-largest, to), plain)
        return _select(is_above, _constant(largest, to), inner)
    return plain


def _rounded_into_range(
    value: ScalarExpr, source: TypeVar, plain: Apply, element: str, *, unsigned: bool
) -> ScalarExpr:
    """A float as an integer: compared as a float, limited as an integer.

    The greatest integer may be no float of the source: 2147483647 is none of f32.
    """
    low, high = _range(element, unsigned=unsigned)
    to = plain.type_var
    if to is None:
        return plain
    is_above = _binary("ge", value, _constant(float(high + 1), source))
    is_below = _binary("le", value, _constant(float(low), source))
    is_nan = _binary("ne", value, value)
    inner = _select(is_nan, _constant(0, to), plain)
    return _select(is_above, _constant(high, to), _select(is_below, _constant(low, to), inner))


def _range(element: str, *, unsigned: bool) -> tuple[int, int]:
    bits = width(element)
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _constant(number: float, type_var: TypeVar) -> ScalarExpr:
    return Apply(TYPE["cast_signed"], (Const(number),), type_var)


def _binary(name: str, x: ScalarExpr, y: ScalarExpr) -> Apply:
    return Apply(BINARY[name], (x, y))


def _select(condition: ScalarExpr, x: ScalarExpr, y: ScalarExpr) -> Apply:
    return Apply(TERNARY["select"], (condition, x, y))
