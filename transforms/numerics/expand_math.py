"""Expand the ops of math and arith on floats that upstream does not lower, or imprecisely.

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
    %xw = arith.extf %x : f16 to f64
    %yw = arith.extf %y : f16 to f64
    %zw = arith.extf %z : f16 to f64
    %rw = math.fma %xw, %yw, %zw : f64
    %r = arith.truncf %rw : f64 to f16

before:
    %r = math.clampf %x to [%y, %z] : f32
after:
    %a = arith.minimumf %x, %z : f32
    %r = arith.maximumf %a, %y : f32

before:
    %r = math.expm1 %x : f32
after:
    %u = math.exp %x : f32                           // Kahan: exact where exp(x) rounds to 1
    %d = arith.subf %u, %one : f32
    %l = math.log %u : f32
    %q = arith.divf %x, %l : f32
    %k = arith.mulf %d, %q : f32
    %same = arith.cmpf oeq, %u, %one : f32
    %s = arith.select %same, %x, %k : f32
    %a = math.absf %x : f32
    %near = arith.cmpf olt, %a, %one : f32
    %r = arith.select %near, %s, %d : f32

before:
    %r = arith.convertf %x : bf16 to f16             // between narrow formats of one width
after:
    %w = arith.extf %x : bf16 to f32
    %r = arith.truncf %w : f32 to f16

before:
    %r = arith.flush_denormals %x : f32
after:
    %a = math.absf %x : f32
    %tiny = arith.cmpf olt, %a, %least : f32
    %z = math.copysign %zero, %x : f32
    %r = arith.select %tiny, %z, %x : f32

before:
    %r = arith.scaling_extf %x, %s : f8E4M3FN, f8E8M0FNU to f32
after:
    %w = arith.extf %x : f8E4M3FN to f32
    %t = arith.extf %s : f8E8M0FNU to f32
    %r = arith.mulf %w, %t : f32                     // scaling_truncf divides, then truncates

Runs before narrow floats are emulated in f32: the least normal number depends on the format, and a
fused multiply-add in f32 would round twice (in f64 the product of narrow numbers is exact).
Upstream writes expm1 as exp(x) - 1, which has no correct digit left near 0. That of vectors of f32
or f64 is left to `linalg-ext-expand-vector-math`.

Source of expm1: W. Kahan, as told in N. Higham, Accuracy and Stability of Numerical Algorithms,
section 1.14.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linalg_ext.bindings import arith, ir, math
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.codegen.vector_math.expand_vector_math import obstacle
from linalg_ext.transforms.ir_utils.arithmetic import constant, like, literal
from linalg_ext.transforms.ir_utils.float_formats import EXPONENT_ONLY, FLOATS, NARROW, FloatFormat
from linalg_ext.transforms.ir_utils.walking import element_type, operations, replace_each

NAME = "linalg-ext-expand-math"


@module_pass(NAME, on=lambda name: name in _EXPANSIONS)
def expand_math(module: ir.Operation) -> Report:
    """Expand classifications, expm1, casts and fused multiply-adds that upstream does not lower."""
    return replace_each(NAME, operations(module, _EXPANSIONS), lambda op: _EXPANSIONS[op.name](op))


def _format(value: Any) -> str:
    return str(element_type(value.type))


def _is_narrow(value: Any) -> bool:
    return _format(value) in (*NARROW, EXPONENT_ONLY)


def _fma(op: Any) -> Any | None:
    type_ = op.results[0].type
    if not _is_narrow(op.results[0]):
        return None
    wide = like(type_, ir.F64Type.get())
    return arith.truncf(type_, math.fma(*(arith.extf(wide, value) for value in op.operands)))


def _clampf(op: Any) -> Any:
    value, low, high = op.operands
    flags = op.attributes["fastmath"]
    return arith.maximumf(arith.minimumf(value, high, fastmath=flags), low, fastmath=flags)


def _isinf(op: Any) -> Any | None:
    value = op.operands[0]
    format_ = FLOATS.get(_format(value))
    if format_ is None and _format(value) != EXPONENT_ONLY:
        return None
    if format_ is None or not format_.has_infinity:
        return constant(like(value.type, ir.IntegerType.get_signless(1)), 0)
    largest = literal(value.type, hex(format_.largest))
    return arith.cmpf(arith.CmpFPredicate.OGT, math.absf(value), largest)


def _isnormal(op: Any) -> Any | None:
    value = op.operands[0]
    if _format(value) == EXPONENT_ONLY:  # bare powers of two, or NaN
        return arith.cmpf(arith.CmpFPredicate.ORD, value, value)
    format_ = FLOATS.get(_format(value))
    if format_ is None:
        return None
    magnitude = math.absf(value)
    largest = literal(value.type, hex(format_.largest))
    return arith.andi(
        arith.cmpf(arith.CmpFPredicate.OGE, magnitude, _least_normal(value.type, format_)),
        arith.cmpf(arith.CmpFPredicate.OLE, magnitude, largest),
    )


def _least_normal(type_: Any, format_: FloatFormat) -> Any:
    return literal(type_, hex(1 << format_.mantissa))


def _expm1(op: Any) -> Any | None:
    (value,) = op.operands
    type_ = value.type
    if isinstance(type_, ir.VectorType) and obstacle(op.name, type_) is None:
        return None
    if _is_narrow(value):
        wide = like(type_, ir.F32Type.get())
        return arith.truncf(type_, _kahan_expm1(arith.extf(wide, value)))
    return _kahan_expm1(value)


def _kahan_expm1(x: Any) -> Any:
    unit = constant(x.type, 1)
    power = math.exp(x)
    difference = arith.subf(power, unit)
    corrected = arith.mulf(difference, arith.divf(x, math.log(power)))
    is_one = arith.cmpf(arith.CmpFPredicate.OEQ, power, unit)
    near = arith.select(is_one, x, corrected)
    is_near = arith.cmpf(arith.CmpFPredicate.OLT, math.absf(x), unit)
    return arith.select(is_near, near, difference)


def _convertf(op: Any) -> Any | None:
    value, result = op.operands[0], op.results[0]
    if not (_is_narrow(value) and _is_narrow(result)):
        return None
    wide = like(value.type, ir.F32Type.get())
    return arith.truncf(result.type, arith.extf(wide, value))


def _flush_denormals(op: Any) -> Any | None:
    value = op.operands[0]
    if _format(value) == EXPONENT_ONLY:
        return value
    format_ = FLOATS.get(_format(value))
    if format_ is None:
        return None
    tiny = arith.cmpf(arith.CmpFPredicate.OLT, math.absf(value), _least_normal(value.type, format_))
    zero = constant(value.type, 0)
    return arith.select(tiny, math.copysign(zero, value), value)


def _scaling_extf(op: Any) -> Any:
    value, scale = op.operands
    type_ = op.results[0].type
    return arith.mulf(_extended(value, type_), _extended(_power_of_two(scale), type_))


def _scaling_truncf(op: Any) -> Any:
    value, scale = op.operands
    scaled = arith.divf(value, _extended(_power_of_two(scale), value.type))
    return arith.truncf(op.results[0].type, scaled)


def _power_of_two(scale: Any) -> Any:
    """Return a scale as a bare power of two."""
    if _format(scale) == EXPONENT_ONLY:
        return scale
    return arith.truncf(like(scale.type, ir.Type.parse(EXPONENT_ONLY)), scale)


def _extended(value: Any, type_: Any) -> Any:
    """Return `value` in the float type `type_`, which may be as narrow as its own."""
    if value.type == type_:
        return value
    if element_type(value.type).width < element_type(type_).width:
        return arith.extf(type_, value)
    return arith.truncf(type_, arith.extf(like(value.type, ir.F32Type.get()), value))


_EXPANSIONS: Mapping[str, Callable[[Any], Any | None]] = {
    "arith.convertf": _convertf,
    "arith.flush_denormals": _flush_denormals,
    "arith.scaling_extf": _scaling_extf,
    "arith.scaling_truncf": _scaling_truncf,
    "math.clampf": _clampf,
    "math.expm1": _expm1,
    "math.fma": _fma,
    "math.isinf": _isinf,
    "math.isnormal": _isnormal,
    "vector.fma": _fma,
}
"""The expansion of each operation; it returns None where upstream lowers the op well itself."""
