"""Reductions of the rows and the columns of a matrix, of a diagonal, and matrix norms."""

from functools import partial

from linalg_ext.opdsl import (
    T1,
    BinaryFn,
    D,
    ReduceFn,
    S,
    TensorDef,
    TypeFn,
    U,
    domain,
    structured_op,
)

from ._lines import reduction
from ._values import cast, mean_weight

__all__ = [
    "column_max",
    "column_mean",
    "column_min",
    "column_product",
    "column_sum",
    "diagonal",
    "row_max",
    "row_max_of_absolutes",
    "row_mean",
    "row_min",
    "row_product",
    "row_sum",
    "row_sum_of_absolutes",
    "row_sum_of_squares",
    "trace",
]


_reduction = partial(reduction, __name__)
_EXTREMA = "floats and signed integers; A is cast to that of O. A NaN makes its result NaN."

row_sum, column_sum = _reduction(
    "sum",
    "Sum of each {line}, added to O.",
    "+= sum over {k} of A[m, n]",
    ReduceFn.add,
    dtypes="any numbers; A is cast to that of O, as signed, before the sum.",
    numpy="sum",
)
row_product, column_product = _reduction(
    "product",
    "Product of each {line}, times O.",
    "= O[{i}] * product over {k} of A[m, n]",
    ReduceFn.mul,
    dtypes="any numbers; A is cast to that of O, as signed, before the product.",
    numpy="prod",
)
row_max, column_max = _reduction(
    "max",
    "Largest element of each {line}, integers as signed.",
    "= the maximum of O[{i}] and, over {k}, A[m, n]",
    ReduceFn.max_signed,
    dtypes=_EXTREMA,
    numpy="max",
)
row_min, column_min = _reduction(
    "min",
    "Smallest element of each {line}, integers as signed.",
    "= the minimum of O[{i}] and, over {k}, A[m, n]",
    ReduceFn.min_signed,
    dtypes=_EXTREMA,
    numpy="min",
)
row_mean, column_mean = _reduction(
    "mean",
    "Mean of each {line}, added to O.",
    "+= mean over {k} of A[m, n]",
    ReduceFn.add,
    lambda x, line: cast(x) * mean_weight(line.length),
    dtypes="A any numbers, cast to those of O, as signed; O any float.",
    numpy="mean",
)


def _absolute(x):
    """|x| in the type of the output, an unsigned one too; upstream's `abs` is for floats alone."""
    x = TypeFn.cast_signed(U, x)
    return BinaryFn.max_signed(x, 0) - BinaryFn.min_signed(x, 0)


@structured_op
def row_sum_of_squares(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, output=True)):
    """Sum of the squares of each row, added to O: the squared Euclidean norm.

        O[m] += sum over n of A[m, n] ** 2

    Shapes: A (M, N), O (M).
    Dtypes: any numbers; A is cast to that of O, as signed, before the square.
    Source: this library; SciPy's `scipy.linalg.norm`, squared.
    """
    domain(D.m, D.n)
    O[D.m] += TypeFn.cast_signed(U, A[D.m, D.n]) * TypeFn.cast_signed(U, A[D.m, D.n])


@structured_op
def row_sum_of_absolutes(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, output=True)):
    """Sum of the absolute values of each row, added to O: the L1 norm.

        O[m] += sum over n of |A[m, n]|

    Shapes: A (M, N), O (M).
    Dtypes: floats and integers; A is cast to that of O.
    Source: this library; NumPy's `numpy.linalg.norm`, ord 1.
    """
    domain(D.m, D.n)
    O[D.m] += _absolute(A[D.m, D.n])


@structured_op
def row_max_of_absolutes(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, output=True)):
    """Largest absolute value of each row: the maximum norm.

        O[m] = the maximum of O[m] and, over n, |A[m, n]|

    Shapes: A (M, N), O (M).
    Dtypes: floats and integers; A is cast to that of O.
    Source: this library; NumPy's `numpy.linalg.norm`, ord inf.
    """
    domain(D.m, D.n)
    O[D.m] = ReduceFn.max_signed[D.n](_absolute(A[D.m, D.n]))


@structured_op
def diagonal(A=TensorDef(T1, S.M, S.M), O=TensorDef(T1, S.M, output=True)):
    """Diagonal of a square matrix.

        O[m] = A[m, m]

    Shapes: A (M, M), O (M).
    Dtypes: any; A and O alike.
    Source: this library; NumPy's `numpy.diagonal`.
    """
    O[D.m] = A[D.m, D.m]


@structured_op
def trace(A=TensorDef(T1, S.M, S.M), O=TensorDef(U, output=True)):
    """Sum of the diagonal of a square matrix, added to the scalar O.

        O += sum over m of A[m, m]

    Shapes: A (M, M), O ().
    Dtypes: any numbers; A is cast to that of O, as signed, before the sum.
    Source: this library; NumPy's `numpy.trace`.
    """
    O[None] += TypeFn.cast_signed(U, A[D.m, D.m])
