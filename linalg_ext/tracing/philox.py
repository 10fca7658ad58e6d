"""Philox 4x32-10: four words of 32 random bits for each key and counter.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011. Each block of
words is computed by itself, so that numbers do not depend on threads, nor on vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from linalg_ext.bindings import arith
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.elements import Element, constant, element_type, position
from linalg_ext.tracing.emission import structured_results
from linalg_ext.tracing.sizes import AnySize
from linalg_ext.tracing.traced import Traced, xp

UINT32, UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)

_ROUNDS = 10
_FACTORS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)

Words = Sequence[Element]


def philox(counter: Words, key: Words) -> list[Element]:
    """Return four random words.

    Args:
        counter: four words.
        key: two words.
    """
    first, second, third, fourth = counter
    left, right = key
    for round_ in range(_ROUNDS):
        if round_:
            left, right = left + _STEPS[0], right + _STEPS[1]
        high, low = _product(first, _FACTORS[0])
        other_high, other_low = _product(third, _FACTORS[1])
        first, second, third, fourth = (
            other_high ^ second ^ left,
            other_low,
            high ^ fourth ^ right,
            low,
        )
    return [first, second, third, fourth]


def _product(x: Element, factor: int) -> tuple[Element, Element]:
    """The upper and the lower half of a product."""
    product = x.to(UINT64) * constant(factor, UINT64)
    return upper(product), product.to(UINT32)


def upper(x: Element) -> Element:
    """The upper 32 bits of 64."""
    return shifted_right(x, 32).to(UINT32)


def shifted_right(x: Element, count: int) -> Element:
    """Bits moved towards the last one, zeros before them."""
    by = constant(count, x.dtype).value
    return Element(arith.ShRUIOp(x.value, by).result, x.dtype)


def generated(
    key: Traced,
    count: AnySize,
    per_block: int,
    make: Callable[[Words], Sequence[Element]],
    dtype: DType,
    *,
    purpose: int = 0,
    first: Traced | None = None,
) -> Traced:
    """Record numbers that are made of random words, in one row.

    Args:
        key: two words, uint32.
        count: how many numbers.
        per_block: how many of them are made of four words.
        make: makes them of the words.
        dtype: theirs.
        purpose: tells uses of a key apart, the last word of the counter.
        first: the first counter, uint64 of rank 0; 0 for None.

    Returns:
        The first numbers of all blocks, then the second ones, and so on.
    """
    blocks = (count + (per_block - 1)) // per_block
    start = as_traced(np.uint64(0)) if first is None else first

    def body(left: Element, right: Element, start: Element) -> list[Element]:
        at = position(0).to(UINT64) + start
        zero = constant(0, UINT32)
        counter = [at.to(UINT32), upper(at), zero, constant(purpose, UINT32)]
        return [x.to(dtype) for x in make(philox(counter, (left, right)))]

    parts = structured_results(body, [key[0], key[1], start], (blocks,), [dtype] * per_block)
    row = parts[0] if per_block == 1 else xp.concatenate(parts)
    return row[:count]


def as_float(x: Element, dtype: DType) -> Element:
    """An integer as a float: its upper bit is 0, so that the signed cast, a quick one, does."""
    wide = np.dtype(f"i{x.dtype.itemsize}")
    value = arith.SIToFPOp(element_type(dtype), Element(x.value, wide).value).result
    return Element(value, dtype)
