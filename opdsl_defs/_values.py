"""Scalars that ops compute with beside elements: positions, sizes, conditions."""

from functools import reduce
from operator import mul

from linalg_ext.opdsl import I64, BinaryFn, TypeFn, U, UnaryFn, index, size


def cast(x):
    """`x` in the type of the output, integers as signed."""
    return TypeFn.cast_signed(U, x)


def position(dim):
    """The place along a dimension as a 64-bit integer."""
    return TypeFn.cast_signed(I64, index(dim))


def length(symbol):
    """A size as a 64-bit integer."""
    return TypeFn.cast_signed(I64, size(symbol))


def truth(x):
    """Return whether a number is other than zero; NaN is."""
    return BinaryFn.ne(x, 0)


def is_nan(x):
    """Return whether a number is NaN: the only one that differs from itself."""
    return BinaryFn.ne(x, x)


def mean_weight(*symbols, type_var=U):
    """One divided by a number of elements, in the type of the output: a float."""
    count = reduce(mul, map(size, symbols))
    return UnaryFn.reciprocal(TypeFn.cast_signed(type_var, count))
