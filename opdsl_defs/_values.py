"""Scalars that ops compute with beside elements, and the declaration of ops of a family."""

from collections.abc import Callable
from functools import reduce
from operator import mul

from linalg_ext.opdsl import (
    I64,
    BinaryFn,
    StructuredOp,
    TypeFn,
    U,
    UnaryFn,
    index,
    size,
    structured_op,
)


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


def product(*factors):
    """The product of numbers in the type of the output."""
    return reduce(mul, map(cast, factors))


def shifted_product(x, x_zero_point, y, y_zero_point):
    """`(x - x_zero_point) * (y - y_zero_point)` in the type of the output."""
    return (cast(x) - cast(x_zero_point)) * (cast(y) - cast(y_zero_point))


def declared(
    op: Callable[..., object], module: str, name: str, words: str, op_class_name: str | None = None
) -> StructuredOp:
    """Declare the op of a function that has no name of its own, in the family that names it."""
    op.__name__ = op.__qualname__ = name
    op.__module__, op.__doc__ = module, words
    return structured_op(op_class_name=op_class_name)(op)
