"""Attention of 16-bit floats: what it computes, without the roundings in between.

Models cast to f32 and back around each op. A nest that never holds its scores has no place to round
them at: all is computed in f32, from operands that are widened as they are read.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._expressions import Applied, Element, Expression, Number

NARROW = ("bf16", "f16")
WIDE = "f32"


def type_of(expression: Expression) -> str:
    """The type of an expression, as MLIR writes it."""
    match expression:
        case Applied(type=type_):
            return type_
        case Element(value=value):
            return str(ir.ShapedType(value.type).element_type)
        case Number(text=text):
            return text.rpartition(" : ")[2] if " : " in text else "i1"
    return "index"


def unrounded(expression: Expression) -> Expression:
    """An expression of f32 without what rounds it to a narrow type and widens it again.

    Of what is chosen among, each is widened by itself.
    """
    if not isinstance(expression, Applied) or expression.name != "arith.extf":
        return expression
    (inner,) = expression.operands
    if not isinstance(inner, Applied) or expression.type != WIDE:
        return expression
    if inner.name == "arith.truncf" and type_of(inner.operands[0]) == WIDE:
        return unrounded(inner.operands[0])
    if inner.name == "arith.select" and inner.type in NARROW:
        condition, *chosen = inner.operands
        cast = [Applied("arith.extf", "", (each,), WIDE) for each in chosen]
        return Applied("arith.select", "", (condition, *cast), WIDE)
    return expression


def widened(expression: Expression) -> Expression:
    """An expression with all that is of a narrow type computed in f32."""
    if isinstance(expression, Number):
        return _number(expression)
    if isinstance(expression, Element):
        is_narrow = type_of(expression) in NARROW
        return Applied("arith.extf", "", (expression,), WIDE) if is_narrow else expression
    if not isinstance(expression, Applied):
        return expression
    operands = tuple(map(widened, expression.operands))
    if expression.name in ("arith.truncf", "arith.extf"):
        wanted = WIDE if expression.type in NARROW else expression.type
        if type_of(operands[0]) == wanted:
            return operands[0]
        return Applied(_cast(operands[0], wanted), "", operands, wanted)
    type_ = WIDE if expression.type in NARROW else expression.type
    return Applied(expression.name, expression.attributes, operands, type_)


def is_seen_as_bits(expression: Expression) -> bool:
    """Return whether a narrow float is read as an integer, or the other way."""
    return isinstance(expression, Applied) and expression.name == "arith.bitcast"


def _cast(operand: Expression, wanted: str) -> str:
    return "arith.extf" if type_of(operand) == WIDE and wanted == "f64" else "arith.truncf"


def _number(number: Number) -> Number:
    if type_of(number) not in NARROW:
        return number
    value = ir.FloatAttr(ir.Attribute.parse(number.text)).value
    return Number(str(ir.FloatAttr.get(ir.F32Type.get(), value, loc=ir.Location.unknown())))
