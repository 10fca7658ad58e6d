"""Transposed convolutions, at any stride and dilation, in both layouts.

A structured op writes at its index, and spreads nothing: each element of the output sums the
products of every element of the kernel with the input element that meets it there. Compiled, each
tap is a contraction whose result is spread (`spread_transposed_convolutions`): no element of the
kernel is looked at in vain.
"""

from functools import reduce
from operator import and_

from linalg_ext.opdsl import (
    T1,
    T2,
    BinaryFn,
    D,
    StructuredOp,
    TensorDef,
    TernaryFn,
    U,
    domain,
)

from ._layouts import attribute, axes_of, is_axis, listed, order_of, symbol
from ._values import declared, length, position, product
from ._windows import attributes_line, kernel_index, kernel_size, result_index, result_size

__all__ = [
    "transposed_conv_1d_ncw_cfw",
    "transposed_conv_1d_nwc_wcf",
    "transposed_conv_2d_nchw_cfhw",
    "transposed_conv_2d_nhwc_hwcf",
    "transposed_conv_3d_ncdhw_cfdhw",
    "transposed_conv_3d_ndhwc_dhwcf",
]


def _transposed(name: str) -> StructuredOp:
    """Declare the transposed convolution of a name, which ends in layouts of image and kernel."""
    image, kernel = name.split("_")[-2:]
    result, axes = image.replace("c", "f"), axes_of(image)

    def op(
        I=TensorDef(T1, *(symbol("", index) for index in image)),
        K=TensorDef(T2, *map(kernel_size, kernel)),
        O=TensorDef(U, *map(_spread_size, result), output=True),
        strides=attribute("S", axes, 1),
        dilations=attribute("D", axes, 1),
    ):
        at = tuple(map(result_index, result))
        domain(*at, *map(kernel_index, axes), D.c)
        source = tuple(_source(*_tap(i)) if is_axis(i) else kernel_index(i) for i in image)
        term = product(I[source], K[tuple(map(kernel_index, kernel))])
        is_met = reduce(and_, (_is_met(*_tap(axis)) for axis in axes))
        O[at] += TernaryFn.select(is_met, term, 0)

    rank = len(axes)
    written = [f"{i} * S{i.upper()} + k{i} * D{i.upper()}" if is_axis(i) else i for i in result]
    alike = {1: "", 2: ", OH alike", 3: ", OH and OD alike"}[rank]
    words = f"""\
Transposed {rank}-D convolution, {order_of(image)}: each \
element spread by the kernel.

    O[{", ".join(written)}] +=
        sum over c of I[{", ".join(image)}] * K[{listed(map(kernel_index, kernel))}], \
for all {", ".join(axes)} and {listed(map(kernel_index, axes))}

Shapes: I ({", ".join(image.upper())}), K ({listed(map(kernel_size, kernel))}), \
O ({listed(map(result_size, result))}) with
OW = (W - 1) * SW + (KW - 1) * DW + 1{alike}: all; the caller cuts off a padding.
Dtypes: I and K are cast to that of O, as signed numbers, before the product.
{attributes_line(axes)}
Source: this library; PyTorch's `torch.nn.ConvTranspose{rank}d`."""
    return declared(op, __name__, name, words)


def _spread_size(index):
    if not is_axis(index):
        return symbol("", index)
    window = (symbol("K", index) - 1) * symbol("D", index)
    return (symbol("", index) - 1) * symbol("S", index) + window + 1


def _tap(axis):
    """Return the output's and the kernel's dimension of an axis, stride, dilation and size."""
    return (
        result_index(axis),
        kernel_index(axis),
        symbol("S", axis),
        symbol("D", axis),
        symbol("", axis),
    )


def _source(out, tap, stride, dilation, size):
    """Return the position that a tap reads for an element of the output, always inside."""
    return ((out - tap * dilation) // stride) % size


def _is_met(out, tap, stride, dilation, size):
    """Return whether a tap spreads an element of the input to an element of the output."""
    offset = position(out) - position(tap) * length(dilation)
    inside = (offset >= 0) & (offset <= (length(size) - 1) * length(stride))
    return inside & BinaryFn.eq(BinaryFn.rem(offset, length(stride)), 0)


transposed_conv_1d_nwc_wcf = _transposed("transposed_conv_1d_nwc_wcf")
transposed_conv_1d_ncw_cfw = _transposed("transposed_conv_1d_ncw_cfw")
transposed_conv_2d_nhwc_hwcf = _transposed("transposed_conv_2d_nhwc_hwcf")
transposed_conv_2d_nchw_cfhw = _transposed("transposed_conv_2d_nchw_cfhw")
transposed_conv_3d_ndhwc_dhwcf = _transposed("transposed_conv_3d_ndhwc_dhwcf")
transposed_conv_3d_ncdhw_cfdhw = _transposed("transposed_conv_3d_ncdhw_cfdhw")
