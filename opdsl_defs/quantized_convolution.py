"""Convolutions of quantized numbers: a zero point is taken from each operand before the product."""

from linalg_ext.opdsl import (
    I32,
    T1,
    T2,
    ConvolutionOpInterface,
    D,
    S,
    ScalarDef,
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
    shifted_product,
)

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


@structured_op
def conv_1d_nwc_wcf_q(
    I=TensorDef(T1, S.N, WIDTH, S.C),
    K=TensorDef(T2, S.KW, S.C, S.F),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.OW, S.F, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Quantized 1-D convolution, channels last.

        O[n, ow, f] += sum over kw, c of
            (I[n, ow * SW + kw * DW, c] - IZp)
            * (K[kw, c, f] - KZp)

    Shapes: I (N, W, C), K (KW, C, F), O (N, OW, F).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; as upstream's `linalg.conv_2d_nhwc_hwcf_q`, in one dimension.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.f, D.kw, D.c)
    O[D.n, D.ow, D.f] += shifted_product(I[D.n, AT_W, D.c], IZp, K[D.kw, D.c, D.f], KZp)


@structured_op
def conv_1d_ncw_fcw_q(
    I=TensorDef(T1, S.N, S.C, WIDTH),
    K=TensorDef(T2, S.F, S.C, S.KW),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.F, S.OW, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Quantized 1-D convolution, channels first.

        O[n, f, ow] += sum over c, kw of
            (I[n, c, ow * SW + kw * DW] - IZp)
            * (K[f, c, kw] - KZp)

    Shapes: I (N, C, W), K (F, C, KW), O (N, F, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; as upstream's `linalg.conv_2d_nchw_fchw_q`, in one dimension.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.f, D.ow, D.c, D.kw)
    O[D.n, D.f, D.ow] += shifted_product(I[D.n, D.c, AT_W], IZp, K[D.f, D.c, D.kw], KZp)


@structured_op
def conv_2d_nhwc_hwcf_q(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KH, S.KW, S.C, S.F),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.OH, S.OW, S.F, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Quantized 2-D convolution, channels last.

        O[n, oh, ow, f] += sum over kh, kw, c of
            (I[n, oh * SH + kh * DH, ow * SW + kw * DW, c] - IZp)
            * (K[kh, kw, c, f] - KZp)

    Shapes: I (N, H, W, C), K (KH, KW, C, F), O (N, OH, OW, F).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_nhwc_hwcf_q`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.f, D.kh, D.kw, D.c)
    O[D.n, D.oh, D.ow, D.f] += shifted_product(
        I[D.n, AT_H, AT_W, D.c], IZp, K[D.kh, D.kw, D.c, D.f], KZp
    )


@structured_op
def conv_2d_nhwc_fhwc_q(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.F, S.KH, S.KW, S.C),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.OH, S.OW, S.F, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Quantized 2-D convolution, channels last, output channels of the kernel first.

        O[n, oh, ow, f] += sum over kh, kw, c of
            (I[n, oh * SH + kh * DH, ow * SW + kw * DW, c] - IZp)
            * (K[f, kh, kw, c] - KZp)

    Shapes: I (N, H, W, C), K (F, KH, KW, C), O (N, OH, OW, F).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_nhwc_fhwc_q`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.f, D.kh, D.kw, D.c)
    O[D.n, D.oh, D.ow, D.f] += shifted_product(
        I[D.n, AT_H, AT_W, D.c], IZp, K[D.f, D.kh, D.kw, D.c], KZp
    )


@structured_op
def conv_2d_nchw_fchw_q(
    I=TensorDef(T1, S.N, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.F, S.C, S.KH, S.KW),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.F, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Quantized 2-D convolution, channels first.

        O[n, f, oh, ow] += sum over c, kh, kw of
            (I[n, c, oh * SH + kh * DH, ow * SW + kw * DW] - IZp)
            * (K[f, c, kh, kw] - KZp)

    Shapes: I (N, C, H, W), K (F, C, KH, KW), O (N, F, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_nchw_fchw_q`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.f, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.f, D.oh, D.ow] += shifted_product(
        I[D.n, D.c, AT_H, AT_W], IZp, K[D.f, D.c, D.kh, D.kw], KZp
    )


@structured_op
def conv_3d_ndhwc_dhwcf_q(
    I=TensorDef(T1, S.N, DEPTH, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KD, S.KH, S.KW, S.C, S.F),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.OD, S.OH, S.OW, S.F, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Quantized 3-D convolution, channels last.

        O[n, od, oh, ow, f] += sum over kd, kh, kw, c of
            (I[n, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW, c] - IZp)
            * (K[kd, kh, kw, c, f] - KZp)

    Shapes: I (N, D, H, W, C), K (KD, KH, KW, C, F), O (N, OD, OH, OW, F).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_3d_ndhwc_dhwcf_q`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.f, D.kd, D.kh, D.kw, D.c)
    O[D.n, D.od, D.oh, D.ow, D.f] += shifted_product(
        I[D.n, AT_D, AT_H, AT_W, D.c], IZp, K[D.kd, D.kh, D.kw, D.c, D.f], KZp
    )


@structured_op
def conv_3d_ncdhw_fcdhw_q(
    I=TensorDef(T1, S.N, S.C, DEPTH, HEIGHT, WIDTH),
    K=TensorDef(T2, S.F, S.C, S.KD, S.KH, S.KW),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.F, S.OD, S.OH, S.OW, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Quantized 3-D convolution, channels first.

        O[n, f, od, oh, ow] += sum over c, kd, kh, kw of
            (I[n, c, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW] - IZp)
            * (K[f, c, kd, kh, kw] - KZp)

    Shapes: I (N, C, D, H, W), K (F, C, KD, KH, KW), O (N, F, OD, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.conv_3d_ndhwc_dhwcf_q`, channels first.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.f, D.od, D.oh, D.ow, D.c, D.kd, D.kh, D.kw)
    O[D.n, D.f, D.od, D.oh, D.ow] += shifted_product(
        I[D.n, D.c, AT_D, AT_H, AT_W], IZp, K[D.f, D.c, D.kd, D.kh, D.kw], KZp
    )


@structured_op
def conv_2d_nhwgc_gfhwc_q(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.G, S.C),
    K=TensorDef(T2, S.G, S.FG, S.KH, S.KW, S.C),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.OH, S.OW, S.G, S.FG, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Quantized grouped 2-D convolution, channels last.

        O[n, oh, ow, g, fg] += sum over kh, kw, c of
            (I[n, oh * SH + kh * DH, ow * SW + kw * DW, g, c] - IZp)
            * (K[g, fg, kh, kw, c] - KZp)

    Shapes: I (N, H, W, G, C), K (G, FG, KH, KW, C), O (N, OH, OW, G, FG).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_nhwgc_gfhwc_q`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.g, D.fg, D.kh, D.kw, D.c)
    O[D.n, D.oh, D.ow, D.g, D.fg] += shifted_product(
        I[D.n, AT_H, AT_W, D.g, D.c], IZp, K[D.g, D.fg, D.kh, D.kw, D.c], KZp
    )


@structured_op
def conv_2d_ngchw_gfchw_q(
    I=TensorDef(T1, S.N, S.G, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.G, S.FG, S.C, S.KH, S.KW),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.G, S.FG, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Quantized grouped 2-D convolution, channels first.

        O[n, g, fg, oh, ow] += sum over c, kh, kw of
            (I[n, g, c, oh * SH + kh * DH, ow * SW + kw * DW] - IZp)
            * (K[g, fg, c, kh, kw] - KZp)

    Shapes: I (N, G, C, H, W), K (G, FG, C, KH, KW), O (N, G, FG, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_ngchw_gfchw_q`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.g, D.fg, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.g, D.fg, D.oh, D.ow] += shifted_product(
        I[D.n, D.g, D.c, AT_H, AT_W], IZp, K[D.g, D.fg, D.c, D.kh, D.kw], KZp
    )


@structured_op
def depthwise_conv_2d_nhwc_hwc_q(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.IC),
    K=TensorDef(T2, S.KH, S.KW, S.IC),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.OH, S.OW, S.IC, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Quantized depthwise 2-D convolution, channels last.

        O[n, oh, ow, ic] += sum over kh, kw of
            (I[n, oh * SH + kh * DH, ow * SW + kw * DW, ic] - IZp)
            * (K[kh, kw, ic] - KZp)

    Shapes: I (N, H, W, IC), K (KH, KW, IC), O (N, OH, OW, IC).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.depthwise_conv_2d_nhwc_hwc_q`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.ic, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.ic] += shifted_product(
        I[D.n, AT_H, AT_W, D.ic], IZp, K[D.kh, D.kw, D.ic], KZp
    )


@structured_op
def depthwise_conv_2d_nhwc_hwcm_q(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.IC),
    K=TensorDef(T2, S.KH, S.KW, S.IC, S.CM),
    IZp=ScalarDef(I32),
    KZp=ScalarDef(I32),
    O=TensorDef(U, S.N, S.OH, S.OW, S.IC, S.CM, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Quantized depthwise 2-D convolution, channels last, with a channel multiplier.

        O[n, oh, ow, ic, cm] += sum over kh, kw of
            (I[n, oh * SH + kh * DH, ow * SW + kw * DW, ic] - IZp)
            * (K[kh, kw, ic, cm] - KZp)

    Shapes: I (N, H, W, IC), K (KH, KW, IC, CM), O (N, OH, OW, IC, CM).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the difference; the zero
    points IZp and KZp are int32 scalars.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.depthwise_conv_2d_nhwc_hwcm_q`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.ic, D.cm, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.ic, D.cm] += shifted_product(
        I[D.n, AT_H, AT_W, D.ic], IZp, K[D.kh, D.kw, D.ic, D.cm], KZp
    )
