"""Trigonometric and hyperbolic functions, element by element, at any rank."""

from functools import partial

from ._elementwise import FLOATS_AND_COMPLEX, binary, unary

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "sin",
    "sinh",
    "tan",
]

_unary = partial(unary, __name__)
_binary = partial(binary, __name__)


sin = _unary("sin", "Sine of each element, an angle in radians.", dtypes=FLOATS_AND_COMPLEX)
cos = _unary("cos", "Cosine of each element, an angle in radians.", dtypes=FLOATS_AND_COMPLEX)
tan = _unary("tan", "Tangent of each element, an angle in radians.", dtypes=FLOATS_AND_COMPLEX)
asin = _unary(
    "asin",
    "Inverse sine of each element, in radians.",
    remark="Outside of [-1, 1] it is NaN.",
    source="this library; NumPy's `numpy.arcsin`",
)
acos = _unary(
    "acos",
    "Inverse cosine of each element, in radians.",
    remark="Outside of [-1, 1] it is NaN.",
    source="this library; NumPy's `numpy.arccos`",
)
atan = _unary(
    "atan",
    "Inverse tangent of each element, in radians.",
    remark="Between -pi / 2 and pi / 2.",
    source="this library; NumPy's `numpy.arctan`",
)
sinh = _unary("sinh", "Hyperbolic sine of each element.")
cosh = _unary("cosh", "Hyperbolic cosine of each element.")
asinh = _unary(
    "asinh",
    "Inverse hyperbolic sine of each element.",
    source="this library; NumPy's `numpy.arcsinh`",
)
acosh = _unary(
    "acosh",
    "Inverse hyperbolic cosine of each element.",
    remark="Below 1 it is NaN.",
    source="this library; NumPy's `numpy.arccosh`",
)
atanh = _unary(
    "atanh",
    "Inverse hyperbolic tangent of each element.",
    remark="Outside of [-1, 1] it is NaN.",
    source="this library; NumPy's `numpy.arctanh`",
)
atan2 = _binary(
    "atan2",
    "Angle of the point (rhs, lhs) from the first axis, in radians.",
    formula="atan2(lhs, rhs)",
    remark="Between -pi and pi.",
    source="this library; NumPy's `numpy.arctan2`",
)
