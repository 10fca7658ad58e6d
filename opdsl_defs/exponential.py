"""Exponentials, logarithms and roots, element by element, at any rank; see also unary.py."""

from functools import partial

from linalg_ext.opdsl import (
    T1,
    BinaryFn,
    TensorDef,
    TernaryFn,
    UnaryFn,
    structured_op,
)

from ._elementwise import FLOATS_AND_COMPLEX, unary

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

_unary = partial(unary, __name__)


exp2 = _unary("exp2", "Two to the power of each element.", formula="2 ** I")
expm1 = _unary(
    "expm1",
    "Exponential of each element less one, exact near zero.",
    formula="exp(I) - 1",
    dtypes=FLOATS_AND_COMPLEX,
)
log1p = _unary(
    "log1p",
    "Natural logarithm of one plus each element, exact near zero.",
    formula="log(1 + I)",
    dtypes=FLOATS_AND_COMPLEX,
    remark="Floats below -1 give NaN.",
)
log2 = _unary(
    "log2",
    "Logarithm of each element to base two.",
    dtypes=FLOATS_AND_COMPLEX,
    remark="Negative floats give NaN.",
)
log10 = _unary(
    "log10",
    "Logarithm of each element to base ten.",
    dtypes=FLOATS_AND_COMPLEX,
    remark="Negative floats give NaN.",
)
cbrt = _unary(
    "cbrt",
    "Cube root of each element.",
    formula="the number whose cube is I",
    remark="That of a negative number is negative.",
)


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
