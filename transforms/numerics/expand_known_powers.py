"""Powers whose exponent is known become products, roots and quotients.

before:
    %r = math.powf %x, %two : f32
after:
    %r = arith.mulf %x, %x : f32

before:
    %r = math.powf %x, %half : f32
after:
    %s = math.sqrt %x : f32
    %a = math.absf %s : f32                          // 0 of -0
    %m = arith.constant 0xFF800000 : f32             // minus infinity, which has no root
    %i = arith.cmpf oeq, %x, %m : f32
    %p = arith.constant 0x7F800000 : f32
    %r = arith.select %i, %p, %a : f32

before:
    %r = math.powf %x, %minus_two : bf16
after:
    %w = arith.extf %x : bf16 to f32
    %one = arith.constant 1.0 : f32
    %q = arith.divf %one, %w : f32
    %p = arith.mulf %q, %q : f32
    %r = arith.truncf %p : f32 to bf16

The general power takes some ten times as long. The exponents are whole numbers and halves so small
that each element is within 4 ulp of the exact power, and finite where the power is. Zeros,
infinities and NaNs are those of C's `pow` (ISO C23, F.10.4.5).
"""

from __future__ import annotations

import math as numbers
from typing import Any

from linalg_ext.bindings import arith, ir, math
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.arithmetic import constant, element_of_constant, like, literal
from linalg_ext.transforms.ir_utils.float_formats import NARROW, WIDE
from linalg_ext.transforms.ir_utils.walking import element_type, operations, replace_each

NAME = "linalg-ext-expand-known-powers"

_POWER = "math.powf"

_WHOLE = -3, 7
_HALVES = -2.5, 3.5
"""The least and the greatest exponents that give at most 4 ulp.

The error of a product is the sum of those of its factors, and a reciprocal is rounded first.
"""


@module_pass(NAME, on=_POWER)
def expand_known_powers(module: ir.Operation) -> Report:
    """Write powers with a small exponent that is known as products, roots and quotients."""
    return replace_each(NAME, operations(module, {_POWER}), _expanded)


def _expanded(op: Any) -> Any | str | None:
    base, power = op.operands
    attribute = element_of_constant(power)
    if not isinstance(attribute, ir.FloatAttr):
        return "the exponent is not known"
    exponent = float(attribute.value)
    if not _is_small(exponent):
        return f"the exponent is {exponent:g}: products would lose digits"
    if isinstance(base.type, ir.RankedTensorType):
        return "the power is of whole tensors, which become loops first"
    format_ = str(element_type(base.type))
    if format_ in NARROW:
        wide = like(base.type, ir.F32Type.get())
        return arith.truncf(base.type, _power(arith.extf(wide, base), exponent))
    return _power(base, exponent) if format_ in WIDE else None


def _is_small(exponent: float) -> bool:
    if not numbers.isfinite(exponent):
        return False
    least, most = _WHOLE if exponent == numbers.floor(exponent) else _HALVES
    return least <= exponent <= most and 2 * exponent == numbers.floor(2 * exponent)


def _power(x: Any, exponent: float) -> Any:
    whole = int(abs(exponent))
    if not exponent:
        return constant(x.type, 1)
    # The reciprocal of a product may be beyond the format although the power is not.
    factor = x if exponent > 0 else arith.divf(constant(x.type, 1), x)
    product = _product(factor, whole) if whole else None
    if abs(exponent) == whole:
        return product
    root = math.sqrt(x)
    if exponent < 0:
        root = arith.divf(constant(x.type, 1), root)
    # The power is never negative: the sign for -0, and of an infinite factor, is wrong.
    power = math.absf(root if product is None else arith.mulf(product, root))
    format_ = WIDE[str(element_type(x.type))]
    infinity, sign = format_.overflow, 1 << (format_.exponent + format_.mantissa)
    lowest = literal(x.type, hex(sign | infinity))
    limit = literal(x.type, hex(infinity)) if exponent > 0 else constant(x.type, 0)
    is_lowest = arith.cmpf(arith.CmpFPredicate.OEQ, x, lowest)
    return arith.select(is_lowest, limit, power)


def _product(x: Any, count: int) -> Any:
    """Return the product of `count` factors `x`, by repeated squaring."""
    result, square = None, x
    while count:
        if count & 1:
            result = square if result is None else arith.mulf(result, square)
        count >>= 1
        if count:
            square = arith.mulf(square, square)
    return result
