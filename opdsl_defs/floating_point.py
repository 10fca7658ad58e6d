"""Tests and pieces of floating-point numbers, element by element, at any rank."""

from functools import partial

from linalg_ext.opdsl import (
    I1,
    T1,
    BinaryFn,
    ScalarDef,
    TensorDef,
    TernaryFn,
    UnaryFn,
    structured_op,
)

from ._elementwise import FLOATS_AND_INTEGERS, binary
from ._values import is_nan

__all__ = [
    "clamp",
    "copysign",
    "fmod",
    "fused_multiply_add",
    "heaviside",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "replace_nan",
]

_binary = partial(binary, __name__)


@structured_op
def isnan(I=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Test of each element for NaN.

        O = whether I differs from itself

    Shapes: any; I and O alike.
    Dtypes: I floats and integers; O boolean: false for every integer.
    Source: this library; NumPy's `numpy.isnan`.
    """
    O[None] = is_nan(I[None])


@structured_op
def isinf(I=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Test of each element for an infinity.

        O = whether I is a number and I - I is none

    Shapes: any; I and O alike.
    Dtypes: I floats and integers; O boolean: false for every integer.
    Source: this library; NumPy's `numpy.isinf`.
    """
    O[None] = ~is_nan(I[None]) & is_nan(I[None] - I[None])


@structured_op
def isfinite(I=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Test of each element for a finite number.

        O = whether I - I is a number

    Shapes: any; I and O alike.
    Dtypes: I floats and integers; O boolean: true for every integer.
    Source: this library; NumPy's `numpy.isfinite`.
    """
    O[None] = ~is_nan(I[None] - I[None])


@structured_op
def replace_nan(I=TensorDef(T1), value=ScalarDef(T1), O=TensorDef(T1, output=True)):
    """A number in the place of each NaN.

        O = value where I is NaN, else I

    Shapes: value a scalar; I and O any, alike.
    Dtypes: any float; all alike. Infinities stay.
    Source: this library; NumPy's `numpy.nan_to_num`, for NaN alone.
    """
    O[None] = TernaryFn.select(is_nan(I[None]), value, I[None])


@structured_op
def isclose(
    lhs=TensorDef(T1),
    rhs=TensorDef(T1),
    relative=ScalarDef(T1),
    absolute=ScalarDef(T1),
    O=TensorDef(I1, output=True),
):
    """Equality of two elements within a tolerance, at each place.

        O = lhs = rhs, or |lhs - rhs| <= absolute + relative * |rhs|, which is finite

    Shapes: relative and absolute scalars; lhs, rhs and O any, alike (nothing is broadcast).
    Dtypes: floats and integers, all but O alike; O boolean: false where either is NaN.
    Source: this library; NumPy's `numpy.isclose`.
    """
    x, y = lhs[None], rhs[None]
    tolerance = absolute + relative * UnaryFn.abs(y)
    distance = BinaryFn.max(x, y) - BinaryFn.min(x, y)  # of unsigned integers too
    is_near = (distance <= tolerance) & ~is_nan(y - y)
    O[None] = BinaryFn.eq(x, y) | is_near


fmod = _binary(
    "fmod",
    "Remainder of a division, with the sign of the dividend, at each place.",
    BinaryFn.rem,
    formula="lhs - trunc(lhs / rhs) * rhs",
    dtypes=FLOATS_AND_INTEGERS,
    remark="A float modulo 0 is NaN.",
)
copysign = _binary(
    "copysign",
    "Magnitude of one element with the sign of another, at each place.",
    formula="|lhs| with the sign of rhs",
    remark="The sign of a zero counts.",
)


@structured_op
def fused_multiply_add(
    A=TensorDef(T1), B=TensorDef(T1), C=TensorDef(T1), O=TensorDef(T1, output=True)
):
    """Product of two elements plus a third, rounded once, at each place.

        O = A * B + C

    Shapes: any; A, B, C and O alike (nothing is broadcast).
    Dtypes: floats and integers; all alike. `multiply_add` rounds the product as well.
    Source: this library; C's `fma`.
    """
    O[None] = TernaryFn.fma(A[None], B[None], C[None])


@structured_op
def heaviside(I=TensorDef(T1), at_zero=ScalarDef(T1), O=TensorDef(T1, output=True)):
    """Step function: zero below zero, one above it, and a given number at zero.

        O = 0 where I < 0, at_zero where I = 0, 1 where I > 0

    Shapes: at_zero a scalar; I and O any, alike.
    Dtypes: floats and signed integers; all alike. NaN stays NaN.
    Source: this library; NumPy's `numpy.heaviside`.
    """
    x = I[None]
    at_or_none = TernaryFn.select(BinaryFn.eq(x, 0), at_zero, x)
    O[None] = TernaryFn.select(x > 0, 1, TernaryFn.select(x < 0, 0, at_or_none))


@structured_op
def clamp(I=TensorDef(T1), low=TensorDef(T1), high=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each element, limited to an interval of its own; `clip` has one for all.

        O = min(max(I, low), high)

    Shapes: any; I, low, high and O alike (nothing is broadcast).
    Dtypes: floats and integers; all alike. NaN where any is NaN.
    Source: this library; NumPy's `numpy.clip` of three arrays.
    """
    O[None] = TernaryFn.clamp(I[None], low[None], high[None])
