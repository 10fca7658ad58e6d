"""remf, the remainder of a division rounded towards zero: x - trunc(x / y) y, exactly.

With q = x / y rounded, x - q y is a number of the format: one fused multiply-add gives it exactly.
Where q has no more digits than the format it is right once truncated, or too large by one. Where q
is larger what remains is smaller than x by as many digits as the format has, and has the same
remainder by y as x has; that is repeated until q is small. Ordinary numbers need no repetition.

Source of the exactness: J.-M. Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition,
2018, section 4.4.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, math, scf

from ._branches import any_of
from ._floats import Floats


def remf(x: Any, y: Any) -> Any:
    """`x - trunc(x / y) y`, of the sign of x; NaN where x is infinite, y is 0 or either is NaN."""
    floats = Floats(x.type)
    size, divisor = floats.absolute(x), floats.absolute(y)
    quotient = floats.div(size, divisor)
    is_any_large = any_of(_is_large(floats, quotient))
    branch = scf.IfOp(is_any_large, [x.type, x.type], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp(_with_small_quotient(floats, size, divisor))
    with ir.InsertionPoint(branch.elseRegion.blocks[0]):
        scf.YieldOp([size, quotient])
    size_left, quotient = branch.results

    rest = floats.fma(floats.sub(0, math.trunc(quotient)), divisor, size_left)
    rest = floats.select(floats.below(rest, 0), floats.add(rest, divisor), rest)
    # Times zero, an infinite divisor would make NaN of all.
    is_beyond = floats.equal(divisor, floats.infinity)
    is_kept = arith.andi(is_beyond, floats.below(size, floats.infinity))
    return floats.copysign(floats.select(is_kept, size, rest), x)


def _with_small_quotient(floats: Floats, size: Any, divisor: Any) -> list[Any]:
    """Return a number with the remainder of `size`, and its quotient, which is small or NaN."""
    loop = scf.WhileOp([floats.type, floats.type], [size, floats.div(size, divisor)])
    before = loop.regions[0].blocks.append(floats.type, floats.type)
    with ir.InsertionPoint(before):
        _, quotient = before.arguments
        scf.ConditionOp(any_of(_is_large(floats, quotient)), list(before.arguments))
    after = loop.regions[1].blocks.append(floats.type, floats.type)
    with ir.InsertionPoint(after):
        left, quotient = after.arguments
        is_large = _is_large(floats, quotient)
        reachable, ratio = _reachable(floats, left, divisor, quotient)
        smaller = floats.fma(floats.sub(0, ratio), reachable, left)
        left = floats.select(is_large, smaller, left)
        scf.YieldOp([left, floats.div(left, divisor)])
    return list(loop.results)


def _reachable(floats: Floats, left: Any, divisor: Any, quotient: Any) -> tuple[Any, Any]:
    """A multiple of the divisor whose quotient does not overflow, and that quotient.

    Twice the largest power of two: quotients have as many digits as the exponents of two numbers.
    """
    power = 2.0**floats.format.bias
    for _ in range(2):
        overflows = floats.equal(floats.absolute(quotient), floats.infinity)
        divisor = floats.select(overflows, floats.mul(divisor, power), divisor)
        quotient = floats.div(left, divisor)
    return divisor, quotient


def _is_large(floats: Floats, quotient: Any) -> Any:
    """Return whether a quotient has digits that the format has no room for; false for NaN."""
    limit = floats.value(2.0 ** (floats.format.mantissa + 1))
    return arith.cmpf(arith.CmpFPredicate.OGE, floats.absolute(quotient), limit)
