"""Convolutions, one to three dimensions, both layouts.

The letters in a name are the axes of the input, then those of the kernel: n batch, c channels,
f output channels, d h w depth, height, width. Like all of linalg, these correlate: the kernel is
not flipped.
"""

from functools import partial

from linalg_ext.opdsl import (
    T1,
    T2,
    ConvolutionOpInterface,
    D,
    S,
    TensorDef,
    U,
    domain,
    implements,
    structured_op,
)

from ._values import product
from ._windows import convolution

__all__ = [
    "conv_1d",
    "conv_1d_ncw_fcw",
    "conv_1d_nwc_wcf",
    "conv_2d",
    "conv_2d_nchw_fchw",
    "conv_2d_nhwc_fhwc",
    "conv_2d_nhwc_hwcf",
    "conv_3d",
    "conv_3d_ncdhw_fcdhw",
    "conv_3d_ndhwc_dhwcf",
]

_convolution = partial(convolution, __name__)


@structured_op
def conv_1d(
    I=TensorDef(T1, S.OW + S.KW),
    K=TensorDef(T2, S.KW),
    O=TensorDef(U, S.OW, output=True),
):
    """1-D convolution of one image by one kernel: no batch, no channels, unit strides.

        O[ow] += sum over kw of I[ow + kw] * K[kw]

    Shapes: I (W), K (KW), O (OW).
    Without padding: W >= OW + KW - 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Source: upstream's `linalg.conv_1d`.
    """
    implements(ConvolutionOpInterface)
    domain(D.ow, D.kw)
    O[D.ow] += product(I[D.ow + D.kw], K[D.kw])


@structured_op
def conv_2d(
    I=TensorDef(T1, S.OH + S.KH, S.OW + S.KW),
    K=TensorDef(T2, S.KH, S.KW),
    O=TensorDef(U, S.OH, S.OW, output=True),
):
    """2-D convolution of one image by one kernel: no batch, no channels, unit strides.

        O[oh, ow] += sum over kh, kw of I[oh + kh, ow + kw] * K[kh, kw]

    Shapes: I (H, W), K (KH, KW), O (OH, OW).
    Without padding: H >= OH + KH - 1, W >= OW + KW - 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Source: upstream's `linalg.conv_2d`.
    """
    implements(ConvolutionOpInterface)
    domain(D.oh, D.ow, D.kh, D.kw)
    O[D.oh, D.ow] += product(I[D.oh + D.kh, D.ow + D.kw], K[D.kh, D.kw])


@structured_op
def conv_3d(
    I=TensorDef(T1, S.OD + S.KD, S.OH + S.KH, S.OW + S.KW),
    K=TensorDef(T2, S.KD, S.KH, S.KW),
    O=TensorDef(U, S.OD, S.OH, S.OW, output=True),
):
    """3-D convolution of one image by one kernel: no batch, no channels, unit strides.

        O[od, oh, ow] += sum over kd, kh, kw of I[od + kd, oh + kh, ow + kw] * K[kd, kh, kw]

    Shapes: I (D, H, W), K (KD, KH, KW), O (OD, OH, OW).
    Without padding: D >= OD + KD - 1, H >= OH + KH - 1, W >= OW + KW - 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Source: upstream's `linalg.conv_3d`.
    """
    implements(ConvolutionOpInterface)
    domain(D.od, D.oh, D.ow, D.kd, D.kh, D.kw)
    O[D.od, D.oh, D.ow] += product(I[D.od + D.kd, D.oh + D.kh, D.ow + D.kw], K[D.kd, D.kh, D.kw])


conv_1d_nwc_wcf = _convolution("conv_1d_nwc_wcf")
conv_1d_ncw_fcw = _convolution("conv_1d_ncw_fcw")
conv_2d_nhwc_hwcf = _convolution("conv_2d_nhwc_hwcf")
conv_2d_nhwc_fhwc = _convolution("conv_2d_nhwc_fhwc")
conv_2d_nchw_fchw = _convolution("conv_2d_nchw_fchw")
conv_3d_ndhwc_dhwcf = _convolution("conv_3d_ndhwc_dhwcf")
conv_3d_ncdhw_fcdhw = _convolution("conv_3d_ncdhw_fcdhw")
