"""Expand `arith.extf` and `arith.truncf` between narrow formats and f32 or f64.

Narrow are f16, bf16 and the eight-bit formats. LLVM has no types for the latter, and for the
former calls runtime functions (`__extendhfsf2`, `__truncsfbf2`, ...) on processors that lack the
instructions; the bf16 instruction of those that have it flushes subnormals. The expansion is a
handful of integer operations on scalars or vectors. It rounds once, to nearest even, and gives the
bits that ml_dtypes gives (NaNs are quiet, their payload is dropped, their sign stays where the
format has one). From f64 it rounds once as well, where ml_dtypes rounds to f32 first.

before:
    %w = arith.extf %x : bf16 to f32
after:
    %b = arith.bitcast %x : bf16 to i16
    %e = arith.extui %b : i16 to i32
    %s = arith.shli %e, %c16 : i32
    %w = arith.bitcast %s : i32 to f32        // and likewise, with more steps, for the others

Between f16 and f32 the casts stay where the processor has instructions for them (F16C on x86). They
keep as much of a NaN's payload as there is room for.

Two operations on floats remain in it, an addition and a subtraction of powers of two that are
exact or round exactly as wanted; they treat the subnormals of formats other than bf16.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.arithmetic import Integers, like
from linalg_ext.transforms.ir_utils.float_formats import (
    EXPONENT_ONLY,
    F32,
    F64,
    NARROW,
    FloatFormat,
)
from linalg_ext.transforms.ir_utils.walking import element_type, operations, replace_each

NAME = "linalg-ext-expand-narrow-floats"

_CASTS = frozenset({"arith.extf", "arith.truncf", "arith.convertf"})


@module_pass(NAME, on=_CASTS)
def expand_narrow_floats(module: ir.Operation) -> Report:
    """Expand casts between narrow floating-point formats and f32 or f64 to integer arithmetic."""
    casts = filter(_is_narrow_cast, operations(module, _CASTS))
    return replace_each(
        NAME, casts, lambda op: _convert(op.operands[0], element_type(op.results[0].type))
    )


def narrow_type_names() -> tuple[str, ...]:
    """Return MLIR's names of the formats that are expanded."""
    return (*NARROW, EXPONENT_ONLY)


def _is_narrow_cast(op: Any) -> bool:
    names = narrow_type_names()
    types = (op.operands[0].type, op.results[0].type)
    return any(str(element_type(type_)) in names for type_ in types)


def _convert(value: Any, to: Any) -> Any:
    """Return `value` in format `to`: by f32 (which holds every narrow number) unless one is f64."""
    source, target = str(element_type(value.type)), str(to)
    if source == "f16" and _has_f16_casts():
        value = arith.extf(like(value.type, ir.F32Type.get()), value)
    elif source in NARROW:
        value = _widen(value, NARROW[source])
    elif source == EXPONENT_ONLY:
        value = _widen_exponent(value)
    if target == "f16" and element_type(value.type) == ir.F32Type.get() and _has_f16_casts():
        return arith.truncf(like(value.type, to), value)
    if target in NARROW:
        return _narrow(value, NARROW[target])
    if target == EXPONENT_ONLY:
        return _narrow_exponent(value)
    return value if element_type(value.type) == to else arith.extf(like(value.type, to), value)


def _has_f16_casts() -> bool:
    return "f16c" in current().features


def _bits(value: Any, width: int) -> tuple[Any, Integers]:
    """Return the bits of a float, zero-extended to `width`, and arithmetic on such integers."""
    type_ = value.type
    wide = like(type_, ir.IntegerType.get_signless(width))
    own = like(type_, ir.IntegerType.get_signless(element_type(type_).width))
    bits = arith.bitcast(own, value)
    return (bits if own == wide else arith.extui(wide, bits)), Integers(wide)


def _widen(value: Any, source: FloatFormat) -> Any:
    """Return a narrow number as f32; exact."""
    float32 = like(value.type, ir.F32Type.get())
    bits, i32 = _bits(value, 32)
    shift = F32.mantissa - source.mantissa
    if source.exponent == F32.exponent:
        return arith.bitcast(float32, i32.shl(bits, shift))
    sign_bit = 1 << (source.width - 1)
    sign = i32.shl(i32.conj(bits, sign_bit), F32.width - source.width)
    magnitude = i32.conj(bits, sign_bit - 1)
    aligned = i32.shl(magnitude, shift)
    rebias = F32.bias - source.bias
    normal = i32.add(aligned, rebias << F32.mantissa)
    # A subnormal m * 2^(1-bias) is (1 + m) * 2^(1-bias) less the least normal: all normal in f32.
    least = (rebias + 1) << F32.mantissa
    subnormal = arith.subf(
        arith.bitcast(float32, i32.add(aligned, least)),
        arith.bitcast(float32, i32.value(least)),
    )
    tiny = i32.below(magnitude, 1 << source.mantissa)
    wide = i32.select(tiny, arith.bitcast(i32.type, subnormal), normal)
    if source.has_infinity:
        special = i32.select(i32.above(magnitude, source.overflow), F32.nan, F32.overflow)
        wide = i32.select(i32.above(magnitude, source.largest), special, wide)
    elif source.signed_zero:
        wide = i32.select(i32.above(magnitude, source.largest), F32.nan, wide)
    wide = i32.disj(wide, sign)
    if not source.signed_zero:
        wide = i32.select(i32.equal(bits, source.nan), F32.nan | 1 << 31, wide)
    return arith.bitcast(float32, wide)


def _narrow(value: Any, target: FloatFormat) -> Any:
    """Return an f32 or f64 in a narrow format, rounded to nearest even."""
    source = F64 if isinstance(element_type(value.type), ir.F64Type) else F32
    bits, ints = _bits(value, source.width)
    magnitude = ints.conj(bits, (1 << (source.width - 1)) - 1)
    rounded = _round_magnitude(magnitude, ints, source, target, value.type)
    rounded = ints.select(ints.above(rounded, target.largest), target.overflow, rounded)
    is_nan = ints.above(magnitude, source.overflow)
    rounded = ints.select(is_nan, target.nan, rounded)
    shift = source.width - target.width
    sign = ints.conj(ints.shr(bits, shift), 1 << (target.width - 1))
    if target.signed_zero:
        result = ints.disj(rounded, sign)
    else:
        # Zero stays without a sign: the bits of -0 are the NaN.
        result = ints.select(ints.equal(rounded, 0), 0, ints.disj(rounded, sign))
    small = arith.trunci(like(value.type, ir.IntegerType.get_signless(target.width)), result)
    return arith.bitcast(like(value.type, ir.Type.parse(target.name)), small)


def _round_magnitude(
    magnitude: Any, ints: Integers, source: FloatFormat, target: FloatFormat, type_: Any
) -> Any:
    """Return the bits of `target` for a magnitude, too large ones left too large."""
    shift = source.mantissa - target.mantissa
    odd = ints.conj(ints.shr(magnitude, shift), 1)
    half = ints.add(magnitude, ints.add(odd, (1 << (shift - 1)) - 1))
    rebias = source.bias - target.bias
    normal = ints.sub(ints.shr(half, shift), rebias << target.mantissa)
    if rebias == 0:
        return normal  # subnormals are subnormals in both
    # Adding a number whose last bit weighs as much as the target's least subnormal rounds there.
    magic = (rebias + 1 + shift) << source.mantissa
    total = arith.addf(arith.bitcast(type_, magnitude), arith.bitcast(type_, ints.value(magic)))
    subnormal = ints.sub(arith.bitcast(ints.type, total), magic)
    tiny = ints.below(magnitude, (rebias + 1) << source.mantissa)
    return ints.select(tiny, subnormal, normal)


def _widen_exponent(value: Any) -> Any:
    """Return a number of f8E8M0FNU as f32: bits b are 2^(b - 127)."""
    float32 = like(value.type, ir.F32Type.get())
    bits, i32 = _bits(value, 32)
    wide = i32.shl(bits, F32.mantissa)
    wide = i32.select(i32.equal(bits, 0), 1 << (F32.mantissa - 1), wide)
    return arith.bitcast(float32, i32.select(i32.equal(bits, 0xFF), F32.nan, wide))


def _narrow_exponent(value: Any) -> Any:
    """Convert an f32 or f64 to f8E8M0FNU: the nearest power of two, ties upwards, or the least.

    Zero, negative numbers, NaN and numbers that round above 2^127 have no power of two: NaN.
    """
    source = F64 if isinstance(element_type(value.type), ir.F64Type) else F32
    bits, ints = _bits(value, source.width)
    rebias = source.bias - F32.bias
    half = ints.shr(ints.add(bits, 1 << (source.mantissa - 1)), source.mantissa)
    exponent = ints.sub(half, rebias)
    # 2^-127 is subnormal in f32.
    least = rebias << source.mantissa if rebias else 1 << (F32.mantissa - 1)
    # Just above 2^-127, ml_dtypes rounds up.
    exponent = ints.select(ints.below(bits, (rebias + 1) << source.mantissa), 1, exponent)
    exponent = ints.select(ints.above(bits, least), exponent, 0)
    exponent = ints.select(ints.above(exponent, 0xFE), 0xFF, exponent)
    # A negative number has its sign bit set and is, unsigned, above infinity.
    invalid = arith.ori(ints.above(bits, source.overflow), ints.equal(bits, 0))
    exponent = ints.select(invalid, 0xFF, exponent)
    small = arith.trunci(like(value.type, ir.IntegerType.get_signless(8)), exponent)
    return arith.bitcast(like(value.type, ir.Type.parse(EXPONENT_ONLY)), small)
