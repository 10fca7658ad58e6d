"""Cumulative sums and their like along the rows of a matrix.

A structured op carries nothing from one element of its output to the next: each is a reduction of
its own, over the row masked behind it. Compiled they are loops that carry the result along the row
(`linearize_sums`).
"""

from linalg_ext.opdsl import (
    T1,
    D,
    ReduceFn,
    S,
    T,
    TensorDef,
    TernaryFn,
    U,
    domain,
    structured_op,
)

from ._values import cast, position

__all__ = [
    "row_cumulative_max",
    "row_cumulative_min",
    "row_cumulative_product",
    "row_cumulative_sum",
]


@structured_op
def row_cumulative_sum(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, S.N, output=True)):
    """Sums of each row up to each of its elements, added to O.

        O[m, n] += sum over k <= n of A[m, k]

    Shapes: A (M, N), O (M, N).
    Dtypes: any numbers; A is cast to that of O, as signed, before the sum.
    Source: this library; NumPy's `numpy.cumsum`, axis 1.
    """
    domain(D.m, D.n, D.k)
    is_before = position(D.k) <= position(D.n)
    O[D.m, D.n] += TernaryFn.select(is_before, cast(A[D.m, D.k]), 0)


@structured_op
def row_cumulative_product(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, S.N, output=True)):
    """Products of each row up to each of its elements, times O.

        O[m, n] = O[m, n] * product over k <= n of A[m, k]

    Shapes: A (M, N), O (M, N).
    Dtypes: any numbers; A is cast to that of O, as signed, before the product.
    Source: this library; NumPy's `numpy.cumprod`, axis 1.
    """
    domain(D.m, D.n, D.k)
    is_before = position(D.k) <= position(D.n)
    O[D.m, D.n] = ReduceFn.mul[D.k](TernaryFn.select(is_before, cast(A[D.m, D.k]), 1))


@structured_op
def row_cumulative_max(A=TensorDef(T, S.M, S.N), O=TensorDef(T, S.M, S.N, output=True)):
    """Maxima of each row up to each of its elements.

        O[m, n] = the maximum of O[m, n] and, over k <= n, A[m, k]

    Shapes: A (M, N), O (M, N).
    Dtypes: floats and integers; A and O alike. A NaN makes all from there on NaN.
    Source: this library; NumPy's `numpy.maximum.accumulate`, axis 1.
    """
    domain(D.m, D.n, D.k)
    is_before = position(D.k) <= position(D.n)
    O[D.m, D.n] = ReduceFn.max[D.k](TernaryFn.select(is_before, A[D.m, D.k], A[D.m, D.n]))


@structured_op
def row_cumulative_min(A=TensorDef(T, S.M, S.N), O=TensorDef(T, S.M, S.N, output=True)):
    """Minima of each row up to each of its elements.

        O[m, n] = the minimum of O[m, n] and, over k <= n, A[m, k]

    Shapes: A (M, N), O (M, N).
    Dtypes: floats and integers; A and O alike. A NaN makes all from there on NaN.
    Source: this library; NumPy's `numpy.minimum.accumulate`, axis 1.
    """
    domain(D.m, D.n, D.k)
    is_before = position(D.k) <= position(D.n)
    O[D.m, D.n] = ReduceFn.min[D.k](TernaryFn.select(is_before, A[D.m, D.k], A[D.m, D.n]))
