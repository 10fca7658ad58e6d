"""Functions of one tensor, element by element, at any rank.

Some ops have the names of Python's built-ins, which this file therefore does not use.
"""

from functools import partial

from linalg_ext.opdsl import (
    T1,
    Canonicalizer,
    TensorDef,
    TernaryFn,
    TypeFn,
    TypeFnAttrDef,
    U,
    UnaryFn,
    UnaryFnAttrDef,
    defines,
    structured_op,
)

from ._elementwise import NUMPY, UPSTREAM, unary

__all__ = [
    "abs",
    "ceil",
    "copy",
    "elemwise_unary",
    "erf",
    "erfc",
    "exp",
    "floor",
    "log",
    "negf",
    "reciprocal",
    "round",
    "roundeven",
    "rsqrt",
    "sign",
    "sqrt",
    "square",
    "tanh",
    "trunc",
]

_unary = partial(unary, __name__, source=UPSTREAM)


@structured_op
def copy(
    I=TensorDef(T1),
    O=TensorDef(U, output=True),
    cast=TypeFnAttrDef(default=TypeFn.cast_signed),
):
    """Copy of a tensor, cast to the element type of the result.

        O = cast(I)

    Shapes: any; I and O alike.
    Dtypes: any to any. Floats become integers by dropping the fraction.
    Attributes: cast = cast_signed or cast_unsigned, how integers are read.
    Source: upstream's `linalg.copy`.
    """
    defines(Canonicalizer)
    O[None] = cast(U, I[None])


@structured_op
def elemwise_unary(
    I=TensorDef(T1),
    O=TensorDef(U, output=True),
    fun=UnaryFnAttrDef(default=UnaryFn.exp),
    cast=TypeFnAttrDef(default=TypeFn.cast_signed),
):
    """A function, chosen by attribute, of each element.

        O = fun(cast(I))

    Shapes: any; I and O alike.
    Dtypes: any to any; I is cast first, so that the function computes in the type of O.
    Attributes: fun = any unary function (exp), cast = cast_signed or cast_unsigned.
    Source: upstream's `linalg.elemwise_unary`, which `linalg.elementwise` has replaced.
    """
    O[None] = fun(cast(U, I[None]))


exp = _unary("exp", "Exponential of each element.")
log = _unary(
    "log", "Natural logarithm of each element.", remark="Negative elements give NaN, 0 gives -inf."
)
abs = _unary(
    "abs",
    "Absolute value of each element.",
    formula="|I|",
    remark="Integers too, as signed, but not in upstream's op.",
)
ceil = _unary("ceil", "The smallest whole number at or above each element.")
floor = _unary("floor", "The largest whole number at or below each element.")
negf = _unary(
    "negf",
    "Negation of each element.",
    formula="-I",
    remark="Integers too, as signed, but not in upstream's op.",
    op_class_name="NegFOp",
)
reciprocal = _unary("reciprocal", "One divided by each element.", formula="1 / I")
round = _unary(
    "round",
    "The nearest whole number to each element, halves away from zero.",
    remark="NumPy's `round` takes halves to even instead.",
)
sqrt = _unary("sqrt", "Square root of each element.", remark="Negative elements give NaN.")
rsqrt = _unary(
    "rsqrt",
    "Reciprocal of the square root of each element.",
    formula="1 / sqrt(I)",
    remark="0 gives inf.",
)
square = _unary(
    "square",
    "Square of each element.",
    formula="I * I",
    remark="Integers too, as signed, but not in upstream's op.",
)
tanh = _unary("tanh", "Hyperbolic tangent of each element.")
erf = _unary(
    "erf",
    "Gauss error function of each element.",
    formula="erf(I) = 2 / sqrt(pi) * integral from 0 to I of exp(-t * t) dt",
)
trunc = _unary(
    "trunc", "The whole number nearest to each element on the way to zero.", source=NUMPY
)
roundeven = _unary(
    "roundeven",
    "The nearest whole number to each element, halves to the even one.",
    source="this library; NumPy's `numpy.rint`",
)
erfc = _unary(
    "erfc",
    "Complementary error function of each element, exact where `erf` is near one.",
    formula="erfc(I) = 1 - erf(I)",
    source="this library; SciPy's `scipy.special.erfc`",
)


@structured_op
def sign(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Sign of each element: minus one, zero or one.

        O = 1 where I > 0, -1 where I < 0, else I

    Shapes: any; I and O alike.
    Dtypes: floats and signed integers; I and O alike. NaN stays NaN.
    Source: this library; NumPy's `numpy.sign`.
    """
    O[None] = TernaryFn.select(I[None] > 0, 1, TernaryFn.select(I[None] < 0, -1, I[None]))
