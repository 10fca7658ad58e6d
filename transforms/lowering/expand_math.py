"""Expand what upstream's math lowerings leave over: math.isinf, math.isnormal, narrow math.fma.

before:
    %i = math.isinf %x : f32
after:
    %a = math.absf %x : f32
    %i = arith.cmpf ogt, %a, %largest : f32          // false for NaN

before:
    %n = math.isnormal %x : f32
after:
    %a = math.absf %x : f32
    %low = arith.cmpf oge, %a, %least : f32
    %high = arith.cmpf ole, %a, %largest : f32
    %n = arith.andi %low, %high : i1

before:
    %r = math.fma %x, %y, %z : f16                   // and vector.fma
after:
    %xw, %yw, %zw = arith.extf ... : f16 to f64
    %rw = math.fma %xw, %yw, %zw : f64
    %r = arith.truncf %rw : f64 to f16

Runs before narrow floats are emulated in f32: what is normal depends on the format, and a fused
multiply-add in f32 would round twice (in f64 the product of narrow numbers is exact).
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, math
from linalg_ext.rewriting import Report, module_pass

from ._elementwise import constant, like, literal
from ._float_formats import EXPONENT_ONLY, F32, F64, NARROW, FloatFormat
from ._walk import element_type, operations, replace_op

NAME = "linalg-ext-expand-math"

_FORMATS = {**NARROW, F32.name: F32, F64.name: F64}
_FMA = frozenset({"math.fma", "vector.fma"})


@module_pass(NAME)
def expand_math(module: ir.Operation) -> Report:
    """Expand math.isinf and math.isnormal, and fused multiply-adds of narrow floats."""
    report = Report(NAME)
    for op in operations(module, {"math.isinf", "math.isnormal", *_FMA}):
        name = str(element_type(op.operands[0].type))
        if op.name in _FMA and name not in (*NARROW, EXPONENT_ONLY):
            continue
        if op.name not in _FMA and name not in (*_FORMATS, EXPONENT_ONLY):
            continue
        with op.location, ir.InsertionPoint(op):
            result = _expanded(op, name)
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        replace_op(op, result)
    return report


def _expanded(op: Any, name: str) -> Any:
    if op.name in _FMA:
        return _fma(op)
    if name == EXPONENT_ONLY:
        return _of_exponent_only(op)
    format_ = _FORMATS[name]
    if op.name == "math.isinf":
        return _is_infinite(op.operands[0], format_)
    return _is_normal(op.operands[0], format_)


def _fma(op: Any) -> Any:
    type_ = op.results[0].type
    wide = like(type_, ir.F64Type.get())
    return arith.truncf(type_, math.fma(*(arith.extf(wide, value) for value in op.operands)))


def _is_infinite(value: Any, format_: FloatFormat) -> Any:
    if not format_.has_infinity:
        return constant(like(value.type, ir.IntegerType.get_signless(1)), 0)
    largest = literal(value.type, hex(format_.largest))
    return arith.cmpf(arith.CmpFPredicate.OGT, math.absf(value), largest)


def _is_normal(value: Any, format_: FloatFormat) -> Any:
    magnitude = math.absf(value)
    least = literal(value.type, hex(1 << format_.mantissa))
    largest = literal(value.type, hex(format_.largest))
    return arith.andi(
        arith.cmpf(arith.CmpFPredicate.OGE, magnitude, least),
        arith.cmpf(arith.CmpFPredicate.OLE, magnitude, largest),
    )


def _of_exponent_only(op: Any) -> Any:
    """Powers of two: never infinite, normal unless NaN."""
    value = op.operands[0]
    if op.name == "math.isinf":
        return constant(like(value.type, ir.IntegerType.get_signless(1)), 0)
    return arith.cmpf(arith.CmpFPredicate.ORD, value, value)
