"""Functions of two and three tensors, element by element, at any rank; see also unary.py.

Some ops have the names of Python's built-ins, which this file therefore does not use.
"""

from functools import partial

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

from ._elementwise import FLOATS_AND_INTEGERS, NUMBERS, UPSTREAM, binary

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

_binary = partial(binary, __name__, source=UPSTREAM)


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


add = _binary(
    "add",
    "Sum of two tensors, element by element.",
    formula="lhs + rhs",
    dtypes=NUMBERS,
    remark="Integers wrap around; on booleans it is `or`.",
)
sub = _binary(
    "sub",
    "Difference of two tensors, element by element.",
    formula="lhs - rhs",
    dtypes=NUMBERS,
    remark="Integers wrap around.",
)
mul = _binary(
    "mul",
    "Product of two tensors, element by element.",
    formula="lhs * rhs",
    dtypes=NUMBERS,
    remark="Integers wrap around; on booleans it is `and`.",
)
div = _binary(
    "div",
    "Quotient of two tensors, element by element, integers as signed.",
    formula="lhs / rhs",
    dtypes=NUMBERS,
    remark="Integers are divided towards zero.",
)
div_unsigned = _binary(
    "div_unsigned",
    "Quotient of two tensors of unsigned integers, element by element.",
    formula="lhs / rhs",
    dtypes="integers, whose bits are read as unsigned",
)
max = _binary(
    "max",
    "The larger of two elements, at each place, integers as signed.",
    BinaryFn.max_signed,
    formula="the larger of lhs and rhs",
    dtypes=FLOATS_AND_INTEGERS,
    remark="NaN where either is NaN.",
)
min = _binary(
    "min",
    "The smaller of two elements, at each place, integers as signed.",
    BinaryFn.min_signed,
    formula="the smaller of lhs and rhs",
    dtypes=FLOATS_AND_INTEGERS,
    remark="NaN where either is NaN.",
)
max_unsigned = _binary(
    "max_unsigned",
    "The larger of two unsigned integers, at each place.",
    formula="the larger of lhs and rhs",
    dtypes="integers, whose bits are read as unsigned",
    source="this library; upstream has the function, `BinaryFn.max_unsigned`, but no such op",
)
min_unsigned = _binary(
    "min_unsigned",
    "The smaller of two unsigned integers, at each place.",
    formula="the smaller of lhs and rhs",
    dtypes="integers, whose bits are read as unsigned",
    source="this library; upstream has the function, `BinaryFn.min_unsigned`, but no such op",
)
powf = _binary(
    "powf",
    "Each element of lhs to the power of that of rhs.",
    formula="lhs ** rhs",
    remark="`square` is quicker for rhs = 2.",
    op_class_name="PowFOp",
)


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
