"""Convolutions, one to three dimensions, both layouts.

The letters in a name are the axes of the input, then those of the kernel: n batch, c channels,
f output channels, d h w depth, height, width. Like all of linalg, these correlate: the kernel is
not flipped.
"""

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

from ._values import (
    AT_D,
    AT_H,
    AT_W,
    DEPTH,
    DILATIONS_1D,
    DILATIONS_2D,
    DILATIONS_3D,
    HEIGHT,
    STRIDES_1D,
    STRIDES_2D,
    STRIDES_3D,
    WIDTH,
    product,
)

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


@structured_op
def conv_1d_nwc_wcf(
    I=TensorDef(T1, S.N, WIDTH, S.C),
    K=TensorDef(T2, S.KW, S.C, S.F),
    O=TensorDef(U, S.N, S.OW, S.F, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """1-D convolution over channels, channels last.

        O[n, ow, f] += sum over kw, c of I[n, ow * SW + kw * DW, c] * K[kw, c, f]

    Shapes: I (N, W, C), K (KW, C, F), O (N, OW, F).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.conv_1d_nwc_wcf`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.f, D.kw, D.c)
    O[D.n, D.ow, D.f] += product(I[D.n, AT_W, D.c], K[D.kw, D.c, D.f])


@structured_op
def conv_1d_ncw_fcw(
    I=TensorDef(T1, S.N, S.C, WIDTH),
    K=TensorDef(T2, S.F, S.C, S.KW),
    O=TensorDef(U, S.N, S.F, S.OW, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """1-D convolution over channels, channels first.

        O[n, f, ow] += sum over c, kw of I[n, c, ow * SW + kw * DW] * K[f, c, kw]

    Shapes: I (N, C, W), K (F, C, KW), O (N, F, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.conv_1d_ncw_fcw`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.f, D.ow, D.c, D.kw)
    O[D.n, D.f, D.ow] += product(I[D.n, D.c, AT_W], K[D.f, D.c, D.kw])


@structured_op
def conv_2d_nhwc_hwcf(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KH, S.KW, S.C, S.F),
    O=TensorDef(U, S.N, S.OH, S.OW, S.F, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """2-D convolution over channels, channels last.

        O[n, oh, ow, f] += sum over kh, kw, c of
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, c]
            * K[kh, kw, c, f]

    Shapes: I (N, H, W, C), K (KH, KW, C, F), O (N, OH, OW, F).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_nhwc_hwcf`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.f, D.kh, D.kw, D.c)
    O[D.n, D.oh, D.ow, D.f] += product(I[D.n, AT_H, AT_W, D.c], K[D.kh, D.kw, D.c, D.f])


@structured_op
def conv_2d_nhwc_fhwc(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.F, S.KH, S.KW, S.C),
    O=TensorDef(U, S.N, S.OH, S.OW, S.F, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """2-D convolution over channels, channels last, output channels of the kernel first.

        O[n, oh, ow, f] += sum over kh, kw, c of
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, c]
            * K[f, kh, kw, c]

    Shapes: I (N, H, W, C), K (F, KH, KW, C), O (N, OH, OW, F).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_nhwc_fhwc`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.f, D.kh, D.kw, D.c)
    O[D.n, D.oh, D.ow, D.f] += product(I[D.n, AT_H, AT_W, D.c], K[D.f, D.kh, D.kw, D.c])


@structured_op
def conv_2d_nchw_fchw(
    I=TensorDef(T1, S.N, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.F, S.C, S.KH, S.KW),
    O=TensorDef(U, S.N, S.F, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """2-D convolution over channels, channels first.

        O[n, f, oh, ow] += sum over c, kh, kw of
            I[n, c, oh * SH + kh * DH, ow * SW + kw * DW]
            * K[f, c, kh, kw]

    Shapes: I (N, C, H, W), K (F, C, KH, KW), O (N, F, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_nchw_fchw`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.f, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.f, D.oh, D.ow] += product(I[D.n, D.c, AT_H, AT_W], K[D.f, D.c, D.kh, D.kw])


@structured_op
def conv_3d_ndhwc_dhwcf(
    I=TensorDef(T1, S.N, DEPTH, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KD, S.KH, S.KW, S.C, S.F),
    O=TensorDef(U, S.N, S.OD, S.OH, S.OW, S.F, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """3-D convolution over channels, channels last.

        O[n, od, oh, ow, f] += sum over kd, kh, kw, c of
            I[n, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW, c]
            * K[kd, kh, kw, c, f]

    Shapes: I (N, D, H, W, C), K (KD, KH, KW, C, F), O (N, OD, OH, OW, F).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_3d_ndhwc_dhwcf`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.f, D.kd, D.kh, D.kw, D.c)
    O[D.n, D.od, D.oh, D.ow, D.f] += product(
        I[D.n, AT_D, AT_H, AT_W, D.c], K[D.kd, D.kh, D.kw, D.c, D.f]
    )


@structured_op
def conv_3d_ncdhw_fcdhw(
    I=TensorDef(T1, S.N, S.C, DEPTH, HEIGHT, WIDTH),
    K=TensorDef(T2, S.F, S.C, S.KD, S.KH, S.KW),
    O=TensorDef(U, S.N, S.F, S.OD, S.OH, S.OW, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """3-D convolution over channels, channels first.

        O[n, f, od, oh, ow] += sum over c, kd, kh, kw of
            I[n, c, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW]
            * K[f, c, kd, kh, kw]

    Shapes: I (N, C, D, H, W), K (F, C, KD, KH, KW), O (N, F, OD, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_3d_ncdhw_fcdhw`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.f, D.od, D.oh, D.ow, D.c, D.kd, D.kh, D.kw)
    O[D.n, D.f, D.od, D.oh, D.ow] += product(
        I[D.n, D.c, AT_D, AT_H, AT_W], K[D.f, D.c, D.kd, D.kh, D.kw]
    )
