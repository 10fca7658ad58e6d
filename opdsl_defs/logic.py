"""Logic and bits: element by element at any rank, and over the rows and columns of a matrix."""

from functools import partial

from linalg_ext.opdsl import I1, I64, T1, ReduceFn, TensorDef, TypeFn, structured_op

from ._lines import reduction
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


_reduction = partial(reduction, __name__)
_TRUTHS = "A any number or booleans; O boolean. NaN is other than zero."

row_any, column_any = _reduction(
    "any",
    "Logical or of each {line}: any element is other than zero.",
    "= O[{i}] or, for some {k}, A[m, n] != 0",
    ReduceFn.or_,
    lambda x, line: truth(x),
    dtypes=_TRUTHS,
    numpy="any",
    result=I1,
    empty="; without an O given, false for no element",
)
row_all, column_all = _reduction(
    "all",
    "Logical and of each {line}: every element is other than zero.",
    "= O[{i}] and, for all {k}, A[m, n] != 0",
    ReduceFn.and_,
    lambda x, line: truth(x),
    dtypes=_TRUTHS,
    numpy="all",
    result=I1,
    empty="; without an O given, true for no element",
)
row_count_nonzero, column_count_nonzero = _reduction(
    "count_nonzero",
    "Number of the elements of each {line} that are not zero, added to O.",
    "+= sum over {k} of 1 where A[m, n] != 0, else 0",
    ReduceFn.add,
    lambda x, line: TypeFn.cast_unsigned(I64, truth(x)),
    dtypes="A any number or booleans; O int64. NaN is other than zero.",
    numpy="count_nonzero",
    result=I64,
)
