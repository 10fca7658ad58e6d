"""Convolutions of groups of channels: g counts groups, c and f (FG) channels within one."""

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
    "conv_1d_ngcw_gfcw",
    "conv_1d_nwgc_gfwc",
    "conv_2d_ngchw_fgchw",
    "conv_2d_ngchw_gfchw",
    "conv_2d_nhwgc_gfhwc",
    "conv_3d_ndhwgc_gfdhwc",
    "conv_3d_ngcdhw_gfcdhw",
]


@structured_op
def conv_1d_ngcw_gfcw(
    I=TensorDef(T1, S.N, S.G, S.C, WIDTH),
    K=TensorDef(T2, S.G, S.FG, S.C, S.KW),
    O=TensorDef(U, S.N, S.G, S.FG, S.OW, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Grouped 1-D convolution, channels first.

        O[n, g, fg, ow] += sum over c, kw of I[n, g, c, ow * SW + kw * DW] * K[g, fg, c, kw]

    Shapes: I (N, G, C, W), K (G, FG, C, KW), O (N, G, FG, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; as upstream's `linalg.conv_2d_ngchw_gfchw`, in one dimension.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.g, D.fg, D.ow, D.c, D.kw)
    O[D.n, D.g, D.fg, D.ow] += product(I[D.n, D.g, D.c, AT_W], K[D.g, D.fg, D.c, D.kw])


@structured_op
def conv_1d_nwgc_gfwc(
    I=TensorDef(T1, S.N, WIDTH, S.G, S.C),
    K=TensorDef(T2, S.G, S.FG, S.KW, S.C),
    O=TensorDef(U, S.N, S.OW, S.G, S.FG, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Grouped 1-D convolution, channels last.

        O[n, ow, g, fg] += sum over kw, c of I[n, ow * SW + kw * DW, g, c] * K[g, fg, kw, c]

    Shapes: I (N, W, G, C), K (G, FG, KW, C), O (N, OW, G, FG).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; as upstream's `linalg.conv_2d_nhwgc_gfhwc`, in one dimension.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.g, D.fg, D.kw, D.c)
    O[D.n, D.ow, D.g, D.fg] += product(I[D.n, AT_W, D.g, D.c], K[D.g, D.fg, D.kw, D.c])


@structured_op
def conv_2d_ngchw_fgchw(
    I=TensorDef(T1, S.N, S.G, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.FG, S.G, S.C, S.KH, S.KW),
    O=TensorDef(U, S.N, S.G, S.FG, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Grouped 2-D convolution, channels first, output channels of the kernel before its groups.

        O[n, g, fg, oh, ow] += sum over c, kh, kw of
            I[n, g, c, oh * SH + kh * DH, ow * SW + kw * DW]
            * K[fg, g, c, kh, kw]

    Shapes: I (N, G, C, H, W), K (FG, G, C, KH, KW), O (N, G, FG, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_ngchw_fgchw`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.g, D.fg, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.g, D.fg, D.oh, D.ow] += product(
        I[D.n, D.g, D.c, AT_H, AT_W], K[D.fg, D.g, D.c, D.kh, D.kw]
    )


@structured_op
def conv_2d_ngchw_gfchw(
    I=TensorDef(T1, S.N, S.G, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.G, S.FG, S.C, S.KH, S.KW),
    O=TensorDef(U, S.N, S.G, S.FG, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Grouped 2-D convolution, channels first.

        O[n, g, fg, oh, ow] += sum over c, kh, kw of
            I[n, g, c, oh * SH + kh * DH, ow * SW + kw * DW]
            * K[g, fg, c, kh, kw]

    Shapes: I (N, G, C, H, W), K (G, FG, C, KH, KW), O (N, G, FG, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_ngchw_gfchw`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.g, D.fg, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.g, D.fg, D.oh, D.ow] += product(
        I[D.n, D.g, D.c, AT_H, AT_W], K[D.g, D.fg, D.c, D.kh, D.kw]
    )


@structured_op
def conv_2d_nhwgc_gfhwc(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.G, S.C),
    K=TensorDef(T2, S.G, S.FG, S.KH, S.KW, S.C),
    O=TensorDef(U, S.N, S.OH, S.OW, S.G, S.FG, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Grouped 2-D convolution, channels last.

        O[n, oh, ow, g, fg] += sum over kh, kw, c of
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, g, c]
            * K[g, fg, kh, kw, c]

    Shapes: I (N, H, W, G, C), K (G, FG, KH, KW, C), O (N, OH, OW, G, FG).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.conv_2d_nhwgc_gfhwc`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.g, D.fg, D.kh, D.kw, D.c)
    O[D.n, D.oh, D.ow, D.g, D.fg] += product(
        I[D.n, AT_H, AT_W, D.g, D.c], K[D.g, D.fg, D.kh, D.kw, D.c]
    )


@structured_op
def conv_3d_ngcdhw_gfcdhw(
    I=TensorDef(T1, S.N, S.G, S.C, DEPTH, HEIGHT, WIDTH),
    K=TensorDef(T2, S.G, S.FG, S.C, S.KD, S.KH, S.KW),
    O=TensorDef(U, S.N, S.G, S.FG, S.OD, S.OH, S.OW, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Grouped 3-D convolution, channels first.

        O[n, g, fg, od, oh, ow] += sum over c, kd, kh, kw of
            I[n, g, c, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW]
            * K[g, fg, c, kd, kh, kw]

    Shapes: I (N, G, C, D, H, W), K (G, FG, C, KD, KH, KW), O (N, G, FG, OD, OH, OW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.conv_2d_ngchw_gfchw`, in three dimensions.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.g, D.fg, D.od, D.oh, D.ow, D.c, D.kd, D.kh, D.kw)
    O[D.n, D.g, D.fg, D.od, D.oh, D.ow] += product(
        I[D.n, D.g, D.c, AT_D, AT_H, AT_W], K[D.g, D.fg, D.c, D.kd, D.kh, D.kw]
    )


@structured_op
def conv_3d_ndhwgc_gfdhwc(
    I=TensorDef(T1, S.N, DEPTH, HEIGHT, WIDTH, S.G, S.C),
    K=TensorDef(T2, S.G, S.FG, S.KD, S.KH, S.KW, S.C),
    O=TensorDef(U, S.N, S.OD, S.OH, S.OW, S.G, S.FG, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Grouped 3-D convolution, channels last.

        O[n, od, oh, ow, g, fg] += sum over kd, kh, kw, c of
            I[n, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW, g, c]
            * K[g, fg, kd, kh, kw, c]

    Shapes: I (N, D, H, W, G, C), K (G, FG, KD, KH, KW, C), O (N, OD, OH, OW, G, FG).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers, before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.conv_2d_nhwgc_gfhwc`, in three dimensions.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.g, D.fg, D.kd, D.kh, D.kw, D.c)
    O[D.n, D.od, D.oh, D.ow, D.g, D.fg] += product(
        I[D.n, AT_D, AT_H, AT_W, D.g, D.c], K[D.g, D.fg, D.kd, D.kh, D.kw, D.c]
    )
