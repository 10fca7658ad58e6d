"""Sequences and images made larger: repeated, padded, with zeros between their elements."""

from functools import reduce
from operator import and_

from linalg_ext.opdsl import (
    BinaryFn,
    IndexAttrDef,
    S,
    ScalarDef,
    StructuredOp,
    T,
    TensorDef,
    TernaryFn,
    domain,
)

from ._layouts import (
    attribute,
    attribute_text,
    axes_of,
    dim,
    dims,
    listed,
    order_of,
    size,
    sizes,
    symbol,
)
from ._values import declared, length, position

__all__ = [
    "dilate_nchw",
    "dilate_ncw",
    "dilate_nhwc",
    "dilate_nwc",
    "pad_nchw",
    "pad_ncw",
    "pad_nhwc",
    "pad_nwc",
    "upsample_nearest_nchw",
    "upsample_nearest_ncw",
    "upsample_nearest_nhwc",
    "upsample_nearest_nwc",
]


def _upsample_nearest(layout: str) -> StructuredOp:
    axes = axes_of(layout)
    result = sizes(layout, lambda axis: size(axis) * symbol("F", axis))
    source = dims(layout, lambda axis: dim(axis) // symbol("F", axis))

    def op(
        I=TensorDef(T, *sizes(layout)),
        O=TensorDef(T, *result, output=True),
        factors=attribute("F", axes, 2),
    ):
        domain(*dims(layout))
        O[dims(layout)] = I[source]

    along = "the axis" if len(axes) == 1 else "both axes"
    words = f"""\
Each element repeated along {along}, {order_of(layout)}: nearest-neighbor upsampling.

    O[{listed(dims(layout))}] = I[{listed(source)}]

Shapes: I ({listed(sizes(layout))}), O ({listed(result)}).
Dtypes: any; I and O alike.
Attributes: {attribute_text("factors", "F", axes, 2)} unless given.
Source: this library; PyTorch's `torch.nn.Upsample`, mode nearest."""
    return declared(op, __name__, f"upsample_nearest_{layout}", words)


def _dilate(layout: str) -> StructuredOp:
    axes = axes_of(layout)
    result = sizes(layout, lambda axis: (size(axis) - 1) * symbol("S", axis) + 1)
    source = dims(layout, lambda axis: dim(axis) // symbol("S", axis))

    def op(
        I=TensorDef(T, *sizes(layout)),
        O=TensorDef(T, *result, output=True),
        strides=attribute("S", axes, 1),
    ):
        domain(*dims(layout))
        is_taken = reduce(and_, (_divides(dim(axis), symbol("S", axis)) for axis in axes))
        O[dims(layout)] = TernaryFn.select(is_taken, I[source], 0)

    whole = "a sequence" if len(axes) == 1 else "an image"
    alike = "" if len(axes) == 1 else ", OH alike"
    words = f"""\
Zeros put between the elements of {whole}, {order_of(layout)}.

    O[{listed(dims(layout, lambda axis: dim(axis) * symbol("S", axis)))}] = \
I[{listed(dims(layout))}], and 0 elsewhere

Shapes: I ({listed(sizes(layout))}), O ({listed(sizes(layout, lambda axis: symbol("O", axis)))}) \
with OW = (W - 1) * SW + 1{alike}.
Dtypes: any number; I and O alike.
Attributes: {attribute_text("strides", "S", axes, 1)} unless given.
Source: this library; the first step of a transposed convolution, see transposed_convolution.py."""
    return declared(op, __name__, f"dilate_{layout}", words)


def _divides(dimension, stride):
    """Return whether a position is a multiple of a stride."""
    return BinaryFn.eq(BinaryFn.rem(position(dimension), length(stride)), 0)


_BEFORE, _AFTER = {"h": S.T, "w": S.L}, {"h": S.B, "w": S.R}
"""The sizes of the padding along each axis."""


def _pad(layout: str) -> StructuredOp:
    axes = axes_of(layout)
    before, after = ([padding[axis] for axis in axes] for padding in (_BEFORE, _AFTER))
    result = sizes(layout, lambda axis: _BEFORE[axis] + size(axis) + _AFTER[axis])
    source = dims(layout, lambda axis: (dim(axis) - _BEFORE[axis]) % size(axis))

    def op(
        I=TensorDef(T, *sizes(layout)),
        value=ScalarDef(T),
        O=TensorDef(T, *result, output=True),
        low=IndexAttrDef(*before, default=[0] * len(axes), minimum=0),
        high=IndexAttrDef(*after, default=[0] * len(axes), minimum=0),
    ):
        domain(*dims(layout))
        is_inside = reduce(and_, map(_is_inside, axes))
        O[dims(layout)] = TernaryFn.select(is_inside, I[source], value)

    whole = "a sequence" if len(axes) == 1 else "an image"
    sides = f"low = ({listed(before)}), high = ({listed(after)}): rows and columns before and after"
    if len(axes) == 1:
        sides = f"low = [{listed(before)}], high = [{listed(after)}]"
    words = f"""\
A number put around {whole}, {order_of(layout)}: the padding of convolutions and poolings.

    O[{listed(dims(layout, lambda axis: dim(axis) + _BEFORE[axis]))}] = \
I[{listed(dims(layout))}], and value elsewhere

Shapes: I ({listed(sizes(layout))}), value a scalar, O ({listed(result)}).
Dtypes: any; all alike.
Attributes: {sides}, 0 unless given.
Source: this library; NumPy's `numpy.pad`, mode constant."""
    return declared(op, __name__, f"pad_{layout}", words)


def _is_inside(axis):
    """Return whether a position is that of an element, not of the padding."""
    place = position(dim(axis)) - length(_BEFORE[axis])
    return (place >= 0) & (place < length(size(axis)))


upsample_nearest_nwc = _upsample_nearest("nwc")
upsample_nearest_ncw = _upsample_nearest("ncw")
upsample_nearest_nhwc = _upsample_nearest("nhwc")
upsample_nearest_nchw = _upsample_nearest("nchw")
dilate_nwc = _dilate("nwc")
dilate_ncw = _dilate("ncw")
dilate_nhwc = _dilate("nhwc")
dilate_nchw = _dilate("nchw")
pad_nwc = _pad("nwc")
pad_ncw = _pad("ncw")
pad_nhwc = _pad("nhwc")
pad_nchw = _pad("nchw")
