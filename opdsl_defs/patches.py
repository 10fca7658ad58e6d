"""Windows and blocks of sequences and images, laid out in another order."""

from textwrap import fill
from typing import Any

from linalg_ext.opdsl import D, IndexAttrDef, S, StructuredOp, T, TensorDef, domain

from ._layouts import attribute, attribute_text, axes_of, dims, listed, order_of, sizes
from ._values import declared
from ._windows import (
    attributes_line,
    image_index,
    image_size,
    kernel_index,
    kernel_size,
    result_index,
    result_size,
    without_padding,
)

__all__ = [
    "depth_to_space_nchw",
    "depth_to_space_nhwc",
    "im2col_nchw",
    "im2col_ncw",
    "im2col_nhwc",
    "im2col_nwc",
    "space_to_depth_nchw",
    "space_to_depth_nhwc",
]


def _im2col(layout: str) -> StructuredOp:
    axes, is_last = axes_of(layout), layout.endswith("c")
    windows, taps = list(map(result_index, axes)), list(map(kernel_index, axes))
    result = (D.n, *windows, *taps, D.c) if is_last else (D.n, D.c, *taps, *windows)
    counts, window = list(map(result_size, axes)), list(map(kernel_size, axes))
    result_sizes = (S.N, *counts, *window, S.C) if is_last else (S.N, S.C, *window, *counts)
    source = dims(layout, image_index)

    def op(
        I=TensorDef(T, *sizes(layout, image_size)),
        O=TensorDef(T, *result_sizes, output=True),
        kernel=attribute("K", axes, 3),
        strides=attribute("S", axes, 1),
        dilations=attribute("D", axes, 1),
    ):
        domain(*result)
        O[result] = I[source]

    whole = "a sequence" if len(axes) == 1 else "an image"
    kernel_text = f"Attributes: {attribute_text('kernel', 'K', axes, 3)} unless given;"
    attributes = attributes_line(axes).replace("Attributes:", kernel_text)
    words = f"""\
The windows of {whole}, side by side, {order_of(layout)}: convolution as a product.

    O[{listed(result)}] =
        I[{listed(source)}]

Shapes: I ({listed(sizes(layout))}), O ({listed(result_sizes)}).
{without_padding(axes)}
Dtypes: any; I and O alike.
{fill(attributes, 96)}
Source: this library; PyTorch's `torch.nn.Unfold`."""
    return declared(op, __name__, f"im2col_{layout}", words)


def _ordered(layout: str, **parts) -> tuple[Any, ...]:
    return tuple(parts[letter] for letter in layout)


def _depth_to_space(layout: str) -> StructuredOp:
    channel = (D.c * S.R + D.h % S.R) * S.R + D.w % S.R
    source = _ordered(layout, n=D.n, h=D.h // S.R, w=D.w // S.R, c=channel)
    result = _ordered(layout, n=S.N, h=S.H * S.R, w=S.W * S.R, c=S.C // (S.R * S.R))
    summary = f"Channels laid out as blocks of R * R pixels, {order_of(layout)}: pixel shuffle."
    name = f"depth_to_space_{layout}"
    return _blocks(name, layout, source, result, summary, "R * R divides C", "PixelShuffle")


def _space_to_depth(layout: str) -> StructuredOp:
    row, column = D.h * S.R + (D.c // S.R) % S.R, D.w * S.R + D.c % S.R
    source = _ordered(layout, n=D.n, h=row, w=column, c=(D.c // S.R) // S.R)
    result = _ordered(layout, n=S.N, h=S.H // S.R, w=S.W // S.R, c=S.C * S.R * S.R)
    summary = f"Blocks of R * R pixels laid out as channels, {order_of(layout)}: pixel unshuffle."
    name = f"space_to_depth_{layout}"
    return _blocks(name, layout, source, result, summary, "R divides H and W", "PixelUnshuffle")


def _blocks(
    name: str,
    layout: str,
    source: tuple[Any, ...],
    result: tuple[Any, ...],
    summary: str,
    condition: str,
    module: str,
) -> StructuredOp:
    def op(
        I=TensorDef(T, *sizes(layout)),
        O=TensorDef(T, *result, output=True),
        block=IndexAttrDef(S.R, default=[2]),
    ):
        domain(*dims(layout))
        O[dims(layout)] = I[source]

    words = f"""\
{summary}

    O[{listed(dims(layout))}] =
        I[{listed(source)}]

Shapes: I ({listed(sizes(layout))}), O ({listed(result)}); {condition}.
Dtypes: any; I and O alike.
Attributes: block = [R], 2 unless given.
Source: this library; PyTorch's `torch.nn.{module}`."""
    return declared(op, __name__, name, words)


im2col_nwc = _im2col("nwc")
im2col_ncw = _im2col("ncw")
im2col_nhwc = _im2col("nhwc")
im2col_nchw = _im2col("nchw")
depth_to_space_nhwc = _depth_to_space("nhwc")
depth_to_space_nchw = _depth_to_space("nchw")
space_to_depth_nhwc = _space_to_depth("nhwc")
space_to_depth_nchw = _space_to_depth("nchw")
