"""sin, cos and tan: x = n pi/2 + r, polynomials in r, a sign and a choice by the last bits of n.

pi/2 in three parts makes r right to its last bits as long as n is small. A vector with an element
beyond goes to the C library, one element after the other. Largest error: 2 ulp for sin and cos,
4 ulp for tan.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, math, scf, vector
from linalg_ext.transforms.ir_utils.arithmetic import constant

from ._branches import any_of, chosen
from ._floats import Floats

_HALF_PI = {
    "f32": tuple(map(float.fromhex, ("0x1.921fb4p+0", "0x1.4442d0p-24", "0x1.846988p-48"))),
    "f64": tuple(
        map(
            float.fromhex,
            ("0x1.921fb54442d18p+0", "0x1.1a62633145c06p-54", "0x1.c1cd129024e08p-107"),
        )
    ),
}
_FARTHEST = {"f32": 2.0**15, "f64": 2.0**25}

_SINE = {
    "f32": (-0.00019587387320241361883, 0.0083327459375481148992, -0.16666664650298102133),
    "f64": (
        -7.5865766484052612013e-13,
        1.6058529573291738084e-10,
        -2.5052106219528366706e-8,
        2.7557319219301937374e-6,
        -0.00019841269841265017052,
        0.0083333333333333314699,
        -0.16666666666666666665,
    ),
}
"""(sin(r) - r) / r^3 over r^2, for |r| <= pi / 4; errors 2^-25.6 and 2^-66, times r^3."""

_COSINE = {
    "f32": (0.000024547437462501829045, -0.0013888300698073965873, 0.041666664647463408553),
    "f64": (
        4.7458049232498396996e-14,
        -1.1470459750244853188e-11,
        2.087675578389763697e-9,
        -2.7557319221382125963e-7,
        0.0000248015873015846198,
        -0.0013888888888888887853,
        0.041666666666666666666,
    ),
}
"""(cos(r) - 1 + r^2/2) / r^4 over r^2; errors 2^-28.9 and 2^-70, times r^4."""


def sin(x: Any) -> Any:
    """The sine."""
    return _circular(x, _sine, math.sin)


def cos(x: Any) -> Any:
    """The cosine: the sine a quarter of a turn on."""
    return _circular(x, lambda parts: _turned(parts, 1), math.cos)


def tan(x: Any) -> Any:
    """The tangent."""
    return _circular(x, _tangent, math.tan)


@dataclass(frozen=True)
class _Parts:
    """An angle x = n pi/2 + r.

    Attributes:
        quarter: n, as an integer.
        sine, cosine: of r.
    """

    floats: Floats
    x: Any
    quarter: Any
    sine: Any
    cosine: Any

    @property
    def is_odd(self) -> Any:
        integers = self.floats.integers
        return integers.equal(integers.conj(self.quarter, 1), 1)


def _sine(parts: _Parts) -> Any:
    # The polynomial's sum loses the sign of zero.
    return _with_zero(parts, _turned(parts, 0))


def _tangent(parts: _Parts) -> Any:
    floats, is_odd = parts.floats, parts.is_odd
    top = floats.select(is_odd, floats.sub(0, parts.cosine), parts.sine)
    return _with_zero(parts, floats.div(top, floats.select(is_odd, parts.sine, parts.cosine)))


def _turned(parts: _Parts, quarters: int) -> Any:
    """Return the sine of the angle plus `quarters` quarters of a turn."""
    floats, integers = parts.floats, parts.floats.integers
    quarter = integers.add(parts.quarter, quarters) if quarters else parts.quarter
    is_odd = integers.equal(integers.conj(quarter, 1), 1)
    chosen = floats.select(is_odd, parts.cosine, parts.sine)
    sign = integers.shl(integers.conj(quarter, 2), floats.format.width - 2)
    return floats.from_bits(arith.xori(floats.bits(chosen), sign))


def _with_zero(parts: _Parts, result: Any) -> Any:
    floats, x = parts.floats, parts.x
    return floats.select(floats.equal(x, 0), x, result)


def _circular(x: Any, function: Callable[[_Parts], Any], exact: Callable[[Any], Any]) -> Any:
    floats = Floats(x.type)
    farthest = _FARTHEST[floats.format.name]
    far = floats.above(floats.absolute(x), farthest)
    return chosen(
        any_of(far),
        x.type,
        lambda: _one_by_one(x, exact),
        lambda: function(_parts(floats, x)),
    )


def _parts(floats: Floats, x: Any) -> _Parts:
    name = floats.format.name
    whole, count = floats.nearest_integer(x, 2 / numbers.pi)
    rest = x
    for part in _HALF_PI[name]:
        rest = floats.fma(whole, -part, rest)
    square = floats.mul(rest, rest)
    sine = floats.fma(floats.mul(rest, square), floats.polynomial(_SINE[name], square), rest)
    cosine = floats.polynomial(_COSINE[name], square)
    cosine = floats.fma(floats.mul(square, square), cosine, floats.fma(square, -0.5, 1))
    return _Parts(floats, x, count, sine, cosine)


def _one_by_one(x: Any, exact: Callable[[Any], Any]) -> Any:
    """The function of each element by the C library, in a loop."""
    index = ir.IndexType.get()
    bounds = (constant(index, 0), constant(index, x.type.shape[0]), constant(index, 1))
    loop = scf.ForOp(*bounds, [x])
    with ir.InsertionPoint(loop.body):
        at, so_far = loop.induction_variable, loop.inner_iter_args[0]
        element = exact(vector.extract(so_far, [at], [_DYNAMIC]))
        scf.YieldOp([vector.insert(element, so_far, [at], [_DYNAMIC])])
    return loop.results[0]


_DYNAMIC = -(1 << 63)
"""The mark of a dynamic position in a list of static ones."""
