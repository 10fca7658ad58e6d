"""Element-wise functions of NumPy that differ from those of scalar expressions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from linalg_ext.bindings import arith
from linalg_ext.bindings import math as math_dialect
from linalg_ext.tracing.values.elements import (
    BOOL,
    Element,
    accumulator_dtype,
    apply,
    constant,
    imaginary,
    part_dtype,
    real,
    select,
)


def is_integer(x: Element) -> bool:
    """Return whether an element is of an integer dtype or boolean."""
    return x.dtype.kind in "iub"


def rounded_once(body: Callable[..., Element]) -> Callable[..., Element]:
    """Return a function of several steps, which are in float32 where its operands are narrower."""

    def whole(*args: Element) -> Element:
        dtype = args[0].dtype
        wide = accumulator_dtype(dtype)
        return body(*args) if wide == dtype else body(*(x.to(wide) for x in args)).to(dtype)

    return whole


def scaled(factor: float) -> Callable[[Element], Element]:
    """Return a product with a number."""
    return rounded_once(lambda x: x * factor)


def unless_integer(name: str) -> Callable[[Element], Element]:
    """Return a function that leaves integers as they are."""
    return lambda x: x if is_integer(x) else apply(name, x)


def absolute(x: Element) -> Element:
    """Return the absolute value: infinite where either part of a complex number is."""
    if x.dtype.kind == "c":
        return hypotenuse(real(x), imaginary(x))
    return x if x.dtype.kind in "ub" else apply("abs", x)


def sign(x: Element) -> Element:
    """-1, 0 or 1; NaN of NaN."""
    if x.dtype.kind in "ub":
        return x.to(BOOL).to(x.dtype)
    signum = select(x > 0, x.like(1), select(x < 0, x.like(-1), x.like(0)))
    return signum if is_integer(x) else select(x.is_nan(), x, signum)


def floor_divide(x: Element, y: Element) -> Element:
    """Division that rounds down; integers divided by 0 give 0."""
    return (_divided if is_integer(x) else _float_divided)(x, y)[0]


def remainder(x: Element, y: Element) -> Element:
    """Return the remainder of the floored quotient, with the sign of the divisor.

    An integer divided by 0 leaves 0.
    """
    return (_divided if is_integer(x) else _float_divided)(x, y)[1]


def reciprocal(x: Element) -> Element:
    """1 divided by it; of integers rounded towards zero, and of 0 as infinity is cast to them."""
    if not is_integer(x):
        return x.like(1) / x
    wide = x.to(np.dtype(np.float64))
    return (wide.like(1) / wide).to(x.dtype)


def fmod(x: Element, y: Element) -> Element:
    """C's remainder, with the sign of the dividend; of integers by 0, 0."""
    if not is_integer(x):
        return apply("rem", x, y)
    is_special, divisor = _safe_divisor(x, y)
    return select(is_special, x.like(0), apply("rem", x, divisor))


def _safe_divisor(x: Element, y: Element) -> tuple[Element, Element]:
    """Return whether the divisor is 0 or -1, which crash a machine's division, and 1 then."""
    is_special = y.equals(0)
    if x.dtype.kind == "i":
        is_special = is_special | y.equals(-1)
    return is_special, select(is_special, y.like(1), y)


def _divided(x: Element, y: Element) -> tuple[Element, Element]:
    is_special, divisor = _safe_divisor(x, y)
    quotient = x / divisor
    rest = x - quotient * divisor
    if x.dtype.kind == "i":
        is_below = rest.differs(0) & (rest.to(x.dtype) ^ divisor).__lt__(0)
        quotient = select(is_below, quotient - 1, quotient)
        rest = select(is_below, rest + divisor, rest)
    special = select(y.equals(0), x.like(0), -x)
    return select(is_special, special, quotient), select(is_special, x.like(0), rest)


def _float_divided(x: Element, y: Element) -> tuple[Element, Element]:
    """Quotient and remainder by `fmod`, which is exact, as NumPy and Python take them."""
    rest = apply("rem", x, y)
    is_zero = rest.equals(0)
    differs = rest.differs(0) & ((y < 0) ^ (rest < 0))
    quotient = (x - rest) / y
    quotient = select(differs, quotient - 1, quotient)
    rest = select(is_zero, apply("copysign", rest.like(0), y), select(differs, rest + y, rest))
    floored = apply("floor", quotient)
    floored = select((quotient - floored) > 0.5, floored + 1, floored)
    zero = apply("copysign", x.like(0), x / y)
    whole = select(quotient.equals(0), zero, floored)
    by_zero = y.equals(0)
    return select(by_zero, x / y, whole), select(by_zero, rest.like(math.nan), rest)


def power(x: Element, y: Element) -> Element:
    """x to the power of y."""
    if not is_integer(x):
        return apply("powf", x, y)
    if x.dtype.kind == "u" and x.dtype.itemsize == 8:
        # `math.ipowi` takes an exponent from 2^63 on for a negative one: half of it fits.
        below = right_shift(y, y.like(1)).value
        half = Element(math_dialect.IPowIOp(x.value, below).result, x.dtype)
        return half * half * select((y & 1).equals(0), x.like(1), x)
    wide = np.dtype(np.int64)
    value = math_dialect.IPowIOp(x.to(wide).value, y.to(wide).value).result
    return Element(value, wide).to(x.dtype)


def power_of(x: Element, exponent: int) -> Element:
    """x to the power of an integer that is known: products, by repeated squaring."""
    if exponent < 0:
        return power_of(x, -exponent).like(1) / power_of(x, -exponent)
    result: Element | None = None
    square = x
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if exponent:
            square = square * square
    return x.like(1) if result is None else result


def left_shift(x: Element, y: Element) -> Element:
    """Bits moved up; 0 once all have left."""
    return _shifted(arith.ShLIOp, x, y, x.like(0))


def right_shift(x: Element, y: Element) -> Element:
    """Bits moved down; the sign once all have left."""
    if x.dtype.kind == "u":
        return _shifted(arith.ShRUIOp, x, y, x.like(0))
    return _shifted(arith.ShRSIOp, x, y, select(x < 0, x.like(-1), x.like(0)))


def _shifted(op: type, x: Element, y: Element, beyond: Element) -> Element:
    width = x.dtype.itemsize * 8
    is_beyond = y >= width
    if y.dtype.kind == "i":
        is_beyond = is_beyond | (y < 0)
    amount = select(is_beyond, y.like(0), y)
    shifted = Element(op(x.value, amount.value).result, x.dtype)
    return select(is_beyond, beyond, shifted)


def bit_count(x: Element) -> Element:
    """Return the number of set bits in the absolute value."""
    return Element(math_dialect.CtPopOp(absolute(x).value).result, x.dtype)


def extremum(name: str, x: Element, y: Element) -> Element:
    """Return `max_signed` or `min_signed`; of complex numbers the first of the two that is NaN."""
    if x.dtype.kind != "c":
        return apply(name, x, y)
    is_first = compare("ge" if name == "max_signed" else "le", x, y)
    return select(x.is_nan() | is_first, x, y)


def extremum_of_numbers(name: str, x: Element, y: Element) -> Element:
    """Return an extremum that is the other number where one is NaN."""
    return select(y.is_nan(), x, select(x.is_nan(), y, extremum(name, x, y)))


def compare(name: str, x: Element, y: Element) -> Element:
    """Return a comparison, also of integers of which one alone has a sign.

    Complex numbers are ordered by their real parts, then by the imaginary ones.
    """
    if x.dtype.kind == "c" and name not in ("eq", "ne"):
        has_nan = imaginary(x).is_nan() | imaginary(y).is_nan()
        by_real = apply(name[0] + "t", real(x), real(y)) & ~has_nan
        return by_real | (real(x).equals(real(y)) & apply(name, imaginary(x), imaginary(y)))
    if x.dtype == y.dtype:
        return apply(name, x, y)
    # NumPy compares int64 with uint64 as numbers: a negative one is less than any.
    signed, is_left = (x, True) if x.dtype.kind == "i" else (y, False)
    holds = name == "ne" or ((name in ("lt", "le")) == is_left and name != "eq")
    unsigned = y.dtype if is_left else x.dtype
    by_size = apply(name, x.to(unsigned), y.to(unsigned))
    return select(signed < 0, constant(holds, BOOL), by_size)


def is_infinite(x: Element) -> Element:
    """Return whether it is infinite, or a part of it is."""
    if x.dtype.kind == "c":
        return is_infinite(real(x)) | is_infinite(imaginary(x))
    return constant(False, BOOL) if is_integer(x) else apply("abs", x).equals(math.inf)


def is_finite(x: Element) -> Element:
    """Return whether it is neither infinite nor NaN, in both parts."""
    if x.dtype.kind == "c":
        return is_finite(real(x)) & is_finite(imaginary(x))
    return constant(True, BOOL) if is_integer(x) else apply("abs", x) < math.inf


def sign_bit(x: Element) -> Element:
    """Return whether the sign is negative, that of -0.0 too."""
    return x < 0 if is_integer(x) else apply("copysign", x.like(1), x) < 0


def hypotenuse(x: Element, y: Element) -> Element:
    """Return the root of the sum of squares; the root alone may overflow, not the sum."""
    x, y = absolute(x), absolute(y)
    is_right = x > y
    high, low = select(is_right, x, y), select(is_right, y, x)
    is_special = high.equals(0) | high.equals(math.inf)
    ratio = low / select(is_special, high.like(1), high)
    size = high * apply("sqrt", ratio * ratio + 1)
    size = select(is_special, high, size)
    size = select(x.is_nan() | y.is_nan(), high.like(math.nan), size)
    return select(x.equals(math.inf) | y.equals(math.inf), high.like(math.inf), size)


def angle(y: Element, x: Element) -> Element:
    """Return the angle of the point (x, y): of two zeros 0 or pi, by their signs.

    Upstream's folder makes NaN of two zeros. It knows no `math.fma`, and LLVM removes this one.
    """
    hidden = math_dialect.FmaOp(y.value, y.like(1).value, y.like(-0.0).value).result
    return apply("atan2", Element(hidden, y.dtype), x)


def log_add(exponential: str, x: Element, y: Element) -> Element:
    """log(exp(x) + exp(y)), to the base of the exponential, `exp` or `exp2`."""
    high = apply("max_signed", x, y)
    distance = -apply("abs", x - y)
    # The distance of two equal infinities would be NaN.
    distance = select(x.equals(y), x.like(0), distance)
    more = apply("log1p", apply(exponential, distance))
    return high + (more if exponential == "exp" else more * (1 / math.log(2)))


def heaviside(x: Element, at_zero: Element) -> Element:
    """0 for less than 0, 1 for more, the other argument at 0."""
    step = select(x < 0, x.like(0), select(x > 0, x.like(1), at_zero))
    return select(x.is_nan(), x, step)


def truth(name: str) -> Callable[..., Element]:
    """Return a body that combines whether elements are other than 0."""
    return lambda *args: apply(name, *(x.to(BOOL) for x in args))


def real_part(x: Element) -> Element:
    """Return the real part; a real number itself."""
    return real(x) if part_dtype(x.dtype) != x.dtype else x


def imaginary_part(x: Element) -> Element:
    """Return the imaginary part; 0 of a real number."""
    return imaginary(x) if part_dtype(x.dtype) != x.dtype else x.like(0)
