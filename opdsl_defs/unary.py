"""Functions of one tensor, element by element, at any rank.

Some ops have the names of Python's built-ins, which this file therefore does not use.
"""

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


@structured_op
def exp(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Exponential of each element.

        O = exp(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: upstream's `linalg.exp`.
    """
    O[None] = UnaryFn.exp(I[None])


@structured_op
def log(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Natural logarithm of each element.

        O = log(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Negative elements give NaN, 0 gives -inf.
    Source: upstream's `linalg.log`.
    """
    O[None] = UnaryFn.log(I[None])


@structured_op
def abs(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Absolute value of each element.

        O = |I|

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Integers too, as signed, but not in upstream's op.
    Source: upstream's `linalg.abs`.
    """
    O[None] = UnaryFn.abs(I[None])


@structured_op
def ceil(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The smallest whole number at or above each element.

        O = ceil(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: upstream's `linalg.ceil`.
    """
    O[None] = UnaryFn.ceil(I[None])


@structured_op
def floor(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The largest whole number at or below each element.

        O = floor(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: upstream's `linalg.floor`.
    """
    O[None] = UnaryFn.floor(I[None])


@structured_op(op_class_name="NegFOp")
def negf(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Negation of each element.

        O = -I

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Integers too, as signed, but not in upstream's op.
    Source: upstream's `linalg.negf`.
    """
    O[None] = UnaryFn.negf(I[None])


@structured_op(op_class_name="ReciprocalOp")
def reciprocal(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """One divided by each element.

        O = 1 / I

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: upstream's `linalg.reciprocal`.
    """
    O[None] = UnaryFn.reciprocal(I[None])


@structured_op
def round(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The nearest whole number to each element, halves away from zero.

        O = round(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. NumPy's `round` takes halves to even instead.
    Source: upstream's `linalg.round`.
    """
    O[None] = UnaryFn.round(I[None])


@structured_op
def sqrt(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Square root of each element.

        O = sqrt(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Negative elements give NaN.
    Source: upstream's `linalg.sqrt`.
    """
    O[None] = UnaryFn.sqrt(I[None])


@structured_op
def rsqrt(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Reciprocal of the square root of each element.

        O = 1 / sqrt(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. 0 gives inf.
    Source: upstream's `linalg.rsqrt`.
    """
    O[None] = UnaryFn.rsqrt(I[None])


@structured_op
def square(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Square of each element.

        O = I * I

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Integers too, as signed, but not in upstream's op.
    Source: upstream's `linalg.square`.
    """
    O[None] = UnaryFn.square(I[None])


@structured_op
def tanh(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Hyperbolic tangent of each element.

        O = tanh(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: upstream's `linalg.tanh`.
    """
    O[None] = UnaryFn.tanh(I[None])


@structured_op
def erf(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Gauss error function of each element.

        O = erf(I) = 2 / sqrt(pi) * integral from 0 to I of exp(-t * t) dt

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: upstream's `linalg.erf`.
    """
    O[None] = UnaryFn.erf(I[None])


@structured_op
def trunc(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The whole number nearest to each element on the way to zero.

        O = trunc(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: this library; NumPy's `numpy.trunc`.
    """
    O[None] = UnaryFn.trunc(I[None])


@structured_op
def roundeven(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The nearest whole number to each element, halves to the even one.

        O = roundeven(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: this library; NumPy's `numpy.rint`.
    """
    O[None] = UnaryFn.roundeven(I[None])


@structured_op
def erfc(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Complementary error function of each element, exact where `erf` is near one.

        O = erfc(I) = 1 - erf(I)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike.
    Source: this library; SciPy's `scipy.special.erfc`.
    """
    O[None] = UnaryFn.erfc(I[None])


@structured_op
def sign(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Sign of each element: minus one, zero or one.

        O = 1 where I > 0, -1 where I < 0, else I

    Shapes: any; I and O alike.
    Dtypes: floats and signed integers; I and O alike. NaN stays NaN.
    Source: this library; NumPy's `numpy.sign`.
    """
    O[None] = TernaryFn.select(I[None] > 0, 1, TernaryFn.select(I[None] < 0, -1, I[None]))
