"""Scalars that ops compute with beside elements, and the sliding windows of convolutions."""

from functools import reduce
from operator import mul

from linalg_ext.opdsl import I64, BinaryFn, D, IndexAttrDef, S, TypeFn, U, UnaryFn, index, size


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


def product(x, y):
    """`x * y` in the type of the output."""
    return TypeFn.cast_signed(U, x) * TypeFn.cast_signed(U, y)


def shifted_product(x, x_zero_point, y, y_zero_point):
    """`(x - x_zero_point) * (y - y_zero_point)` in the type of the output."""
    return (TypeFn.cast_signed(U, x) - TypeFn.cast_signed(U, x_zero_point)) * (
        TypeFn.cast_signed(U, y) - TypeFn.cast_signed(U, y_zero_point)
    )


# A window of KH elements starts at every SH-th element and takes every DH-th; likewise for depth
# and width. `HEIGHT` is what a shape says of the input, `AT_H` where the window reads it.

DEPTH = S.OD * S.SD + S.KD * S.DD
HEIGHT = S.OH * S.SH + S.KH * S.DH
WIDTH = S.OW * S.SW + S.KW * S.DW

AT_D = D.od * S.SD + D.kd * S.DD
AT_H = D.oh * S.SH + D.kh * S.DH
AT_W = D.ow * S.SW + D.kw * S.DW

STRIDES_1D = IndexAttrDef(S.SW, default=[1])
STRIDES_2D = IndexAttrDef(S.SH, S.SW, default=[1, 1])
STRIDES_3D = IndexAttrDef(S.SD, S.SH, S.SW, default=[1, 1, 1])

DILATIONS_1D = IndexAttrDef(S.DW, default=[1])
DILATIONS_2D = IndexAttrDef(S.DH, S.DW, default=[1, 1])
DILATIONS_3D = IndexAttrDef(S.DD, S.DH, S.DW, default=[1, 1, 1])
