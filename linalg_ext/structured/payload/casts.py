"""Casts between element types."""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import arith, complex, ir
from linalg_ext.structured.utils.constants import (
    float_constant,
    integer_constant,
    is_bool,
    is_complex,
    is_float,
    is_integer,
)


@dataclass(frozen=True)
class Scalar:
    """A value in the body of an op, and whether its integers are read as unsigned."""

    value: ir.Value
    unsigned: bool = False


def cast(x: Scalar, target: ir.Type, *, to_unsigned: bool, read_unsigned: bool) -> Scalar:
    """Cast a value to an element type, as upstream's `convertScalarToDtype` does.

    To i1 it is "not zero": true for every number that a truncation would lose.

    Args:
        x: the value.
        target: the element type.
        to_unsigned: whether the result is an unsigned integer (of an array's dtype).
        read_unsigned: whether the cast reads integers as unsigned.
    """
    source = x.value.type
    if source == target:
        return Scalar(x.value, to_unsigned)
    unsigned = x.unsigned or read_unsigned
    if is_complex(source):
        value = _from_complex(x.value, target, to_unsigned, unsigned)
    elif is_complex(target):
        value = _to_complex(x, target, unsigned)
    elif is_bool(target):
        value = _not_zero(x.value)
    elif is_float(target):
        value = _to_float(x.value, target, unsigned)
    else:
        value = _to_integer(x.value, target, unsigned, to_unsigned or read_unsigned)
    return Scalar(value, to_unsigned)


def _to_float(value: ir.Value, target: ir.Type, unsigned: bool) -> ir.Value:
    source = value.type
    if isinstance(source, ir.IndexType):
        value = arith.IndexCastOp(ir.IntegerType.get_signless(64), value).result
    if is_integer(source):
        return (arith.UIToFPOp if unsigned else arith.SIToFPOp)(target, value).result
    if ir.FloatType(source).width < ir.FloatType(target).width:
        return arith.ExtFOp(target, value).result
    if ir.FloatType(source).width == ir.FloatType(target).width:
        # Two formats of one width: by way of one that holds both.
        value = arith.ExtFOp(ir.F32Type.get(), value).result
    return arith.TruncFOp(target, value).result


def _to_integer(
    value: ir.Value, target: ir.Type, unsigned: bool, unsigned_result: bool
) -> ir.Value:
    source = value.type
    if is_float(source):
        if isinstance(target, ir.IndexType):
            wide = arith.FPToSIOp(ir.IntegerType.get_signless(64), value).result
            return arith.IndexCastOp(target, wide).result
        return (arith.FPToUIOp if unsigned_result else arith.FPToSIOp)(target, value).result
    if isinstance(source, ir.IndexType) or isinstance(target, ir.IndexType):
        return (arith.IndexCastUIOp if unsigned else arith.IndexCastOp)(target, value).result
    if ir.IntegerType(source).width < ir.IntegerType(target).width:
        return (arith.ExtUIOp if unsigned else arith.ExtSIOp)(target, value).result
    return arith.TruncIOp(target, value).result


def _not_zero(value: ir.Value) -> ir.Value:
    source = value.type
    if is_float(source):
        zero = float_constant(source, 0.0)
        return arith.CmpFOp(arith.CmpFPredicate.UNE, value, zero).result
    zero = integer_constant(source, 0)
    return arith.CmpIOp(arith.CmpIPredicate.ne, value, zero).result


def _to_complex(x: Scalar, target: ir.Type, unsigned: bool) -> ir.Value:
    part = ir.ComplexType(target).element_type
    real = x.value if x.value.type == part else _to_float(x.value, part, unsigned)
    zero = float_constant(part, 0.0)
    return complex.CreateOp(target, real, zero).result


def _from_complex(
    value: ir.Value, target: ir.Type, to_unsigned: bool, read_unsigned: bool
) -> ir.Value:
    """Part by part to another complex type, else the real part alone, as NumPy; i1 asks both."""
    if is_bool(target):
        parts = [_not_zero(op(value).result) for op in (complex.ReOp, complex.ImOp)]
        return arith.OrIOp(*parts).result
    if not is_complex(target):
        real = Scalar(complex.ReOp(value).result)
        return cast(real, target, to_unsigned=to_unsigned, read_unsigned=read_unsigned).value
    part = ir.ComplexType(target).element_type
    parts = [
        _to_float(op(value).result, part, unsigned=False) for op in (complex.ReOp, complex.ImOp)
    ]
    return complex.CreateOp(target, *parts).result
