"""Comparisons of two tensors, element by element, at any rank, and choices by them."""

from linalg_ext.opdsl import I1, T1, T2, BinaryFn, TensorDef, TernaryFn, structured_op

__all__ = [
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "not_equal",
    "where_equal",
    "where_greater",
    "where_greater_equal",
    "where_less",
    "where_less_equal",
    "where_not_equal",
]


@structured_op
def equal(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Equality of two elements at each place, as booleans.

        O = lhs = rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any number, lhs and rhs alike; O boolean: NaN equals nothing.
    Source: this library; NumPy's `numpy.equal`.
    """
    O[None] = BinaryFn.eq(lhs[None], rhs[None])


@structured_op
def not_equal(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Inequality of two elements at each place, as booleans.

        O = lhs != rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: any number, lhs and rhs alike; O boolean: NaN differs from everything.
    Source: this library; NumPy's `numpy.not_equal`.
    """
    O[None] = BinaryFn.ne(lhs[None], rhs[None])


@structured_op
def less(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Comparison at each place: one element is less than the other.

        O = lhs < rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: floats and integers, lhs and rhs alike; O boolean: false where either is NaN.
    Source: this library; NumPy's `numpy.less`.
    """
    O[None] = BinaryFn.lt(lhs[None], rhs[None])


@structured_op
def less_equal(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Comparison at each place: one element is at most the other.

        O = lhs <= rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: floats and integers, lhs and rhs alike; O boolean: false where either is NaN.
    Source: this library; NumPy's `numpy.less_equal`.
    """
    O[None] = BinaryFn.le(lhs[None], rhs[None])


@structured_op
def greater(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Comparison at each place: one element is greater than the other.

        O = lhs > rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: floats and integers, lhs and rhs alike; O boolean: false where either is NaN.
    Source: this library; NumPy's `numpy.greater`.
    """
    O[None] = BinaryFn.gt(lhs[None], rhs[None])


@structured_op
def greater_equal(lhs=TensorDef(T1), rhs=TensorDef(T1), O=TensorDef(I1, output=True)):
    """Comparison at each place: one element is at least the other.

        O = lhs >= rhs

    Shapes: any; lhs, rhs and O alike (nothing is broadcast).
    Dtypes: floats and integers, lhs and rhs alike; O boolean: false where either is NaN.
    Source: this library; NumPy's `numpy.greater_equal`.
    """
    O[None] = BinaryFn.ge(lhs[None], rhs[None])


@structured_op
def where_equal(
    lhs=TensorDef(T1),
    rhs=TensorDef(T1),
    x=TensorDef(T2),
    y=TensorDef(T2),
    O=TensorDef(T2, output=True),
):
    """One of two elements, by whether two elements are equal, at each place.

        O = x where lhs = rhs, else y

    Shapes: any; all alike (nothing is broadcast).
    Dtypes: lhs and rhs any number, alike: NaN equals nothing; x, y and O any, alike.
    Source: this library; NumPy's `numpy.where`.
    """
    O[None] = TernaryFn.select(BinaryFn.eq(lhs[None], rhs[None]), x[None], y[None])


@structured_op
def where_not_equal(
    lhs=TensorDef(T1),
    rhs=TensorDef(T1),
    x=TensorDef(T2),
    y=TensorDef(T2),
    O=TensorDef(T2, output=True),
):
    """One of two elements, by whether two elements differ, at each place.

        O = x where lhs != rhs, else y

    Shapes: any; all alike (nothing is broadcast).
    Dtypes: lhs and rhs any number, alike: NaN differs from everything; x, y and O any, alike.
    Source: this library; NumPy's `numpy.where`.
    """
    O[None] = TernaryFn.select(BinaryFn.ne(lhs[None], rhs[None]), x[None], y[None])


@structured_op
def where_less(
    lhs=TensorDef(T1),
    rhs=TensorDef(T1),
    x=TensorDef(T2),
    y=TensorDef(T2),
    O=TensorDef(T2, output=True),
):
    """One of two elements, by whether one element is less than another, at each place.

        O = x where lhs < rhs, else y

    Shapes: any; all alike (nothing is broadcast).
    Dtypes: lhs and rhs floats or integers, alike: false where either is NaN; x, y and O any, alike.
    Source: this library; NumPy's `numpy.where`.
    """
    O[None] = TernaryFn.select(BinaryFn.lt(lhs[None], rhs[None]), x[None], y[None])


@structured_op
def where_less_equal(
    lhs=TensorDef(T1),
    rhs=TensorDef(T1),
    x=TensorDef(T2),
    y=TensorDef(T2),
    O=TensorDef(T2, output=True),
):
    """One of two elements, by whether one element is no more than another, at each place.

        O = x where lhs <= rhs, else y

    Shapes: any; all alike (nothing is broadcast).
    Dtypes: lhs and rhs floats or integers, alike: false where either is NaN; x, y and O any, alike.
    Source: this library; NumPy's `numpy.where`.
    """
    O[None] = TernaryFn.select(BinaryFn.le(lhs[None], rhs[None]), x[None], y[None])


@structured_op
def where_greater(
    lhs=TensorDef(T1),
    rhs=TensorDef(T1),
    x=TensorDef(T2),
    y=TensorDef(T2),
    O=TensorDef(T2, output=True),
):
    """One of two elements, by whether one element is greater than another, at each place.

        O = x where lhs > rhs, else y

    Shapes: any; all alike (nothing is broadcast).
    Dtypes: lhs and rhs floats or integers, alike: false where either is NaN; x, y and O any, alike.
    Source: this library; NumPy's `numpy.where`.
    """
    O[None] = TernaryFn.select(BinaryFn.gt(lhs[None], rhs[None]), x[None], y[None])


@structured_op
def where_greater_equal(
    lhs=TensorDef(T1),
    rhs=TensorDef(T1),
    x=TensorDef(T2),
    y=TensorDef(T2),
    O=TensorDef(T2, output=True),
):
    """One of two elements, by whether one element is no less than another, at each place.

        O = x where lhs >= rhs, else y

    Shapes: any; all alike (nothing is broadcast).
    Dtypes: lhs and rhs floats or integers, alike: false where either is NaN; x, y and O any, alike.
    Source: this library; NumPy's `numpy.where`.
    """
    O[None] = TernaryFn.select(BinaryFn.ge(lhs[None], rhs[None]), x[None], y[None])
