"""Numbers as unevaluated sums of two floats, the second below the last place of the first.

Source: T. Dekker, A floating-point technique for extending the available precision, Numerische
Mathematik 18 (1971), with the product by a fused multiply-add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._floats import Floats


@dataclass(frozen=True)
class Pair:
    """`high + low`."""

    high: Any
    low: Any


def sum_of(floats: Floats, large: Any, small: Any) -> Pair:
    """`large + small`, exactly, where |large| >= |small| or large is 0."""
    high = floats.add(large, small)
    return Pair(high, floats.sub(small, floats.sub(high, large)))


def product_with(floats: Floats, a: Pair, b: Any) -> Pair:
    """`a b` of a pair and a float, to about twice the digits of the format."""
    high = floats.mul(a.high, b)
    low = floats.fma(a.high, b, floats.negative(high))
    return Pair(high, floats.fma(a.low, b, low))
