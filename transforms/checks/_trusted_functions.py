"""Functions of C and ops of LLVM that an untrusted module may use: arithmetic on values."""

from __future__ import annotations

_MATHEMATICS = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2
    expm1 fabs fdim floor fma fmax fmin fmod hypot ilogb ldexp lgamma llrint llround log
    log10 log1p log2 logb lrint lround nearbyint nextafter nexttoward pow remainder
    rint round roundeven scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
"""
"""Functions of <math.h>; each for double, with an `f` for float and an `l` for long double."""

_COMPLEX = """
    cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj
    creal csin csinh csqrt ctan ctanh
"""
"""Functions of <complex.h>; likewise."""

_PLAIN = "abs labs llabs div ldiv lldiv"
"""Functions of <stdlib.h>: arithmetic of integers."""

KNOWN = frozenset(
    [
        *(name + suffix for name in (_MATHEMATICS + _COMPLEX).split() for suffix in ("", "f", "l")),
        *_PLAIN.split(),
    ]
)
"""Functions outside a module that it may call: they take and give numbers, and no pointers."""

_OPS = """
    add and ashr bitcast extractelement extractvalue fadd fcmp fdiv fmul fneg fpext fptosi fptoui
    fptrunc freeze frem fsub icmp insertelement insertvalue lshr mlir.constant mlir.poison
    mlir.undef mlir.zero mul or sdiv select sext shl shufflevector sitofp srem sub trunc udiv
    uitofp urem xor zext
"""

_INTRINSICS = """
    abs acos asin atan atan2 bitreverse bswap ceil copysign cos cosh ctlz ctpop cttz exp exp10 exp2
    fabs floor fma fmuladd frexp fshl fshr is.fpclass ldexp llrint llround log log10 log2 lrint
    lround maximum maxnum minimum minnum nearbyint pow powi rint round roundeven sadd.sat
    sadd.with.overflow scmp sin sincos sinh smax smin smul.with.overflow sqrt sshl.sat ssub.sat
    ssub.with.overflow tan tanh trunc uadd.sat uadd.with.overflow ucmp umax umin umul.with.overflow
    ushl.sat usub.sat usub.with.overflow vector.deinterleave2 vector.extract vector.insert
    vector.interleave2 vector.reduce.add vector.reduce.and vector.reduce.fadd vector.reduce.fmax
    vector.reduce.fmaximum vector.reduce.fmin vector.reduce.fminimum vector.reduce.fmul
    vector.reduce.mul vector.reduce.or vector.reduce.smax vector.reduce.smin vector.reduce.umax
    vector.reduce.umin vector.reduce.xor
"""

INTRINSICS = frozenset(_INTRINSICS.split())
"""LLVM's intrinsics that compute values of values, without the names of their types."""

ARITHMETIC = frozenset(
    [
        *(f"llvm.{name}" for name in _OPS.split()),
        *(f"llvm.intr.{name}" for name in _INTRINSICS.split()),
    ]
)
"""Ops of the LLVM dialect that do."""

_ATTRIBUTES = """
    sym_name sym_visibility function_type arg_attrs res_attrs callee no_inline always_inline
    inline_hint cold hot memory_effects no_unwind will_return
"""

HARMLESS_ATTRIBUTES = frozenset(_ATTRIBUTES.split())
"""The attributes of LLVM's functions and calls that untrusted modules may set."""
