"""Exponentials, logarithms and roots, element by element, at any rank; see also unary.py."""

from linalg_ext.opdsl import (
    T1,
    BinaryFn,
    TensorDef,
    TernaryFn,
    UnaryFn,
    structured_op,
)

__all__ = [
    "cbrt",
    "exp2",
    "expm1",
    "hypot",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "xlogy",
]


@structured_op
def exp2(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Two to the power of each element.

        O = 2 ** I

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: this library; NumPy's `numpy.exp2`.
    """
    O[None] = UnaryFn.exp2(I[None])


@structured_op
def expm1(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Exponential of each element less one, exact near zero.

        O = exp(I) - 1

    Shapes: any; I and O alike.
    Dtypes: any float or complex number; I and O alike.
    Source: this library; NumPy's `numpy.expm1`.
    """
    O[None] = UnaryFn.expm1(I[None])


@structured_op
def log1p(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Natural logarithm of one plus each element, exact near zero.

        O = log(1 + I)

    Shapes: any; I and O alike.
    Dtypes: any float or complex number; I and O alike. Floats below -1 give NaN.
    Source: this library; NumPy's `numpy.log1p`.
    """
    O[None] = UnaryFn.log1p(I[None])


@structured_op
def log2(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Logarithm of each element to base two.

        O = log2(I)

    Shapes: any; I and O alike.
    Dtypes: any float or complex number; I and O alike. Negative floats give NaN.
    Source: this library; NumPy's `numpy.log2`.
    """
    O[None] = UnaryFn.log2(I[None])


@structured_op
def log10(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Logarithm of each element to base ten.

        O = log10(I)

    Shapes: any; I and O alike.
    Dtypes: any float or complex number; I and O alike. Negative floats give NaN.
    Source: this library; NumPy's `numpy.log10`.
    """
    O[None] = UnaryFn.log10(I[None])


@structured_op
def cbrt(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Cube root of each element.

        O = the number whose cube is I

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. That of a negative number is negative.
    Source: this library; NumPy's `numpy.cbrt`.
    """
    O[None] = UnaryFn.cbrt(I[None])


@structured_op
def logaddexp(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Logarithm of the sum of the exponentials of two elements, without an overflow.

        O = log(exp(lhs) + exp(rhs)) = max(lhs, rhs) + log1p(exp(-|lhs - rhs|))

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any float; lhs, rhs and O alike. Two infinities of one sign give themselves.
    Source: this library; NumPy's `numpy.logaddexp`.
    """
    x, y = lhs[None], rhs[None]
    # inf - inf is NaN; where both are equal the distance is 0 whatever they are.
    distance = TernaryFn.select(BinaryFn.eq(x, y), 0, UnaryFn.abs(x - y))
    O[None] = BinaryFn.max(x, y) + UnaryFn.log1p(UnaryFn.exp(-distance))


@structured_op
def hypot(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Length of the hypotenuse of a right triangle, without an overflow on the way.

        O = sqrt(lhs ** 2 + rhs ** 2)

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any float; lhs, rhs and O alike. Two infinite legs give NaN.
    Source: this library; NumPy's `numpy.hypot`.
    """
    x, y = UnaryFn.abs(lhs[None]), UnaryFn.abs(rhs[None])
    longer, shorter = BinaryFn.max(x, y), BinaryFn.min(x, y)
    ratio = TernaryFn.select(longer > 0, shorter / longer, 0)
    O[None] = longer * UnaryFn.sqrt(1 + ratio * ratio)


@structured_op
def xlogy(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Product of one element and the logarithm of another, zero where the first is zero.

        O = lhs * log(rhs), and 0 where lhs is 0

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any float; lhs, rhs and O alike. NaN where rhs is NaN and lhs is not 0.
    Source: this library; SciPy's `scipy.special.xlogy`.
    """
    x = lhs[None]
    O[None] = TernaryFn.select(BinaryFn.eq(x, 0), 0, x * UnaryFn.log(rhs[None]))
