"""Random numbers under `jit`, by keys: the same key gives the same numbers.

    key = lx.random.key(7)
    weights, noise = lx.random.split(key)
    x = lx.random.normal(weights, (3, 4)) + lx.random.uniform(noise, (3, 4))

A key is an array of two words, uint32, and may be an argument, a part of a state, or traced. One
key is for one draw: split it, or fold numbers into it, for others. Names and parameters are JAX's;
the numbers are those of Philox 4x32-10, on any number of threads, in a trace and outside of one
(Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011). Each block of
words is computed by itself, so that numbers do not depend on threads, nor on vectors.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from linalg_ext.bindings import arith
from linalg_ext.errors import ArgumentError, DTypeError, ShapeError, located
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.functions.shaping import as_shape
from linalg_ext.tracing.jit_function import JitFunction
from linalg_ext.tracing.values.conversion import as_traced, cast_to
from linalg_ext.tracing.values.elements import (
    Element,
    apply,
    as_dtype,
    constant,
    element_type,
    position,
)
from linalg_ext.tracing.values.emission import demand, shape_text, structured_results
from linalg_ext.tracing.values.sizes import AnySize, Shape, product_of
from linalg_ext.tracing.values.trace import running
from linalg_ext.tracing.values.traced import Traced, xp

_F = TypeVar("_F", bound=Callable[..., Any])

_DRAW, _SPLIT, _FOLD = 0, 1, 2
"""Purposes for which a key is used."""

_MANTISSAS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""Bits of a float, by which numbers from 0 to 1 are rounded to it."""


def _by_kernel(*static: str) -> Callable[[_F], _F]:
    """Run a function by a kernel outside of a trace, where some parameters are not arrays."""

    def decorate(function: _F) -> _F:
        jitted = JitFunction(function, static_argnames=static)
        signature = inspect.signature(function)

        @located
        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            if running() is not None:
                return function(*arguments, **named)
            bound = signature.bind(*arguments, **named).arguments
            return jitted(**{k: _fixed(v, k in static) for k, v in bound.items()})

        return cast(_F, call)

    return decorate


def _fixed(value: Any, is_static: bool) -> Any:
    """Return a list as a value with a hash, or as an array."""
    if not isinstance(value, list):
        return value
    return tuple(value) if is_static else np.asarray(value)


@_by_kernel()
def key(seed: Any) -> Any:
    """Return a key.

    Args:
        seed: an integer of up to 64 bits.

    Returns:
        uint32 of shape (2,).
    """
    value = as_traced(seed)
    if value.ndim or value.dtype.kind not in "iu":
        raise ArgumentError(
            f"random.key of {value.dtype} of shape {shape_text(value.shape)}", expected="an integer"
        )
    wide = cast_to(value, UINT64)
    return xp.stack([cast_to(wide >> np.uint64(32), UINT32), cast_to(wide, UINT32)])


@_by_kernel("num")
def split(key: Any, num: int = 2) -> Any:
    """Return keys that are new: `one, other = lx.random.split(key)`.

    Args:
        key: as of `lx.random.key`. It is of no use afterwards.
        num: how many.

    Returns:
        uint32 of shape (num, 2).
    """
    row = generated(_key(key), 2 * num, 2, lambda words: words[:2], UINT32, purpose=_SPLIT)
    return xp.transpose(xp.reshape(row, (2, num)))


@_by_kernel()
def fold_in(key: Any, data: Any) -> Any:
    """Return a key that is new, by an integer: the number of a step, say.

    Args:
        key: as of `lx.random.key`.
        data: an integer of up to 64 bits.

    Returns:
        uint32 of shape (2,).
    """
    first = xp.reshape(cast_to(data, UINT64), ())
    return generated(_key(key), 2, 2, lambda words: words[:2], UINT32, purpose=_FOLD, first=first)


@_by_kernel("shape", "dtype")
def bits(key: Any, shape: Any = (), dtype: Any = np.uint32) -> Any:
    """Return random bits.

    Args:
        key: as of `lx.random.key`.
        shape: of the result.
        dtype: uint8, uint16, uint32 or uint64.
    """
    result_dtype = as_dtype(dtype)
    if result_dtype.kind != "u":
        raise DTypeError(f"random.bits of {result_dtype}", expected="an unsigned integer")
    per_block, make = (2, _pairs) if result_dtype == UINT64 else (4, list)
    return _drawn(key, shape, per_block, make, result_dtype)


@_by_kernel("shape", "dtype")
def uniform(
    key: Any, shape: Any = (), dtype: Any = np.float64, minval: Any = 0.0, maxval: Any = 1.0
) -> Any:
    """Return floats that are evenly distributed from `minval` to below `maxval`.

    Args:
        key: as of `lx.random.key`.
        shape: of the result.
        dtype: a float; its numbers from 0 to 1 are multiples of the same step.
        minval, maxval: numbers, or arrays that broadcast to the shape.
    """
    result_dtype = _float("uniform", dtype)
    digits = _MANTISSAS[result_dtype.name]

    width = 64 if digits > 32 else 32

    def make(words: Words) -> list[Element]:
        numbers = _pairs(words) if width == 64 else words
        return [_scaled(shifted_right(x, width - digits), digits, result_dtype) for x in numbers]

    numbers = _drawn(key, shape, 128 // width, make, result_dtype)
    if isinstance(minval, Traced) or isinstance(maxval, Traced) or (minval, maxval) != (0.0, 1.0):
        low, high = cast_to(minval, result_dtype), cast_to(maxval, result_dtype)
        numbers = numbers * (high - low) + low
    return numbers


@_by_kernel("shape", "dtype")
def normal(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Return floats that are normally distributed, with mean 0 and variance 1.

    By the transformation of Box and Muller, The Annals of Mathematical Statistics 29 (1958).

    Args:
        key: as of `lx.random.key`.
        shape: of the result.
        dtype: a float. Narrow ones are computed as float32.
    """
    result_dtype = _float("normal", dtype)
    if result_dtype == np.float64:

        def make_pair(words: Words) -> list[Element]:
            radius, angle = _pairs(words)
            return _polar(radius, angle, result_dtype)

        return _drawn(key, shape, 2, make_pair, result_dtype)
    single = np.dtype(np.float32)

    def make(words: Words) -> list[Element]:
        return [*_polar(words[0], words[1], single), *_polar(words[2], words[3], single)]

    return _drawn(key, shape, 4, make, result_dtype)


@_by_kernel("shape", "dtype")
def integers(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = np.int64) -> Any:
    """Return integers from `minval` to below `maxval`, each as likely to 1 in 2**64.

    Args:
        key: as of `lx.random.key`.
        shape: of the result.
        minval, maxval: integers, or arrays that broadcast to the shape.
        dtype: an integer.

    Raises:
        ArgumentError: there is no integer in between. The run checks traced bounds.
    """
    result_dtype = as_dtype(dtype)
    if result_dtype.kind not in "iu":
        raise DTypeError(f"random.integers of {result_dtype}", expected="an integer")
    wide = UINT64 if result_dtype == UINT64 else np.dtype(np.int64)
    low, high = cast_to(minval, wide), cast_to(maxval, wide)
    if not any(isinstance(bound, Traced) for bound in (minval, maxval)):
        if not (np.asarray(minval) < np.asarray(maxval)).all():
            raise ArgumentError(
                f"random.integers from {minval} to below {maxval}", expected="minval below maxval"
            )
    else:
        demand(xp.all(low < high), "random.integers: minval has to be below maxval")
    span = cast_to(high, UINT64) - cast_to(low, UINT64)
    offsets = _upper_product(_drawn(key, shape, 2, _pairs, UINT64), span)
    return cast_to(offsets + cast_to(low, UINT64), result_dtype)


@_by_kernel("shape")
def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
    """Return booleans that are true with a probability.

    Args:
        key: as of `lx.random.key`.
        p: the probability, or an array that broadcasts to the shape.
        shape: of the result; that of p for None.
    """
    sizes: Shape = as_traced(p).shape if shape is None else as_shape(shape)
    wide = np.dtype(np.float64)
    numbers = _drawn(key, sizes, 4, lambda ws: [_scaled(x, 32, wide) for x in ws], wide)
    return numbers < p


@_by_kernel("count")
def _order(key: Any, count: AnySize) -> Any:
    return xp.argsort(_drawn(key, (count,), 2, _pairs, UINT64), kind="stable")


@located
def permutation(key: Any, x: Any, axis: int = 0) -> Any:
    """Return the parts of an array along an axis in random order, each order as likely.

    Args:
        key: as of `lx.random.key`.
        x: an array; or an integer, for that of the integers below it.
        axis: of the parts.
    """
    if isinstance(x, int | np.integer):
        return _order(key, int(x))
    if not np.ndim(x):
        raise ArgumentError(
            f"random.permutation of {x!r}",
            expected="an integer that is known, or an array of rank 1 or more",
        )
    return np.take(x, _order(key, np.shape(x)[axis]), axis=axis)


@located
def choice(
    key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0
) -> Any:
    """Return random parts of an array along an axis.

    Args:
        key: as of `lx.random.key`.
        a: an array; or an integer, for that of the integers below it.
        shape: of the choices, which stands in the place of the axis.
        replace: False where no part comes twice.
        p: the probability of each part, of one axis; all are as likely for None.
        axis: of the parts.

    Raises:
        ArgumentError: more parts than there are, and none may come twice.
    """
    is_count = isinstance(a, int | np.integer)
    count = int(a) if is_count else np.shape(a)[axis]
    sizes = as_shape(shape)
    places = _places(key, count, sizes, replace, p)
    if is_count:
        return places
    return np.take(a, places, axis=axis)


@_by_kernel("count", "sizes", "replace")
def _places(key: Any, count: AnySize, sizes: Shape, replace: bool, p: Any) -> Any:
    total = product_of(sizes)
    if not replace and total > count:
        raise ArgumentError(
            f"random.choice of {total} of {count} parts without replacement",
            expected="no more parts than there are",
            hint="say replace=True",
        )
    if p is None:
        if replace:
            return integers(key, sizes, 0, count)
        return np.reshape(_order(key, count)[:total], sizes)
    if np.shape(p) != (count,):
        raise ShapeError(
            f"random.choice with p of shape {np.shape(p)}", expected=shape_text((count,))
        )
    if replace:
        summed = np.cumsum(p)
        drawn = uniform(key, sizes) * summed[-1]
        return np.minimum(np.searchsorted(summed, drawn, side="right"), count - 1)
    # The largest of log p and independent numbers of Gumbel's distribution.
    gumbel = -np.log(-np.log(1 - uniform(key, (count,))))
    return np.reshape(np.argsort(-(np.log(p) + gumbel))[:total], sizes)


def _key(key: Any) -> Traced:
    value = as_traced(key)
    if value.dtype != UINT32 or value.shape != (2,):
        raise ArgumentError(
            f"a random key of {value.dtype} of shape {shape_text(value.shape)}",
            expected="uint32 of shape (2,)",
            hint="make it by lx.random.key(seed)",
        )
    return value


def _drawn(
    key: Any, shape: Any, per_block: int, make: Callable[[Words], Any], dtype: DType
) -> Traced:
    sizes = as_shape(shape)
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise ShapeError(
            f"random numbers of shape {shape_text(sizes)}", expected="sizes that are not negative"
        )
    row = generated(_key(key), product_of(sizes), per_block, make, dtype, purpose=_DRAW)
    return xp.reshape(row, sizes)


def _pairs(words: Words) -> list[Element]:
    return [
        words[at].to(UINT64) * constant(2**32, UINT64) + words[at + 1].to(UINT64) for at in (0, 2)
    ]


def _scaled(x: Element, digits: int, dtype: DType) -> Element:
    """Return an integer of a number of binary digits as a float from 0 to below 1."""
    wide = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
    x = x.to(UINT64) if digits == 32 else x
    return (as_float(x, wide) * 2.0**-digits).to(dtype)


def _polar(radius: Element, angle: Element, dtype: DType) -> list[Element]:
    """Return two normally distributed numbers of two words, the first of which is never 0 then."""
    digits = 8 * radius.dtype.itemsize
    inside = (as_float(shifted_right(radius, 1), dtype) + 0.5) * 2.0 ** (1 - digits)
    length = apply("sqrt", apply("log", inside) * -2.0)
    turn = as_float(shifted_right(angle, 1), dtype) * (math.tau * 2.0 ** (1 - digits))
    return [length * apply("cos", turn), length * apply("sin", turn)]


def _upper_product(x: Traced, y: Traced) -> Traced:
    """Return the upper 64 bits of the product of numbers of 64 bits."""
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    x_high, x_low, y_high, y_low = x >> half, x & mask, y >> half, y & mask
    cross, other = x_low * y_high, x_high * y_low
    middle = ((x_low * y_low) >> half) + (cross & mask) + (other & mask)
    upper: Traced = x_high * y_high + (cross >> half) + (other >> half) + (middle >> half)
    return upper


def _float(name: str, dtype: Any) -> DType:
    result_dtype = as_dtype(dtype)
    if result_dtype.name not in _MANTISSAS:
        raise DTypeError(
            f"random.{name} of {result_dtype}", expected=f"one of {', '.join(_MANTISSAS)}"
        )
    return result_dtype


UINT32, UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)

_ROUNDS = 10
_FACTORS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)

Words = Sequence[Element]


def philox(counter: Words, key: Words) -> list[Element]:
    """Return four random words, of a counter of four words and a key of two.

    Words are the lower halves of 64 bits, whose upper halves hold anything in between: vectors have
    one instruction for a product of such words.
    """
    first, second, third, fourth = (word.to(UINT64) for word in counter)
    left, right = key
    for round_ in range(_ROUNDS):
        if round_:
            left, right = left + _STEPS[0], right + _STEPS[1]
        product, other = _product(first, _FACTORS[0]), _product(third, _FACTORS[1])
        first, second, third, fourth = (
            shifted_right(other, 32) ^ second ^ left.to(UINT64),
            other,
            shifted_right(product, 32) ^ fourth ^ right.to(UINT64),
            product,
        )
    return [word.to(UINT32) for word in (first, second, third, fourth)]


def _product(x: Element, factor: int) -> Element:
    return (x & constant(2**32 - 1, UINT64)) * constant(factor, UINT64)


def upper(x: Element) -> Element:
    """Return the upper 32 bits of 64."""
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
        per_block: how many of them are made of four words.
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
    """Return an integer as a float, by the signed cast, a quick one: its upper bit is 0."""
    wide = np.dtype(f"i{x.dtype.itemsize}")
    value = arith.SIToFPOp(element_type(dtype), Element(x.value, wide).value).result
    return Element(value, dtype)
