"""The largest and smallest elements of rows and columns, and where they stand."""

from linalg_ext.opdsl import (
    I64,
    BinaryFn,
    D,
    ReduceFn,
    S,
    T,
    TensorDef,
    TernaryFn,
    domain,
    fold,
    structured_op,
)

from ._values import is_nan, position

__all__ = [
    "column_argmax",
    "column_argmin",
    "column_min_max",
    "row_argmax",
    "row_argmin",
    "row_min_max",
    "row_top_two",
]


@structured_op
def row_argmax(
    A=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.M, output=True),
    place=TensorDef(I64, S.M, output=True),
):
    """The largest element of each row, and the first place where it stands.

        O[m] = the maximum over n of A[m, n]
        place[m] = the least n where it is A[m, n]

    The first NaN of a row, if it has one, counts as its largest element, as in NumPy.

    Shapes: A (M, N), O and place (M); place is 0 for a row without elements.
    Dtypes: A and O floats or integers, alike; place int64.
    Source: this library; NumPy's `numpy.argmax`, axis 1.
    """
    domain(D.m, D.n)
    is_better = (A[D.m, D.n] > O[D.m]) | (is_nan(A[D.m, D.n]) & ~is_nan(O[D.m]))
    O[D.m] = fold[D.n](TernaryFn.select(is_better, A[D.m, D.n], O[D.m]), init=ReduceFn.max)
    place[D.m] = fold[D.n](TernaryFn.select(is_better, position(D.n), place[D.m]), init=0)


@structured_op
def row_argmin(
    A=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.M, output=True),
    place=TensorDef(I64, S.M, output=True),
):
    """The smallest element of each row, and the first place where it stands.

        O[m] = the minimum over n of A[m, n]
        place[m] = the least n where it is A[m, n]

    The first NaN of a row, if it has one, counts as its smallest element, as in NumPy.

    Shapes: A (M, N), O and place (M); place is 0 for a row without elements.
    Dtypes: A and O floats or integers, alike; place int64.
    Source: this library; NumPy's `numpy.argmin`, axis 1.
    """
    domain(D.m, D.n)
    is_better = (A[D.m, D.n] < O[D.m]) | (is_nan(A[D.m, D.n]) & ~is_nan(O[D.m]))
    O[D.m] = fold[D.n](TernaryFn.select(is_better, A[D.m, D.n], O[D.m]), init=ReduceFn.min)
    place[D.m] = fold[D.n](TernaryFn.select(is_better, position(D.n), place[D.m]), init=0)


@structured_op
def column_argmax(
    A=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.N, output=True),
    place=TensorDef(I64, S.N, output=True),
):
    """The largest element of each column, and the first place where it stands.

        O[n] = the maximum over m of A[m, n]
        place[n] = the least m where it is A[m, n]

    The first NaN of a column, if it has one, counts as its largest element, as in NumPy.

    Shapes: A (M, N), O and place (N); place is 0 for a column without elements.
    Dtypes: A and O floats or integers, alike; place int64.
    Source: this library; NumPy's `numpy.argmax`, axis 0.
    """
    domain(D.n, D.m)
    is_better = (A[D.m, D.n] > O[D.n]) | (is_nan(A[D.m, D.n]) & ~is_nan(O[D.n]))
    O[D.n] = fold[D.m](TernaryFn.select(is_better, A[D.m, D.n], O[D.n]), init=ReduceFn.max)
    place[D.n] = fold[D.m](TernaryFn.select(is_better, position(D.m), place[D.n]), init=0)


@structured_op
def column_argmin(
    A=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.N, output=True),
    place=TensorDef(I64, S.N, output=True),
):
    """The smallest element of each column, and the first place where it stands.

        O[n] = the minimum over m of A[m, n]
        place[n] = the least m where it is A[m, n]

    The first NaN of a column, if it has one, counts as its smallest element, as in NumPy.

    Shapes: A (M, N), O and place (N); place is 0 for a column without elements.
    Dtypes: A and O floats or integers, alike; place int64.
    Source: this library; NumPy's `numpy.argmin`, axis 0.
    """
    domain(D.n, D.m)
    is_better = (A[D.m, D.n] < O[D.n]) | (is_nan(A[D.m, D.n]) & ~is_nan(O[D.n]))
    O[D.n] = fold[D.m](TernaryFn.select(is_better, A[D.m, D.n], O[D.n]), init=ReduceFn.min)
    place[D.n] = fold[D.m](TernaryFn.select(is_better, position(D.m), place[D.n]), init=0)


@structured_op
def row_min_max(
    A=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.M, output=True),
    largest=TensorDef(T, S.M, output=True),
):
    """The smallest and the largest element of each row, in one pass.

        O[m] = the minimum of O[m] and, over n, A[m, n]
        largest[m] = the maximum of largest[m] and, over n, A[m, n]

    Shapes: A (M, N), O and largest (M).
    Dtypes: floats and integers; all alike. A NaN makes both NaN.
    Source: this library; NumPy's `numpy.min` and `numpy.max`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m] = ReduceFn.min[D.n](A[D.m, D.n])
    largest[D.m] = ReduceFn.max[D.n](A[D.m, D.n])


@structured_op
def column_min_max(
    A=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.N, output=True),
    largest=TensorDef(T, S.N, output=True),
):
    """The smallest and the largest element of each column, in one pass.

        O[n] = the minimum of O[n] and, over m, A[m, n]
        largest[n] = the maximum of largest[n] and, over m, A[m, n]

    Shapes: A (M, N), O and largest (N).
    Dtypes: floats and integers; all alike. A NaN makes both NaN.
    Source: this library; NumPy's `numpy.min` and `numpy.max`, axis 0.
    """
    domain(D.n, D.m)
    O[D.n] = ReduceFn.min[D.m](A[D.m, D.n])
    largest[D.n] = ReduceFn.max[D.m](A[D.m, D.n])


@structured_op
def row_top_two(
    A=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.M, output=True),
    second=TensorDef(T, S.M, output=True),
):
    """The two largest elements of each row, the largest first.

        O[m] = the maximum over n of A[m, n]
        second[m] = the maximum of the others

    Shapes: A (M, N), O and second (M).
    Dtypes: floats and integers; all alike. A NaN makes both NaN, or O alone where it stands last.
    Source: this library; PyTorch's `torch.topk`, k = 2.
    """
    domain(D.m, D.n)
    O[D.m] = fold[D.n](BinaryFn.max(O[D.m], A[D.m, D.n]), init=ReduceFn.max)
    second[D.m] = fold[D.n](
        BinaryFn.max(second[D.m], BinaryFn.min(O[D.m], A[D.m, D.n])), init=ReduceFn.max
    )
