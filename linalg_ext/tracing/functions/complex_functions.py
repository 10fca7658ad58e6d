"""Elementary functions of complex numbers, by those of their parts, as C's Annex G has them.

NaN, infinities and signed zeros give NumPy's results with the mathematical library of GNU, and
nothing overflows on the way to a result that does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from linalg_ext.bindings import complex as complex_dialect
from linalg_ext.tracing.functions.arithmetic import angle, hypotenuse, is_finite, is_infinite
from linalg_ext.tracing.values.elements import Element, apply, element_type, imaginary, real, select

Body = Callable[..., Element]
_MOST_PRODUCTS = 100


def created(x: Element, y: Element) -> Element:
    """Return the complex number of two parts."""
    dtype = np.dtype(np.complex64 if x.dtype.itemsize == 4 else np.complex128)
    return Element(complex_dialect.CreateOp(element_type(dtype), x.value, y.value).result, dtype)


def _parts(z: Element) -> tuple[Element, Element]:
    return real(z), imaginary(z)


def _like(magnitude: Element, sign: Element) -> Element:
    return apply("copysign", magnitude, sign)


def _turn(y: Element) -> tuple[Element, Element]:
    return apply("cos", y), apply("sin", y)


def _scaled(x: Element, *factors: Element, by: float = 1) -> list[Element]:
    """Return factors times exp(x); in two steps for a large x: the product may be finite."""
    is_large = x > _large(x)
    half = apply("exp", select(is_large, x * 0.5, x))
    scaled = []
    for factor in factors:
        once = half * factor
        # Zero stays zero, though the exponential is infinite.
        twice = select(factor.equals(0), factor, once * (half * by))
        scaled.append(select(is_large, twice, once * by))
    return scaled


def _large(x: Element) -> float:
    return math.log(float(np.finfo(x.dtype).max)) - 1


def exp(z: Element) -> Element:
    """Return the exponential."""
    x, y = _parts(z)
    cos, sin = _turn(y)
    sin, cos = select(y.equals(0), y, sin), select(y.equals(0), y.like(1), cos)
    a, b = _scaled(x, cos, sin)
    size = select(x < 0, x.like(0), x.like(math.inf))
    at_infinity = [_like(size, cos), select(y.equals(0), y, _like(size, sin))]
    # At an infinite part of the one, and no number of the other.
    is_lost = ~is_finite(y)
    at_infinity[0] = select(is_lost, size, at_infinity[0])
    lost = select(x < 0, _like(size, y), y.like(math.nan))
    at_infinity[1] = select(is_lost, lost, at_infinity[1])
    is_endless = is_infinite(x)
    a = select(is_endless, at_infinity[0], a)
    b = select(is_endless, at_infinity[1], select(y.equals(0), y, b))
    return created(a, b)


def log(z: Element) -> Element:
    """Return the natural logarithm."""
    x, y = _parts(z)
    return created(_log_size(x, y), angle(y, x))


def _log_size(x: Element, y: Element) -> Element:
    """Return the logarithm of the absolute value; near 1 by its excess over 1."""
    info = np.finfo(x.dtype)
    a, b = apply("abs", x), apply("abs", y)
    is_right = a > b
    high, low = select(is_right, a, b), select(is_right, b, a)
    near = apply("log1p", (high - 1) * (high + 1) + low * low) * 0.5
    is_near = (high > 0.5) & (high < 1.5) & (low < 1)
    # The absolute value may be too large or too small, though neither part is.
    bits = int(info.nmant) + 2
    is_large = high > float(info.max) / 4
    is_small = high < float(info.tiny) * 2.0**bits
    scale = select(is_large, x.like(0.25), select(is_small, x.like(2.0**bits), x.like(1)))
    less = math.log(2) * bits
    moved = select(is_large, x.like(math.log(4)), select(is_small, x.like(-less), x.like(0)))
    return select(is_near, near, apply("log", hypotenuse(x * scale, y * scale)) + moved)


def _times(function: Body, factor: float) -> Body:
    def body(z: Element) -> Element:
        x, y = _parts(function(z))
        return created(x * factor, y * factor)

    return body


def log1p(z: Element) -> Element:
    """Return the logarithm of 1 more, as NumPy has it: less exact near 0 than that of a float."""
    x, y = _parts(z)
    return created(apply("log", hypotenuse(x + 1, y)), angle(y, x + 1))


def expm1(z: Element) -> Element:
    """Return the exponential, less 1."""
    x, y = _parts(z)
    half = apply("sin", y * 0.5)
    cos, sin = _turn(y)
    return created(apply("expm1", x) * cos - half * half * 2, apply("exp", x) * sin)


def exp2(z: Element) -> Element:
    """Return two to a power."""
    x, y = _parts(z)
    return exp(created(x * math.log(2), y * math.log(2)))


def sinh(z: Element) -> Element:
    """Return the hyperbolic sine."""
    return created(*_hyperbolic(*_parts(z), is_sine=True))


def cosh(z: Element) -> Element:
    """Return the hyperbolic cosine."""
    return created(*_hyperbolic(*_parts(z), is_sine=False))


def sin(z: Element) -> Element:
    """Return the sine: the hyperbolic one, turned."""
    x, y = _parts(z)
    a, b = _hyperbolic(-y, x, is_sine=True)
    is_lost = ~is_finite(x) & is_infinite(y)
    return created(b, select(is_lost, x.like(math.inf), -a))


def cos(z: Element) -> Element:
    """Return the cosine: the hyperbolic one, turned."""
    x, y = _parts(z)
    return created(*_hyperbolic(-y, x, is_sine=False))


def _hyperbolic(x: Element, y: Element, *, is_sine: bool) -> tuple[Element, Element]:
    is_zero = y.equals(0)
    cos, sin = _turn(y)
    sin, cos = select(is_zero, y, sin), select(is_zero, y.like(1), cos)
    first, second = ("sinh", "cosh") if is_sine else ("cosh", "sinh")
    a, b = apply(first, x) * cos, apply(second, x) * sin
    # Half an exponential is as near as both functions where these may be infinite.
    size = apply("abs", x)
    is_large = size > _large(x)
    large_cos, large_sin = _scaled(size, cos, sin, by=0.5)
    turned = [_like(x.like(1), x) * part for part in (large_cos, large_sin)]
    a = select(is_large, turned[0] if is_sine else large_cos, a)
    b = select(is_large, large_sin if is_sine else turned[1], b)
    infinite = x.like(math.inf)
    at_infinity = [_like(infinite, cos), select(is_zero, y, _like(infinite, sin))]
    signed = 0 if is_sine else 1
    at_infinity[signed] = at_infinity[signed] * _like(x.like(1), x)
    is_lost = ~is_finite(y)
    at_infinity = [
        select(is_lost, infinite, at_infinity[0]),
        select(is_lost, x.like(math.nan), at_infinity[1]),
    ]
    is_endless = size.equals(math.inf)
    a, b = (select(is_endless, *pair) for pair in zip(at_infinity, (a, b), strict=True))
    # A part that is zero for any angle, or for any size, stays so.
    nan = x.like(math.nan)
    if is_sine:
        a = select(x.equals(0), select(is_lost, x, _like(x, x * cos)), a)
    else:
        b = select(x.equals(0), select(is_lost, x.like(0), x * sin), b)
    b = select(is_zero & x.is_nan(), y, b)
    a = select(is_lost & ~is_endless & (~x.equals(0) if is_sine else ~is_zero), nan, a)
    return a, b


def tanh(z: Element) -> Element:
    """Return the hyperbolic tangent."""
    return created(*_hyperbolic_tangent(*_parts(z)))


def tan(z: Element) -> Element:
    """Return the tangent: the hyperbolic one, turned."""
    x, y = _parts(z)
    a, b = _hyperbolic_tangent(-y, x)
    return created(b, -a)


def _hyperbolic_tangent(x: Element, y: Element) -> tuple[Element, Element]:
    size = apply("abs", x)
    cos, sin = _turn(y)
    signed = _like(x.like(1), x)
    is_large = size > float(-math.log(float(np.finfo(x.dtype).eps)))
    bounded = select(is_large, x.like(0), x)
    sinh_x, cosh_x = apply("sinh", bounded), apply("cosh", bounded)
    below = sinh_x * sinh_x + cos * cos
    a, b = sinh_x * cosh_x / below, sin * cos / below
    small = sin * cos * apply("exp", size * -2) * 4
    a, b = select(is_large, signed, a), select(is_large, small, b)
    is_lost = ~is_finite(y)
    at_infinity = _like(x.like(0), select(is_lost | (apply("abs", y) <= 1), y, sin * cos))
    is_endless = size.equals(math.inf)
    b = select(is_endless, at_infinity, b)
    is_lost = is_lost & ~is_endless
    nan = x.like(math.nan)
    a = select(is_lost, select(x.equals(0), x, nan), a)
    b = select(is_lost, nan, b)
    is_flat = y.equals(0) & x.is_nan()
    return select(is_flat, nan, a), select(is_flat, y, b)


def sqrt(z: Element) -> Element:
    """Return the square root, whose real part is not negative."""
    x, y = _parts(z)
    info = np.finfo(x.dtype)
    size = apply("abs", x)
    tall = apply("abs", y)
    is_large = (size > float(info.max) / 8) | (tall > float(info.max) / 8)
    is_small = (size < float(info.tiny) * 8) & (tall < float(info.tiny) * 8)
    step = 2.0 ** (2 * (info.nmant // 2 + 2))
    scale = select(is_large, x.like(1 / 16), select(is_small, x.like(step), x.like(1)))
    back = select(is_large, x.like(4), select(is_small, x.like(step**-0.5), x.like(1)))
    a, b = size * scale, tall * scale
    root = apply("sqrt", (hypotenuse(a, b) + a) * 0.5)
    is_zero = root.equals(0)
    other = select(is_zero, root, b / select(is_zero, root.like(1), root) * 0.5) * back
    root = root * back
    is_left = x < 0
    found_x, found_y = select(is_left, other, root), select(is_left, root, other)
    found_y = _like(found_y, y)
    nan, infinite, zero = x.like(math.nan), x.like(math.inf), x.like(0)
    is_up = tall.equals(math.inf)
    is_right = x.equals(math.inf)
    is_wide = size.equals(math.inf)
    found_x = select(is_wide, select(is_right, infinite, select(y.is_nan(), nan, zero)), found_x)
    beside = select(y.is_nan(), nan, _like(zero, y))
    found_y = select(is_wide, select(is_right, beside, _like(infinite, y)), found_y)
    return created(select(is_up, infinite, found_x), select(is_up, y, found_y))


def _reflected(function: Body) -> Body:
    """Return the inverse of a circular function, by that of the hyperbolic one."""

    def body(z: Element) -> Element:
        x, y = _parts(z)
        v, u = _parts(function(created(y, x)))
        return created(u, v)

    return body


def arcsinh(z: Element) -> Element:
    """Return the inverse of the hyperbolic sine, by roots as Kahan has them (1987)."""
    x, y = _parts(z)
    a, b = apply("abs", x), apply("abs", y)
    (left_x, left_y), (right_x, right_y) = _roots(b, a)
    u = apply("asinh", left_x * right_y + left_y * right_x)
    v = angle(b, left_x * right_x + left_y * right_y)
    is_far, is_near = _is_far(a, b), _is_near(a, b)
    u = select(is_far, _far_log(a, b), select(is_near, a, u))
    v = select(is_far, angle(b, a), select(is_near, b, v))
    v = select(y.equals(0) & x.is_nan(), y, v)
    return created(_like(u, x), _like(v, y))


def arccos(z: Element) -> Element:
    """Return the inverse of the cosine, by roots as Kahan has them (1987)."""
    x, y = _parts(z)
    b = apply("abs", y)
    (left_x, left_y), (right_x, right_y) = _roots(x, b)
    u = angle(left_x, right_x) * 2
    v = apply("asinh", right_x * left_y + right_y * left_x)
    a = apply("abs", x)
    is_far = _is_far(a, b)
    u = select(is_far, angle(b, x), select(x.equals(0), x.like(math.pi / 2), u))
    v = select(is_far, _far_log(a, b), select(_is_near(a, b), b, v))
    return created(u, _like(v, -y))


def arccosh(z: Element) -> Element:
    """Return the inverse of the hyperbolic cosine, whose real part is not negative."""
    v, u = _parts(arccos(z))
    return created(apply("abs", u), _like(v, imaginary(z)))


def _roots(p: Element, q: Element) -> tuple[tuple[Element, Element], tuple[Element, Element]]:
    """Return the roots of 1 - p + qi and of 1 + p + qi, q not being negative."""
    unit = p.like(1)
    return _parts(sqrt(created(unit - p, q))), _parts(sqrt(created(unit + p, q)))


def _is_far(a: Element, b: Element) -> Element:
    """Return whether a number is so large that its square more or less 1 is its square."""
    far = 4 / float(np.finfo(a.dtype).eps)
    return (a > far) | (b > far)


def _is_near(a: Element, b: Element) -> Element:
    """Return whether a number is so small that its square more or less 1 is 1."""
    near = float(np.finfo(a.dtype).eps) / 4
    return (a < near) & (b < near)


def _far_log(a: Element, b: Element) -> Element:
    """Return the logarithm of twice the absolute value; infinite where either part is."""
    is_endless = is_infinite(a) | is_infinite(b)
    return select(is_endless, a.like(math.inf), _log_size(a, b) + math.log(2))


def arctanh(z: Element) -> Element:
    """Return the inverse of the hyperbolic tangent."""
    x, y = _parts(z)
    unit, zero, quarter = x.like(1), x.like(0), x.like(math.pi / 2)
    a, b = apply("abs", x), apply("abs", y)
    beside = unit - a
    u = apply("log1p", a * 4 / (beside * beside + b * b)) * 0.25
    at_one = (apply("log", hypotenuse(b, x.like(2))) - apply("log", b)) * 0.5
    u = select(a.equals(1) & (b < 1), at_one, u)
    v = angle(b * 2, beside * (unit + a) - b * b) * 0.5
    is_far = _is_far(a, b)
    size = hypotenuse(a * 0.25, b * 0.25)  # a quarter of it, which is finite
    u = select(is_far, a * 0.25 / size * 0.25 / size, u)
    is_endless = is_infinite(a) | is_infinite(b)
    is_lost = y.is_nan() | (x.is_nan() & ~is_endless)
    v = select(is_far & ~is_lost, quarter, v)
    u = select(is_endless | (x.equals(0) & y.is_nan()), zero, u)
    return created(_like(u, x), _like(v, y))


def power(z: Element, w: Element) -> Element:
    """z to the power of w: products where it is a small integer, else by the logarithm."""
    x, y = _parts(z)
    u, v = _parts(w)
    s, t = _log_size(x, y), angle(y, x)
    count = apply("abs", u)
    is_count = v.equals(0) & (count < _MOST_PRODUCTS) & apply("floor", u).equals(u)
    whole = select(is_count, count, u.like(0)).to(np.dtype(np.int32))
    products = _integer_power(z, whole, u > 0)
    products = select(u < 0, divide(z.like(1), products), products)
    power = select(is_count, products, exp(created(*_product(s, t, u, v))))
    nan, zero = created(x.like(math.nan), x.like(math.nan)), z.like(0)
    of_zero = select(u > 0, zero, nan)
    power = select(x.equals(0) & y.equals(0), of_zero, power)
    return select(u.equals(0) & v.equals(0), z.like(1), power)


def _product(a: Element, b: Element, c: Element, d: Element) -> tuple[Element, Element]:
    """Return the parts of (a + bi)(c + di); where both were NaN, those of an infinite number."""
    x, y = a * c - b * d, a * d + b * c
    is_left, is_right = (is_infinite(p) | is_infinite(q) for p, q in ((a, b), (c, d)))
    a, b = (_direction(part, is_left) for part in (a, b))
    c, d = (_direction(part, is_right) for part in (c, d))
    infinite = x.like(math.inf)
    is_lost = x.is_nan() & y.is_nan() & (is_left | is_right)
    x = select(is_lost, infinite * (a * c - b * d), x)
    return x, select(is_lost, infinite * (a * d + b * c), y)


def _direction(part: Element, is_endless: Element) -> Element:
    """Return a part of an infinite number as 1 or 0; no number as 0."""
    zero = _like(part.like(0), part)
    unit = select(is_infinite(part), _like(part.like(1), part), zero)
    return select(is_endless, unit, select(part.is_nan(), zero, part))


def _integer_power(z: Element, count: Element, is_positive: Element) -> Element:
    """Products, in the order of NumPy's, which shows at infinities."""
    power, square = z.like(1), z
    bit = 1
    while bit < _MOST_PRODUCTS:
        power = select((count & bit).differs(0), power * square, power)
        square = square * square
        bit *= 2
    # As it is, and not as a product with 1, where there is no division to follow.
    power = select(is_positive & count.equals(1), z, power)
    power = select(is_positive & count.equals(2), z * z, power)
    return select(is_positive & count.equals(3), z * (z * z), power)


def reciprocal(z: Element) -> Element:
    """1 divided by it, by Smith's formula, which NumPy has."""
    x, y = _parts(z)
    is_flat = apply("abs", y) <= apply("abs", x)
    ratio = select(is_flat, y, x) / select(is_flat, x, y)
    below = select(is_flat, x + y * ratio, x * ratio + y)
    unit = x.like(1)
    return created(select(is_flat, unit, ratio) / below, -(select(is_flat, ratio, unit) / below))


def divide(z: Element, w: Element) -> Element:
    """Return the quotient, by Smith's formula, which NumPy has."""
    x, y = _parts(z)
    u, v = _parts(w)
    is_flat = apply("abs", u) >= apply("abs", v)
    near, far = select(is_flat, u, v), select(is_flat, v, u)
    ratio = far / near
    scale = x.like(1) / (near + far * ratio)
    a = select(is_flat, x + y * ratio, x * ratio + y) * scale
    b = select(is_flat, y - x * ratio, y * ratio - x) * scale
    by_zero = u.equals(0) & v.equals(0)
    size = apply("abs", u)
    return created(select(by_zero, x / size, a), select(by_zero, y / size, b))


def sign(z: Element) -> Element:
    """It divided by its absolute value; of one infinite part that direction."""
    x, y = _parts(z)
    size = hypotenuse(x, y)
    zero = x.like(0)
    is_right, is_up = is_infinite(x), is_infinite(y)
    below = select(size.equals(0), size.like(1), size)
    a, b = select(size.equals(0), zero, x / below), select(size.equals(0), zero, y / below)
    nan = x.like(math.nan)
    a = select(is_right, _like(x.like(1), x), select(is_up, zero, a))
    b = select(is_up, _like(x.like(1), y), select(is_right, zero, b))
    is_lost = (is_right & is_up) | size.is_nan()
    return created(select(is_lost, nan, a), select(is_lost, nan, b))


FUNCTIONS: Mapping[str, Body] = {
    **{f.__name__: f for f in (exp, exp2, expm1, log, log1p, power, sqrt)},
    **{f.__name__: f for f in (cos, cosh, sin, sinh, tan, tanh, divide, reciprocal, sign)},
    **{f.__name__: f for f in (arccos, arccosh, arcsinh, arctanh)},
    "arcsin": _reflected(arcsinh),
    "arctan": _reflected(arctanh),
    "float_power": power,
    "log10": _times(log, 1 / math.log(10)),
    "log2": _times(log, 1 / math.log(2)),
    "rint": lambda z: created(*(apply("roundeven", part) for part in _parts(z))),
}
"""By the names of NumPy's ufuncs."""
