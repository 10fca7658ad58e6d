"""Expand elementary functions of vectors into arithmetic on vectors.

before:
    %r = math.exp %x : vector<16xf32>
after:
    %f0 = arith.cmpf olt, %most, %x : vector<16xf32>         // e^x is infinite beyond
    %x0 = arith.select %f0, %most, %x : vector<16xi1>, vector<16xf32>
    %f1 = arith.cmpf ogt, %least, %x0 : vector<16xf32>       // and zero below
    %b = arith.select %f1, %least, %x0 : vector<16xi1>, vector<16xf32>
    %s = vector.fma %b, %log2e, %shifter : vector<16xf32>    // x = n ln 2 + r
    %n = arith.subf %s, %shifter : vector<16xf32>
    %si = arith.bitcast %s : vector<16xf32> to vector<16xi32>
    %zi = arith.bitcast %shifter : vector<16xf32> to vector<16xi32>
    %ni = arith.subi %si, %zi : vector<16xi32>
    %r0 = vector.fma %n, %ln2_high, %b : vector<16xf32>
    %e = vector.fma %n, %ln2_low, %r0 : vector<16xf32>
    %p3 = vector.fma %c4, %e, %c3 : vector<16xf32>           // a polynomial for e^r - 1
    %p2 = vector.fma %p3, %e, %c2 : vector<16xf32>
    %p1 = vector.fma %p2, %e, %c1 : vector<16xf32>
    %p0 = vector.fma %p1, %e, %half : vector<16xf32>
    %ee = arith.mulf %e, %e : vector<16xf32>
    %d = vector.fma %ee, %p0, %e : vector<16xf32>
    %y = arith.addf %d, %one : vector<16xf32>
    %h = arith.shrsi %ni, %i1 : vector<16xi32>               // times 2^n, in two steps
    %l = arith.subi %ni, %h : vector<16xi32>
    %hb = arith.addi %h, %bias : vector<16xi32>
    %hs = arith.shli %hb, %i23 : vector<16xi32>
    %hf = arith.bitcast %hs : vector<16xi32> to vector<16xf32>
    %yh = arith.mulf %y, %hf : vector<16xf32>
    %lb = arith.addi %l, %bias : vector<16xi32>
    %ls = arith.shli %lb, %i23 : vector<16xi32>
    %lf = arith.bitcast %ls : vector<16xi32> to vector<16xf32>
    %r = arith.mulf %yh, %lf : vector<16xf32>

Upstream's way down calls the C library for each element: some tens of times slower. On f32 and on
f64: exp, exp2, expm1, log, log2, log10, log1p, cbrt, erf, erfc, the circular and the hyperbolic
functions and their inverses, atan2 and powf, and the remainder remf. The largest errors, in units
in the last place:

    0       remf
    1       cbrt                  2    log, log1p, expm1, sin, cos, sinh, cosh, erf
    1.25    exp, exp2, powf       3    log2, log10, tanh, asin, acos, atan, atan2
                                  4    tan, erfc, asinh, acosh, atanh

The exponential of numbers of f16 that becomes one again is scaled in one step.

Integers of 64 bits become f64 by their halves, on x86 without AVX-512DQ, whose instructions convert
one at a time.

Scalars, other functions and other formats are left to the C library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.float_formats import WIDE
from linalg_ext.transforms.ir_utils.walking import element_type, operations, producer, replace_each

from . import _algebraic, _exponential, _trigonometric
from ._floats import Floats, of_integers

NAME = "linalg-ext-expand-vector-math"

EXPANSIONS: Mapping[str, Callable[..., Any]] = {
    "arith.remf": _algebraic.remf,
    **{
        f"math.{function.__name__}": function
        for family in (_algebraic, _exponential, _trigonometric)
        for function in family.FUNCTIONS
    },
}
"""The function that expands an op on f32 or f64, by the name of the op."""

_CONVERSIONS = {"arith.sitofp": True, "arith.uitofp": False}
"""Conversions of integers, and whether these have a sign."""

_OF_ROWS = {"arith.remf", "math.cos", "math.sin", "math.tan"}
"""The ops that are expanded on rows of elements alone."""


@module_pass(NAME, on={*EXPANSIONS, *_CONVERSIONS})
def expand_vector_math(module: ir.Operation) -> Report:
    """Expand exp, log, erf, pow, circular and hyperbolic functions and remainders on vectors."""
    ops = operations(module, {*EXPANSIONS, *(() if _converts_vectors() else _CONVERSIONS)})
    on_vectors = (op for op in ops if isinstance(op.results[0].type, ir.VectorType))
    return replace_each(NAME, on_vectors, _expanded)


def _converts_vectors() -> bool:
    """Return whether the machine has instructions for vectors of 64-bit integers."""
    target = current()
    return target.architecture != "x86_64" or "avx512dq" in target.features


def _expanded(op: Any) -> Any:
    type_ = op.results[0].type
    reason = obstacle(op.name, type_)
    if reason is not None:
        return reason
    if op.name in _CONVERSIONS:
        (integers,) = op.operands
        if {element_type(value.type).width for value in (integers, op.results[0])} != {64}:
            return "other elements than i64 and f64"
        return of_integers(Floats(type_), integers, is_signed=_CONVERSIONS[op.name])
    is_short = op.name == "math.exp" and _is_between_f16(op)
    expand = _exponential.exp_of_f16 if is_short else EXPANSIONS[op.name]
    return expand(Floats(type_), *op.operands)


def _is_between_f16(op: Any) -> bool:
    """Return whether a function's operand was a number of f16, and its result will be one."""
    before = producer(op.operands[0])
    if before is None or before.name != "arith.extf":
        return False
    after = [use.owner for use in op.results[0].uses]
    types = [before.operands[0].type, *(user.results[0].type for user in after if user.results)]
    is_cast = all(user.name == "arith.truncf" for user in after)
    return is_cast and all(element_type(type_) == ir.F16Type.get() for type_ in types)


def obstacle(name: str, type_: ir.VectorType) -> str | None:
    """Return the reason for which a function of vectors is not expanded; None if it is."""
    element = str(type_.element_type)
    if element not in WIDE:
        return f"elements of {element}"
    if type_.scalable:
        return "a scalable vector"
    if name in _OF_ROWS and type_.rank != 1:
        return "a vector of another rank than 1"
    return None
