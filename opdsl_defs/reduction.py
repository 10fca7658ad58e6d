"""Reductions of the rows and the columns of a matrix, of a diagonal, and matrix norms."""

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


def _absolute(x):
    """|x| in the type of the output, an unsigned one too; upstream's `abs` is for floats alone."""
    x = TypeFn.cast_signed(U, x)
    return BinaryFn.max_signed(x, 0) - BinaryFn.min_signed(x, 0)


@structured_op
def row_sum(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, output=True)):
    """Sum of each row, added to O.

        O[m] += sum over n of A[m, n]

    Shapes: A (M, N), O (M).
    Dtypes: any numbers; A is cast to that of O, as signed, before the sum.
    Source: this library; NumPy's `numpy.sum`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m] += TypeFn.cast_signed(U, A[D.m, D.n])


@structured_op
def row_product(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, output=True)):
    """Product of each row, times O.

        O[m] = O[m] * product over n of A[m, n]

    Shapes: A (M, N), O (M).
    Dtypes: any numbers; A is cast to that of O, as signed, before the product.
    Source: this library; NumPy's `numpy.prod`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m] = ReduceFn.mul[D.n](TypeFn.cast_signed(U, A[D.m, D.n]))


@structured_op
def row_max(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, output=True)):
    """Largest element of each row, integers as signed.

        O[m] = the maximum of O[m] and, over n, A[m, n]

    Shapes: A (M, N), O (M).
    Dtypes: floats and signed integers; A is cast to that of O. A NaN makes its result NaN.
    Source: this library; NumPy's `numpy.max`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m] = ReduceFn.max_signed[D.n](TypeFn.cast_signed(U, A[D.m, D.n]))


@structured_op
def row_min(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, output=True)):
    """Smallest element of each row, integers as signed.

        O[m] = the minimum of O[m] and, over n, A[m, n]

    Shapes: A (M, N), O (M).
    Dtypes: floats and signed integers; A is cast to that of O. A NaN makes its result NaN.
    Source: this library; NumPy's `numpy.min`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m] = ReduceFn.min_signed[D.n](TypeFn.cast_signed(U, A[D.m, D.n]))


@structured_op
def column_sum(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.N, output=True)):
    """Sum of each column, added to O.

        O[n] += sum over m of A[m, n]

    Shapes: A (M, N), O (N).
    Dtypes: any numbers; A is cast to that of O, as signed, before the sum.
    Source: this library; NumPy's `numpy.sum`, axis 0.
    """
    domain(D.n, D.m)
    O[D.n] += TypeFn.cast_signed(U, A[D.m, D.n])


@structured_op
def column_max(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.N, output=True)):
    """Largest element of each column, integers as signed.

        O[n] = the maximum of O[n] and, over m, A[m, n]

    Shapes: A (M, N), O (N).
    Dtypes: floats and signed integers; A is cast to that of O. A NaN makes its result NaN.
    Source: this library; NumPy's `numpy.max`, axis 0.
    """
    domain(D.n, D.m)
    O[D.n] = ReduceFn.max_signed[D.m](TypeFn.cast_signed(U, A[D.m, D.n]))


@structured_op
def column_min(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.N, output=True)):
    """Smallest element of each column, integers as signed.

        O[n] = the minimum of O[n] and, over m, A[m, n]

    Shapes: A (M, N), O (N).
    Dtypes: floats and signed integers; A is cast to that of O. A NaN makes its result NaN.
    Source: this library; NumPy's `numpy.min`, axis 0.
    """
    domain(D.n, D.m)
    O[D.n] = ReduceFn.min_signed[D.m](TypeFn.cast_signed(U, A[D.m, D.n]))


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


@structured_op
def row_mean(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, output=True)):
    """Mean of each row, added to O.

        O[m] += mean over n of A[m, n]

    Shapes: A (M, N), O (M).
    Dtypes: A any numbers, cast to those of O, as signed; O any float.
    Source: this library; NumPy's `numpy.mean`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m] += cast(A[D.m, D.n]) * mean_weight(S.N)


@structured_op
def column_mean(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.N, output=True)):
    """Mean of each column, added to O.

        O[n] += mean over m of A[m, n]

    Shapes: A (M, N), O (N).
    Dtypes: A any numbers, cast to those of O, as signed; O any float.
    Source: this library; NumPy's `numpy.mean`, axis 0.
    """
    domain(D.n, D.m)
    O[D.n] += cast(A[D.m, D.n]) * mean_weight(S.M)


@structured_op
def column_product(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.N, output=True)):
    """Product of each column, times O.

        O[n] = O[n] * product over m of A[m, n]

    Shapes: A (M, N), O (N).
    Dtypes: any numbers; A is cast to that of O, as signed, before the product.
    Source: this library; NumPy's `numpy.prod`, axis 0.
    """
    domain(D.n, D.m)
    O[D.n] = ReduceFn.mul[D.m](cast(A[D.m, D.n]))
