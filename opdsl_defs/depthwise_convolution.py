"""Convolutions of each channel by itself; m (CM) counts the results for each channel."""

from functools import partial

from ._windows import convolution

__all__ = [
    "depthwise_conv_1d_ncw_cmw",
    "depthwise_conv_1d_ncw_cw",
    "depthwise_conv_1d_nwc_wc",
    "depthwise_conv_1d_nwc_wcm",
    "depthwise_conv_2d_nchw_chw",
    "depthwise_conv_2d_nchw_cmhw",
    "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv_3d_ncdhw_cdhw",
    "depthwise_conv_3d_ncdhw_cmdhw",
    "depthwise_conv_3d_ndhwc_dhwc",
    "depthwise_conv_3d_ndhwc_dhwcm",
]

_convolution = partial(convolution, __name__)
_WITHOUT_CHANNELS = """\
which declares O without its
axis IC and indexes it with that axis; the shape here has it."""

depthwise_conv_1d_nwc_wc = _convolution("depthwise_conv_1d_nwc_wc")
depthwise_conv_1d_ncw_cw = _convolution("depthwise_conv_1d_ncw_cw")
depthwise_conv_1d_nwc_wcm = _convolution("depthwise_conv_1d_nwc_wcm")
depthwise_conv_1d_ncw_cmw = _convolution(
    "depthwise_conv_1d_ncw_cmw",
    "this library; as upstream's `linalg.depthwise_conv_1d_nwc_wcm`, channels first.",
)
depthwise_conv_2d_nhwc_hwc = _convolution("depthwise_conv_2d_nhwc_hwc")
depthwise_conv_2d_nchw_chw = _convolution("depthwise_conv_2d_nchw_chw")
depthwise_conv_2d_nhwc_hwcm = _convolution("depthwise_conv_2d_nhwc_hwcm")
depthwise_conv_2d_nchw_cmhw = _convolution(
    "depthwise_conv_2d_nchw_cmhw",
    "this library; as upstream's `linalg.depthwise_conv_2d_nhwc_hwcm`, channels first.",
)
depthwise_conv_3d_ndhwc_dhwc = _convolution(
    "depthwise_conv_3d_ndhwc_dhwc",
    f"upstream's `linalg.depthwise_conv_3d_ndhwc_dhwc`, {_WITHOUT_CHANNELS}",
)
depthwise_conv_3d_ncdhw_cdhw = _convolution("depthwise_conv_3d_ncdhw_cdhw")
depthwise_conv_3d_ndhwc_dhwcm = _convolution(
    "depthwise_conv_3d_ndhwc_dhwcm",
    f"upstream's `linalg.depthwise_conv_3d_ndhwc_dhwcm`, {_WITHOUT_CHANNELS}",
)
depthwise_conv_3d_ncdhw_cmdhw = _convolution(
    "depthwise_conv_3d_ncdhw_cmdhw",
    "this library; as upstream's `linalg.depthwise_conv_3d_ndhwc_dhwcm`, channels first.",
)
