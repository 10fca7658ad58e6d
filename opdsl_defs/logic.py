"""Logic and bits: element by element at any rank, and over the rows and columns of a matrix."""

from linalg_ext.opdsl import I1, I64, T1, D, ReduceFn, S, TensorDef, TypeFn, domain, structured_op

from ._values import truth

__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "column_all",
    "column_any",
    "column_count_nonzero",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "row_all",
    "row_any",
    "row_count_nonzero",
]


@structured_op
def logical_and(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Logical and of two elements at each place: both are other than zero.

        O = (lhs != 0) & (rhs != 0)

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any number or booleans, lhs and rhs alike; O boolean. NaN is other than zero.
    Source: this library; NumPy's `numpy.logical_and`.
    """
    O[None] = truth(lhs[None]) & truth(rhs[None])


@structured_op
def logical_or(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Logical or of two elements at each place: one or both are other than zero.

        O = (lhs != 0) | (rhs != 0)

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any number or booleans, lhs and rhs alike; O boolean. NaN is other than zero.
    Source: this library; NumPy's `numpy.logical_or`.
    """
    O[None] = truth(lhs[None]) | truth(rhs[None])


@structured_op
def logical_xor(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Logical exclusive or at each place: one element, and not both, is other than zero.

        O = (lhs != 0) ^ (rhs != 0)

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any number or booleans, lhs and rhs alike; O boolean. NaN is other than zero.
    Source: this library; NumPy's `numpy.logical_xor`.
    """
    O[None] = truth(lhs[None]) ^ truth(rhs[None])


@structured_op
def logical_not(I=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Logical not of each element: it is zero.

        O = (I = 0)

    Shapes: any; I and O alike.
    Dtypes: I any number or boolean; O boolean. NaN is other than zero.
    Source: this library; NumPy's `numpy.logical_not`.
    """
    O[None] = ~truth(I[None])


@structured_op
def bitwise_and(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The `and` of each bit of two elements, at each place.

        O = lhs & rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: integers and booleans; lhs, rhs and O alike.
    Source: this library; NumPy's `numpy.bitwise_and`.
    """
    O[None] = lhs[None] & rhs[None]


@structured_op
def bitwise_or(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The `or` of each bit of two elements, at each place.

        O = lhs | rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: integers and booleans; lhs, rhs and O alike.
    Source: this library; NumPy's `numpy.bitwise_or`.
    """
    O[None] = lhs[None] | rhs[None]


@structured_op
def bitwise_xor(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The `exclusive or` of each bit of two elements, at each place.

        O = lhs ^ rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: integers and booleans; lhs, rhs and O alike.
    Source: this library; NumPy's `numpy.bitwise_xor`.
    """
    O[None] = lhs[None] ^ rhs[None]


@structured_op
def bitwise_not(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each bit of each element turned over.

        O = ~I

    Shapes: any; I and O alike.
    Dtypes: integers and booleans; I and O alike.
    Source: this library; NumPy's `numpy.bitwise_not`.
    """
    O[None] = ~I[None]


@structured_op
def row_any(A=TensorDef(T1, S.M, S.N), O=TensorDef(I1, S.M, output=True)):
    """Logical or of each row: any element is other than zero.

        O[m] = O[m] or, for some n, A[m, n] != 0

    Shapes: A (M, N), O (M); without an O given, false for no element.
    Dtypes: A any number or booleans; O boolean. NaN is other than zero.
    Source: this library; NumPy's `numpy.any`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m] = ReduceFn.or_[D.n](truth(A[D.m, D.n]))


@structured_op
def column_any(A=TensorDef(T1, S.M, S.N), O=TensorDef(I1, S.N, output=True)):
    """Logical or of each column: any element is other than zero.

        O[n] = O[n] or, for some m, A[m, n] != 0

    Shapes: A (M, N), O (N); without an O given, false for no element.
    Dtypes: A any number or booleans; O boolean. NaN is other than zero.
    Source: this library; NumPy's `numpy.any`, axis 0.
    """
    domain(D.n, D.m)
    O[D.n] = ReduceFn.or_[D.m](truth(A[D.m, D.n]))


@structured_op
def row_all(A=TensorDef(T1, S.M, S.N), O=TensorDef(I1, S.M, output=True)):
    """Logical and of each row: every element is other than zero.

        O[m] = O[m] and, for all n, A[m, n] != 0

    Shapes: A (M, N), O (M); without an O given, true for no element.
    Dtypes: A any number or booleans; O boolean. NaN is other than zero.
    Source: this library; NumPy's `numpy.all`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m] = ReduceFn.and_[D.n](truth(A[D.m, D.n]))


@structured_op
def column_all(A=TensorDef(T1, S.M, S.N), O=TensorDef(I1, S.N, output=True)):
    """Logical and of each column: every element is other than zero.

        O[n] = O[n] and, for all m, A[m, n] != 0

    Shapes: A (M, N), O (N); without an O given, true for no element.
    Dtypes: A any number or booleans; O boolean. NaN is other than zero.
    Source: this library; NumPy's `numpy.all`, axis 0.
    """
    domain(D.n, D.m)
    O[D.n] = ReduceFn.and_[D.m](truth(A[D.m, D.n]))


@structured_op
def row_count_nonzero(A=TensorDef(T1, S.M, S.N), O=TensorDef(I64, S.M, output=True)):
    """Number of the elements of each row that are not zero, added to O.

        O[m] += sum over n of 1 where A[m, n] != 0, else 0

    Shapes: A (M, N), O (M).
    Dtypes: A any number or booleans; O int64. NaN is other than zero.
    Source: this library; NumPy's `numpy.count_nonzero`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m] += TypeFn.cast_unsigned(I64, truth(A[D.m, D.n]))


@structured_op
def column_count_nonzero(A=TensorDef(T1, S.M, S.N), O=TensorDef(I64, S.N, output=True)):
    """Number of the elements of each column that are not zero, added to O.

        O[n] += sum over m of 1 where A[m, n] != 0, else 0

    Shapes: A (M, N), O (N).
    Dtypes: A any number or booleans; O int64. NaN is other than zero.
    Source: this library; NumPy's `numpy.count_nonzero`, axis 0.
    """
    domain(D.n, D.m)
    O[D.n] += TypeFn.cast_unsigned(I64, truth(A[D.m, D.n]))
