"""Convolutions of groups of channels: g counts groups, c and f (FG) channels within one."""

from functools import partial

from ._windows import convolution

__all__ = [
    "conv_1d_ngcw_gfcw",
    "conv_1d_nwgc_gfwc",
    "conv_2d_ngchw_fgchw",
    "conv_2d_ngchw_gfchw",
    "conv_2d_nhwgc_gfhwc",
    "conv_3d_ndhwgc_gfdhwc",
    "conv_3d_ngcdhw_gfcdhw",
]

_convolution = partial(convolution, __name__)

conv_1d_ngcw_gfcw = _convolution(
    "conv_1d_ngcw_gfcw",
    "this library; as upstream's `linalg.conv_2d_ngchw_gfchw`, in one dimension.",
)
conv_1d_nwgc_gfwc = _convolution(
    "conv_1d_nwgc_gfwc",
    "this library; as upstream's `linalg.conv_2d_nhwgc_gfhwc`, in one dimension.",
)
conv_2d_ngchw_fgchw = _convolution("conv_2d_ngchw_fgchw")
conv_2d_ngchw_gfchw = _convolution("conv_2d_ngchw_gfchw")
conv_2d_nhwgc_gfhwc = _convolution("conv_2d_nhwgc_gfhwc")
conv_3d_ngcdhw_gfcdhw = _convolution(
    "conv_3d_ngcdhw_gfcdhw",
    "this library; as upstream's `linalg.conv_2d_ngchw_gfchw`, in three dimensions.",
)
conv_3d_ndhwgc_gfdhwc = _convolution(
    "conv_3d_ndhwgc_gfdhwc",
    "this library; as upstream's `linalg.conv_2d_nhwgc_gfhwc`, in three dimensions.",
)
