"""Trigonometric and hyperbolic functions, element by element, at any rank."""

from linalg_ext.opdsl import (
    T1,
    BinaryFn,
    TensorDef,
    UnaryFn,
    structured_op,
)

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


@structured_op
def sin(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Sine of each element, an angle in radians.

        O = sin(I)

    Shapes: any; I and O alike.
    Dtypes: any float or complex number; I and O alike.
    Source: this library; NumPy's `numpy.sin`.
    """
    O[None] = UnaryFn.sin(I[None])


@structured_op
def cos(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Cosine of each element, an angle in radians.

        O = cos(I)

    Shapes: any; I and O alike.
    Dtypes: any float or complex number; I and O alike.
    Source: this library; NumPy's `numpy.cos`.
    """
    O[None] = UnaryFn.cos(I[None])


@structured_op
def tan(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Tangent of each element, an angle in radians.

        O = tan(I)

    Shapes: any; I and O alike.
    Dtypes: any float or complex number; I and O alike.
    Source: this library; NumPy's `numpy.tan`.
    """
    O[None] = UnaryFn.tan(I[None])


@structured_op
def asin(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Inverse sine of each element, in radians.

        O = asin(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Outside of [-1, 1] it is NaN.
    Source: this library; NumPy's `numpy.arcsin`.
    """
    O[None] = UnaryFn.asin(I[None])


@structured_op
def acos(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Inverse cosine of each element, in radians.

        O = acos(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Outside of [-1, 1] it is NaN.
    Source: this library; NumPy's `numpy.arccos`.
    """
    O[None] = UnaryFn.acos(I[None])


@structured_op
def atan(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Inverse tangent of each element, in radians.

        O = atan(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Between -pi / 2 and pi / 2.
    Source: this library; NumPy's `numpy.arctan`.
    """
    O[None] = UnaryFn.atan(I[None])


@structured_op
def sinh(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Hyperbolic sine of each element.

        O = sinh(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: this library; NumPy's `numpy.sinh`.
    """
    O[None] = UnaryFn.sinh(I[None])


@structured_op
def cosh(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Hyperbolic cosine of each element.

        O = cosh(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: this library; NumPy's `numpy.cosh`.
    """
    O[None] = UnaryFn.cosh(I[None])


@structured_op
def asinh(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Inverse hyperbolic sine of each element.

        O = asinh(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: this library; NumPy's `numpy.arcsinh`.
    """
    O[None] = UnaryFn.asinh(I[None])


@structured_op
def acosh(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Inverse hyperbolic cosine of each element.

        O = acosh(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Below 1 it is NaN.
    Source: this library; NumPy's `numpy.arccosh`.
    """
    O[None] = UnaryFn.acosh(I[None])


@structured_op
def atanh(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Inverse hyperbolic tangent of each element.

        O = atanh(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Outside of [-1, 1] it is NaN.
    Source: this library; NumPy's `numpy.arctanh`.
    """
    O[None] = UnaryFn.atanh(I[None])


@structured_op
def atan2(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Angle of the point (rhs, lhs) from the first axis, in radians.

        O = atan2(lhs, rhs)

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any float; lhs, rhs and O alike. Between -pi and pi.
    Source: this library; NumPy's `numpy.arctan2`.
    """
    O[None] = BinaryFn.atan2(lhs[None], rhs[None])
