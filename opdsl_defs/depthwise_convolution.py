"""Convolutions of each channel by itself; m (CM) counts the results for each channel."""

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


@structured_op
def depthwise_conv_1d_nwc_wc(
    I=TensorDef(T1, S.N, WIDTH, S.IC),
    K=TensorDef(T2, S.KW, S.IC),
    O=TensorDef(U, S.N, S.OW, S.IC, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Depthwise 1-D convolution, channels last.

        O[n, ow, ic] += sum over kw of I[n, ow * SW + kw * DW, ic] * K[kw, ic]

    Shapes: I (N, W, IC), K (KW, IC), O (N, OW, IC).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.depthwise_conv_1d_nwc_wc`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.ic, D.kw)
    O[D.n, D.ow, D.ic] += product(I[D.n, AT_W, D.ic], K[D.kw, D.ic])


@structured_op
def depthwise_conv_1d_ncw_cw(
    I=TensorDef(T1, S.N, S.IC, WIDTH),
    K=TensorDef(T2, S.IC, S.KW),
    O=TensorDef(U, S.N, S.IC, S.OW, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Depthwise 1-D convolution, channels first.

        O[n, ic, ow] += sum over kw of I[n, ic, ow * SW + kw * DW] * K[ic, kw]

    Shapes: I (N, IC, W), K (IC, KW), O (N, IC, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.depthwise_conv_1d_ncw_cw`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.ic, D.kw)
    O[D.n, D.ic, D.ow] += product(I[D.n, D.ic, AT_W], K[D.ic, D.kw])


@structured_op
def depthwise_conv_1d_nwc_wcm(
    I=TensorDef(T1, S.N, WIDTH, S.IC),
    K=TensorDef(T2, S.KW, S.IC, S.CM),
    O=TensorDef(U, S.N, S.OW, S.IC, S.CM, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Depthwise 1-D convolution, channels last, with a channel multiplier.

        O[n, ow, ic, cm] += sum over kw of I[n, ow * SW + kw * DW, ic] * K[kw, ic, cm]

    Shapes: I (N, W, IC), K (KW, IC, CM), O (N, OW, IC, CM).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.depthwise_conv_1d_nwc_wcm`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.ic, D.cm, D.kw)
    O[D.n, D.ow, D.ic, D.cm] += product(I[D.n, AT_W, D.ic], K[D.kw, D.ic, D.cm])


@structured_op
def depthwise_conv_1d_ncw_cmw(
    I=TensorDef(T1, S.N, S.IC, WIDTH),
    K=TensorDef(T2, S.IC, S.CM, S.KW),
    O=TensorDef(U, S.N, S.IC, S.CM, S.OW, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Depthwise 1-D convolution, channels first, with a channel multiplier.

        O[n, ic, cm, ow] += sum over kw of I[n, ic, ow * SW + kw * DW] * K[ic, cm, kw]

    Shapes: I (N, IC, W), K (IC, CM, KW), O (N, IC, CM, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; as upstream's `linalg.depthwise_conv_1d_nwc_wcm`, channels first.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.ic, D.cm, D.kw)
    O[D.n, D.ic, D.cm, D.ow] += product(I[D.n, D.ic, AT_W], K[D.ic, D.cm, D.kw])


@structured_op
def depthwise_conv_2d_nhwc_hwc(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.IC),
    K=TensorDef(T2, S.KH, S.KW, S.IC),
    O=TensorDef(U, S.N, S.OH, S.OW, S.IC, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Depthwise 2-D convolution, channels last.

        O[n, oh, ow, ic] += sum over kh, kw of
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, ic]
            * K[kh, kw, ic]

    Shapes: I (N, H, W, IC), K (KH, KW, IC), O (N, OH, OW, IC).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.depthwise_conv_2d_nhwc_hwc`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.ic, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.ic] += product(I[D.n, AT_H, AT_W, D.ic], K[D.kh, D.kw, D.ic])


@structured_op
def depthwise_conv_2d_nchw_chw(
    I=TensorDef(T1, S.N, S.IC, HEIGHT, WIDTH),
    K=TensorDef(T2, S.IC, S.KH, S.KW),
    O=TensorDef(U, S.N, S.IC, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Depthwise 2-D convolution, channels first.

        O[n, ic, oh, ow] += sum over kh, kw of
            I[n, ic, oh * SH + kh * DH, ow * SW + kw * DW]
            * K[ic, kh, kw]

    Shapes: I (N, IC, H, W), K (IC, KH, KW), O (N, IC, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.depthwise_conv_2d_nchw_chw`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.ic, D.kh, D.kw)
    O[D.n, D.ic, D.oh, D.ow] += product(I[D.n, D.ic, AT_H, AT_W], K[D.ic, D.kh, D.kw])


@structured_op
def depthwise_conv_2d_nhwc_hwcm(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.IC),
    K=TensorDef(T2, S.KH, S.KW, S.IC, S.CM),
    O=TensorDef(U, S.N, S.OH, S.OW, S.IC, S.CM, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Depthwise 2-D convolution, channels last, with a channel multiplier.

        O[n, oh, ow, ic, cm] += sum over kh, kw of
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, ic]
            * K[kh, kw, ic, cm]

    Shapes: I (N, H, W, IC), K (KH, KW, IC, CM), O (N, OH, OW, IC, CM).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.depthwise_conv_2d_nhwc_hwcm`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.ic, D.cm, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.ic, D.cm] += product(I[D.n, AT_H, AT_W, D.ic], K[D.kh, D.kw, D.ic, D.cm])


@structured_op
def depthwise_conv_2d_nchw_cmhw(
    I=TensorDef(T1, S.N, S.IC, HEIGHT, WIDTH),
    K=TensorDef(T2, S.IC, S.CM, S.KH, S.KW),
    O=TensorDef(U, S.N, S.IC, S.CM, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Depthwise 2-D convolution, channels first, with a channel multiplier.

        O[n, ic, cm, oh, ow] += sum over kh, kw of
            I[n, ic, oh * SH + kh * DH, ow * SW + kw * DW]
            * K[ic, cm, kh, kw]

    Shapes: I (N, IC, H, W), K (IC, CM, KH, KW), O (N, IC, CM, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.depthwise_conv_2d_nhwc_hwcm`, channels first.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.ic, D.cm, D.kh, D.kw)
    O[D.n, D.ic, D.cm, D.oh, D.ow] += product(I[D.n, D.ic, AT_H, AT_W], K[D.ic, D.cm, D.kh, D.kw])


@structured_op
def depthwise_conv_3d_ndhwc_dhwc(
    I=TensorDef(T1, S.N, DEPTH, HEIGHT, WIDTH, S.IC),
    K=TensorDef(T2, S.KD, S.KH, S.KW, S.IC),
    O=TensorDef(U, S.N, S.OD, S.OH, S.OW, S.IC, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Depthwise 3-D convolution, channels last.

        O[n, od, oh, ow, ic] += sum over kd, kh, kw of
            I[n, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW, ic]
            * K[kd, kh, kw, ic]

    Shapes: I (N, D, H, W, IC), K (KD, KH, KW, IC), O (N, OD, OH, OW, IC).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: upstream's `linalg.depthwise_conv_3d_ndhwc_dhwc`, which declares O without its
    axis IC and indexes it with that axis; the shape here has it.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.kd, D.kh, D.kw, D.ic)
    O[D.n, D.od, D.oh, D.ow, D.ic] += product(
        I[D.n, AT_D, AT_H, AT_W, D.ic], K[D.kd, D.kh, D.kw, D.ic]
    )


@structured_op
def depthwise_conv_3d_ncdhw_cdhw(
    I=TensorDef(T1, S.N, S.IC, DEPTH, HEIGHT, WIDTH),
    K=TensorDef(T2, S.IC, S.KD, S.KH, S.KW),
    O=TensorDef(U, S.N, S.IC, S.OD, S.OH, S.OW, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Depthwise 3-D convolution, channels first.

        O[n, ic, od, oh, ow] += sum over kd, kh, kw of
            I[n, ic, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW]
            * K[ic, kd, kh, kw]

    Shapes: I (N, IC, D, H, W), K (IC, KD, KH, KW), O (N, IC, OD, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: upstream's `linalg.depthwise_conv_3d_ncdhw_cdhw`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.kd, D.kh, D.kw, D.ic)
    O[D.n, D.ic, D.od, D.oh, D.ow] += product(
        I[D.n, D.ic, AT_D, AT_H, AT_W], K[D.ic, D.kd, D.kh, D.kw]
    )


@structured_op
def depthwise_conv_3d_ndhwc_dhwcm(
    I=TensorDef(T1, S.N, DEPTH, HEIGHT, WIDTH, S.IC),
    K=TensorDef(T2, S.KD, S.KH, S.KW, S.IC, S.CM),
    O=TensorDef(U, S.N, S.OD, S.OH, S.OW, S.IC, S.CM, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Depthwise 3-D convolution, channels last, with a channel multiplier.

        O[n, od, oh, ow, ic, cm] += sum over kd, kh, kw of
            I[n, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW, ic]
            * K[kd, kh, kw, ic, cm]

    Shapes: I (N, D, H, W, IC), K (KD, KH, KW, IC, CM), O (N, OD, OH, OW, IC, CM).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: upstream's `linalg.depthwise_conv_3d_ndhwc_dhwcm`, which declares O without its
    axis IC and indexes it with that axis; the shape here has it.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.cm, D.kd, D.kh, D.kw, D.ic)
    O[D.n, D.od, D.oh, D.ow, D.ic, D.cm] += product(
        I[D.n, AT_D, AT_H, AT_W, D.ic], K[D.kd, D.kh, D.kw, D.ic, D.cm]
    )


@structured_op
def depthwise_conv_3d_ncdhw_cmdhw(
    I=TensorDef(T1, S.N, S.IC, DEPTH, HEIGHT, WIDTH),
    K=TensorDef(T2, S.IC, S.CM, S.KD, S.KH, S.KW),
    O=TensorDef(U, S.N, S.IC, S.CM, S.OD, S.OH, S.OW, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Depthwise 3-D convolution, channels first, with a channel multiplier.

        O[n, ic, cm, od, oh, ow] += sum over kd, kh, kw of
            I[n, ic, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW]
            * K[ic, cm, kd, kh, kw]

    Shapes: I (N, IC, D, H, W), K (IC, CM, KD, KH, KW), O (N, IC, CM, OD, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.depthwise_conv_3d_ndhwc_dhwcm`, channels first.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.cm, D.kd, D.kh, D.kw, D.ic)
    O[D.n, D.ic, D.cm, D.od, D.oh, D.ow] += product(
        I[D.n, D.ic, AT_D, AT_H, AT_W], K[D.ic, D.cm, D.kd, D.kh, D.kw]
    )
