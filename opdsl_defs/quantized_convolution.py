"""Convolutions of quantized numbers: a zero point is taken from each operand before the product."""

from functools import partial

from ._windows import convolution

__all__ = [
    "conv_1d_ncw_fcw_q",
    "conv_1d_nwc_wcf_q",
    "conv_2d_nchw_fchw_q",
    "conv_2d_ngchw_gfchw_q",
    "conv_2d_nhwc_fhwc_q",
    "conv_2d_nhwc_hwcf_q",
    "conv_2d_nhwgc_gfhwc_q",
    "conv_3d_ncdhw_fcdhw_q",
    "conv_3d_ndhwc_dhwcf_q",
    "depthwise_conv_2d_nhwc_hwc_q",
    "depthwise_conv_2d_nhwc_hwcm_q",
]

_convolution = partial(convolution, __name__)

conv_1d_nwc_wcf_q = _convolution(
    "conv_1d_nwc_wcf_q",
    "this library; as upstream's `linalg.conv_2d_nhwc_hwcf_q`, in one dimension.",
)
conv_1d_ncw_fcw_q = _convolution(
    "conv_1d_ncw_fcw_q",
    "this library; as upstream's `linalg.conv_2d_nchw_fchw_q`, in one dimension.",
)
conv_2d_nhwc_hwcf_q = _convolution("conv_2d_nhwc_hwcf_q")
conv_2d_nhwc_fhwc_q = _convolution("conv_2d_nhwc_fhwc_q")
conv_2d_nchw_fchw_q = _convolution("conv_2d_nchw_fchw_q")
conv_3d_ndhwc_dhwcf_q = _convolution("conv_3d_ndhwc_dhwcf_q")
conv_3d_ncdhw_fcdhw_q = _convolution(
    "conv_3d_ncdhw_fcdhw_q",
    "this library; as upstream's `linalg.conv_3d_ndhwc_dhwcf_q`, channels first.",
)
conv_2d_nhwgc_gfhwc_q = _convolution("conv_2d_nhwgc_gfhwc_q")
conv_2d_ngchw_gfchw_q = _convolution("conv_2d_ngchw_gfchw_q")
depthwise_conv_2d_nhwc_hwc_q = _convolution("depthwise_conv_2d_nhwc_hwc_q")
depthwise_conv_2d_nhwc_hwcm_q = _convolution("depthwise_conv_2d_nhwc_hwcm_q")
