"""Functions of two and three tensors, element by element, at any rank; see also unary.py.

Some ops have the names of Python's built-ins, which this file therefore does not use.
"""

from linalg_ext.opdsl import (
    T1,
    T2,
    BinaryFn,
    BinaryFnAttrDef,
    ScalarDef,
    TensorDef,
    TernaryFn,
    TypeFn,
    TypeFnAttrDef,
    U,
    structured_op,
)

__all__ = [
    "add",
    "axpy",
    "clip",
    "div",
    "div_unsigned",
    "elemwise_binary",
    "lerp",
    "max",
    "max_unsigned",
    "min",
    "min_unsigned",
    "mul",
    "multiply_add",
    "powf",
    "select",
    "squared_difference",
    "sub",
]


@structured_op
def elemwise_binary(
    lhs=TensorDef(T1),
    rhs=TensorDef(T2),
    O=TensorDef(U, output=True),
    fun=BinaryFnAttrDef(default=BinaryFn.add),
    cast=TypeFnAttrDef(default=TypeFn.cast_signed),
):
    """A function, chosen by attribute, of two tensors, element by element.

        O = fun(cast(lhs), cast(rhs))

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any to any; lhs and rhs are cast first: the function computes in the type of O.
    Attributes: fun = any binary function (add), cast = cast_signed or cast_unsigned.
    Source: upstream's `linalg.elemwise_binary`, which `linalg.elementwise` has replaced.
    """
    O[None] = fun(cast(U, lhs[None]), cast(U, rhs[None]))


@structured_op
def add(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Sum of two tensors, element by element.

        O = lhs + rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any number; lhs, rhs and O alike. Integers wrap around; on booleans it is `or`.
    Source: upstream's `linalg.add`.
    """
    O[None] = BinaryFn.add(lhs[None], rhs[None])


@structured_op
def sub(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Difference of two tensors, element by element.

        O = lhs - rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any number; lhs, rhs and O alike, integers wrap around.
    Source: upstream's `linalg.sub`.
    """
    O[None] = BinaryFn.sub(lhs[None], rhs[None])


@structured_op
def mul(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Product of two tensors, element by element.

        O = lhs * rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any number; lhs, rhs and O alike. Integers wrap around; on booleans it is `and`.
    Source: upstream's `linalg.mul`.
    """
    O[None] = BinaryFn.mul(lhs[None], rhs[None])


@structured_op
def div(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Quotient of two tensors, element by element, integers as signed.

        O = lhs / rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any number; lhs, rhs and O alike. Integers are divided towards zero.
    Source: upstream's `linalg.div`.
    """
    O[None] = BinaryFn.div(lhs[None], rhs[None])


@structured_op
def div_unsigned(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Quotient of two tensors of unsigned integers, element by element.

        O = lhs / rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: integers, whose bits are read as unsigned; lhs, rhs and O alike.
    Source: upstream's `linalg.div_unsigned`.
    """
    O[None] = BinaryFn.div_unsigned(lhs[None], rhs[None])


@structured_op
def max(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The larger of two elements, at each place, integers as signed.

        O = the larger of lhs and rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: floats and integers; lhs, rhs and O alike. NaN where either is NaN.
    Source: upstream's `linalg.max`.
    """
    O[None] = BinaryFn.max_signed(lhs[None], rhs[None])


@structured_op
def min(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The smaller of two elements, at each place, integers as signed.

        O = the smaller of lhs and rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: floats and integers; lhs, rhs and O alike. NaN where either is NaN.
    Source: upstream's `linalg.min`.
    """
    O[None] = BinaryFn.min_signed(lhs[None], rhs[None])


@structured_op
def max_unsigned(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The larger of two unsigned integers, at each place.

        O = the larger of lhs and rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: integers, whose bits are read as unsigned; lhs, rhs and O alike.
    Source: this library; upstream has the function, `BinaryFn.max_unsigned`, but no such op.
    """
    O[None] = BinaryFn.max_unsigned(lhs[None], rhs[None])


@structured_op
def min_unsigned(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The smaller of two unsigned integers, at each place.

        O = the smaller of lhs and rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: integers, whose bits are read as unsigned; lhs, rhs and O alike.
    Source: this library; upstream has the function, `BinaryFn.min_unsigned`, but no such op.
    """
    O[None] = BinaryFn.min_unsigned(lhs[None], rhs[None])


@structured_op(op_class_name="PowFOp")
def powf(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each element of lhs to the power of that of rhs.

        O = lhs ** rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any float; lhs, rhs and O alike. `square` is quicker for rhs = 2.
    Source: upstream's `linalg.powf`.
    """
    O[None] = BinaryFn.powf(lhs[None], rhs[None])


@structured_op
def select(
    cond=TensorDef(U),
    lhs=TensorDef(T1),
    rhs=TensorDef(T1),
    O=TensorDef(T1, output=True),
):
    """One of two elements at each place, chosen by a third tensor.

        O = lhs where cond is true, else rhs

    Shapes: any; all alike (nothing is broadcast).
    Dtypes: cond boolean; lhs, rhs and O any, alike.
    Source: upstream's `linalg.select`; NumPy's `numpy.where`.
    """
    O[None] = TernaryFn.select(cond[None], lhs[None], rhs[None])


@structured_op
def squared_difference(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Square of the difference of two tensors, element by element.

        O = (lhs - rhs) * (lhs - rhs)

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any number; lhs, rhs and O alike.
    Source: this library; TensorFlow's `tf.math.squared_difference`.
    """
    O[None] = (lhs[None] - rhs[None]) * (lhs[None] - rhs[None])


@structured_op
def axpy(
    alpha=ScalarDef(T1),
    X=TensorDef(T1),
    Y=TensorDef(T1),
    O=TensorDef(T1, output=True),
):
    """A tensor scaled by a number, plus another tensor.

        O = alpha * X + Y

    Shapes: alpha a scalar; X, Y and O any, alike.
    Dtypes: any number; all alike.
    Source: this library; the BLAS routine of that name.
    """
    O[None] = alpha * X[None] + Y[None]


@structured_op
def multiply_add(
    A=TensorDef(T1),
    B=TensorDef(T1),
    C=TensorDef(T1),
    O=TensorDef(T1, output=True),
):
    """Product of two tensors plus a third, element by element.

        O = A * B + C

    Shapes: any; all alike (nothing is broadcast).
    Dtypes: any number; all alike. The product of floats is rounded before the sum.
    Source: this library; TensorRT's and CUDA's multiply-add.
    """
    O[None] = A[None] * B[None] + C[None]


@structured_op
def lerp(
    A=TensorDef(T1),
    B=TensorDef(T1),
    weight=ScalarDef(T1),
    O=TensorDef(T1, output=True),
):
    """Linear interpolation between two tensors.

        O = A + weight * (B - A)

    Shapes: weight a scalar; A, B and O any, alike.
    Dtypes: any float; all alike.
    Source: this library; PyTorch's `torch.lerp`.
    """
    O[None] = A[None] + weight * (B[None] - A[None])


@structured_op
def clip(
    I=TensorDef(T1),
    low=ScalarDef(T1),
    high=ScalarDef(T1),
    O=TensorDef(T1, output=True),
):
    """Each element, limited to an interval, integers as signed.

        O = the smaller of high and (the larger of I and low)

    Shapes: low and high scalars; I and O any, alike.
    Dtypes: floats and integers; all alike. NaN stays NaN; high where low > high.
    Source: this library; NumPy's `numpy.clip`.
    """
    O[None] = BinaryFn.min_signed(BinaryFn.max_signed(I[None], low), high)
