"""Average pooling and L2 pooling over windows: means and sums of squares."""

from linalg_ext.opdsl import (
    T1,
    T2,
    D,
    S,
    TensorDef,
    U,
    domain,
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
    cast,
    mean_weight,
)

__all__ = [
    "pooling_ncdhw_average",
    "pooling_nchw_average",
    "pooling_nchw_squares",
    "pooling_ncw_average",
    "pooling_ndhwc_average",
    "pooling_nhwc_average",
    "pooling_nhwc_squares",
    "pooling_nwc_average",
]


@structured_op
def pooling_nwc_average(
    I=TensorDef(T1, S.N, WIDTH, S.C),
    K=TensorDef(T2, S.KW, index_dims=[D.kw]),
    O=TensorDef(U, S.N, S.OW, S.C, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Mean of each 1-D window, channels last.

        O[n, ow, c] += mean over kw of
            I[n, ow * SW + kw * DW, c]

    What the caller padded with counts as an element; a mean without it is `pooling_nwc_sum`
    over the padded input, divided by the same of ones.

    Shapes: I (N, W, C), O (N, OW, C), K (KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; PyTorch's `torch.nn.AvgPool1d`.
    """
    domain(D.n, D.ow, D.c, D.kw)
    O[D.n, D.ow, D.c] += cast(I[D.n, AT_W, D.c]) * mean_weight(S.KW)


@structured_op
def pooling_ncw_average(
    I=TensorDef(T1, S.N, S.C, WIDTH),
    K=TensorDef(T2, S.KW, index_dims=[D.kw]),
    O=TensorDef(U, S.N, S.C, S.OW, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Mean of each 1-D window, channels first.

        O[n, c, ow] += mean over kw of
            I[n, c, ow * SW + kw * DW]

    What the caller padded with counts as an element; a mean without it is `pooling_ncw_sum`
    over the padded input, divided by the same of ones.

    Shapes: I (N, C, W), O (N, C, OW), K (KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; PyTorch's `torch.nn.AvgPool1d`.
    """
    domain(D.n, D.c, D.ow, D.kw)
    O[D.n, D.c, D.ow] += cast(I[D.n, D.c, AT_W]) * mean_weight(S.KW)


@structured_op
def pooling_nhwc_average(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Mean of each 2-D window, channels last.

        O[n, oh, ow, c] += mean over kh, kw of
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, c]

    What the caller padded with counts as an element; a mean without it is `pooling_nhwc_sum`
    over the padded input, divided by the same of ones.

    Shapes: I (N, H, W, C), O (N, OH, OW, C), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.AvgPool2d`.
    """
    domain(D.n, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.c] += cast(I[D.n, AT_H, AT_W, D.c]) * mean_weight(S.KH, S.KW)


@structured_op
def pooling_nchw_average(
    I=TensorDef(T1, S.N, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.C, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Mean of each 2-D window, channels first.

        O[n, c, oh, ow] += mean over kh, kw of
            I[n, c, oh * SH + kh * DH, ow * SW + kw * DW]

    What the caller padded with counts as an element; a mean without it is `pooling_nchw_sum`
    over the padded input, divided by the same of ones.

    Shapes: I (N, C, H, W), O (N, C, OH, OW), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.AvgPool2d`.
    """
    domain(D.n, D.c, D.oh, D.ow, D.kh, D.kw)
    O[D.n, D.c, D.oh, D.ow] += cast(I[D.n, D.c, AT_H, AT_W]) * mean_weight(S.KH, S.KW)


@structured_op
def pooling_ndhwc_average(
    I=TensorDef(T1, S.N, DEPTH, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KD, S.KH, S.KW, index_dims=[D.kd, D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OD, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Mean of each 3-D window, channels last.

        O[n, od, oh, ow, c] += mean over kd, kh, kw of
            I[n, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW, c]

    What the caller padded with counts as an element; a mean without it is `pooling_ndhwc_sum`
    over the padded input, divided by the same of ones.

    Shapes: I (N, D, H, W, C), O (N, OD, OH, OW, C), K (KD, KH, KW), its shape alone used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H and D alike.
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.AvgPool3d`.
    """
    domain(D.n, D.od, D.oh, D.ow, D.c, D.kd, D.kh, D.kw)
    O[D.n, D.od, D.oh, D.ow, D.c] += cast(I[D.n, AT_D, AT_H, AT_W, D.c]) * mean_weight(
        S.KD, S.KH, S.KW
    )


@structured_op
def pooling_ncdhw_average(
    I=TensorDef(T1, S.N, S.C, DEPTH, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KD, S.KH, S.KW, index_dims=[D.kd, D.kh, D.kw]),
    O=TensorDef(U, S.N, S.C, S.OD, S.OH, S.OW, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Mean of each 3-D window, channels first.

        O[n, c, od, oh, ow] += mean over kd, kh, kw of
            I[n, c, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW]

    What the caller padded with counts as an element; a mean without it is `pooling_ncdhw_sum`
    over the padded input, divided by the same of ones.

    Shapes: I (N, C, D, H, W), O (N, C, OD, OH, OW), K (KD, KH, KW), its shape alone used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H and D alike.
    Dtypes: I any numbers, cast to those of O, as signed; O any float.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.AvgPool3d`.
    """
    domain(D.n, D.c, D.od, D.oh, D.ow, D.kd, D.kh, D.kw)
    O[D.n, D.c, D.od, D.oh, D.ow] += cast(I[D.n, D.c, AT_D, AT_H, AT_W]) * mean_weight(
        S.KD, S.KH, S.KW
    )


@structured_op
def pooling_nhwc_squares(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Sum of the squares of each 2-D window, channels last.

        O[n, oh, ow, c] += sum over kh, kw of
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, c] ** 2

    Its square root is L2 pooling.

    Shapes: I (N, H, W, C), O (N, OH, OW, C), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: any numbers; I is cast to that of O, as signed, before the square.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.LPPool2d` of order 2, before the root.
    """
    domain(D.n, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.c] += cast(I[D.n, AT_H, AT_W, D.c]) * cast(I[D.n, AT_H, AT_W, D.c])


@structured_op
def pooling_nchw_squares(
    I=TensorDef(T1, S.N, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.C, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Sum of the squares of each 2-D window, channels first.

        O[n, c, oh, ow] += sum over kh, kw of
            I[n, c, oh * SH + kh * DH, ow * SW + kw * DW] ** 2

    Its square root is L2 pooling.

    Shapes: I (N, C, H, W), O (N, C, OH, OW), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: any numbers; I is cast to that of O, as signed, before the square.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: this library; PyTorch's `torch.nn.LPPool2d` of order 2, before the root.
    """
    domain(D.n, D.c, D.oh, D.ow, D.kh, D.kw)
    O[D.n, D.c, D.oh, D.ow] += cast(I[D.n, D.c, AT_H, AT_W]) * cast(I[D.n, D.c, AT_H, AT_W])
