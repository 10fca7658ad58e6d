"""Pooling over 3-D windows: one number for each, by a sum, a maximum or a minimum."""

from linalg_ext.opdsl import (
    T1,
    T2,
    ConvolutionOpInterface,
    D,
    ReduceFn,
    S,
    TensorDef,
    TypeFn,
    U,
    domain,
    implements,
    structured_op,
)

from ._values import AT_D, AT_H, AT_W, DEPTH, DILATIONS_3D, HEIGHT, STRIDES_3D, WIDTH, product

__all__ = [
    "pooling_ncdhw_max",
    "pooling_ncdhw_min",
    "pooling_ncdhw_sum",
    "pooling_ncdhw_weighted",
    "pooling_ndhwc_max",
    "pooling_ndhwc_min",
    "pooling_ndhwc_sum",
    "pooling_ndhwc_weighted",
]


@structured_op
def pooling_ndhwc_sum(
    I=TensorDef(T1, S.N, DEPTH, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KD, S.KH, S.KW, index_dims=[D.kd, D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OD, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Sum of each 3-D window, channels last.

        O[n, od, oh, ow, c] += sum over kd, kh, kw of
            I[n, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW, c]

    Shapes: I (N, D, H, W, C), O (N, OD, OH, OW, C), K (KD, KH, KW), of which only the shape is
    used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I is cast to that of O, as signed numbers.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: upstream's `linalg.pooling_ndhwc_sum`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.c, D.kd, D.kh, D.kw)
    O[D.n, D.od, D.oh, D.ow, D.c] += TypeFn.cast_signed(U, I[D.n, AT_D, AT_H, AT_W, D.c])


@structured_op
def pooling_ndhwc_max(
    I=TensorDef(T1, S.N, DEPTH, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KD, S.KH, S.KW, index_dims=[D.kd, D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OD, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Largest element of each 3-D window, channels last.

        O[n, od, oh, ow, c] = the maximum of O[n, od, oh, ow, c] and, over kd, kh, kw,
            I[n, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW, c]

    Shapes: I (N, D, H, W, C), O (N, OD, OH, OW, C), K (KD, KH, KW), of which only the shape is
    used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: upstream's `linalg.pooling_ndhwc_max`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.c, D.kd, D.kh, D.kw)
    O[D.n, D.od, D.oh, D.ow, D.c] = ReduceFn.max_signed[D.kd, D.kh, D.kw](
        TypeFn.cast_signed(U, I[D.n, AT_D, AT_H, AT_W, D.c])
    )


@structured_op
def pooling_ndhwc_min(
    I=TensorDef(T1, S.N, DEPTH, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KD, S.KH, S.KW, index_dims=[D.kd, D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OD, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Smallest element of each 3-D window, channels last.

        O[n, od, oh, ow, c] = the minimum of O[n, od, oh, ow, c] and, over kd, kh, kw,
            I[n, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW, c]

    Shapes: I (N, D, H, W, C), O (N, OD, OH, OW, C), K (KD, KH, KW), of which only the shape is
    used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: upstream's `linalg.pooling_ndhwc_min`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.c, D.kd, D.kh, D.kw)
    O[D.n, D.od, D.oh, D.ow, D.c] = ReduceFn.min_signed[D.kd, D.kh, D.kw](
        TypeFn.cast_signed(U, I[D.n, AT_D, AT_H, AT_W, D.c])
    )


@structured_op
def pooling_ndhwc_weighted(
    I=TensorDef(T1, S.N, DEPTH, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KD, S.KH, S.KW),
    O=TensorDef(U, S.N, S.OD, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Weighted sum of each 3-D window, channels last.

        O[n, od, oh, ow, c] += sum over kd, kh, kw of
            I[n, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW, c] * K[kd, kh, kw]

    Weights of 1 / KD / KH / KW give average pooling; zeros leave elements of a window out.

    Shapes: I (N, D, H, W, C), O (N, OD, OH, OW, C), K (KD, KH, KW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_sum`, with weights.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.od, D.oh, D.ow, D.c, D.kd, D.kh, D.kw)
    O[D.n, D.od, D.oh, D.ow, D.c] += product(I[D.n, AT_D, AT_H, AT_W, D.c], K[D.kd, D.kh, D.kw])


@structured_op
def pooling_ncdhw_sum(
    I=TensorDef(T1, S.N, S.C, DEPTH, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KD, S.KH, S.KW, index_dims=[D.kd, D.kh, D.kw]),
    O=TensorDef(U, S.N, S.C, S.OD, S.OH, S.OW, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Sum of each 3-D window, channels first.

        O[n, c, od, oh, ow] += sum over kd, kh, kw of
            I[n, c, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW]

    Shapes: I (N, C, D, H, W), O (N, C, OD, OH, OW), K (KD, KH, KW), of which only the shape is
    used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I is cast to that of O, as signed numbers.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_sum`, in another layout or rank.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.od, D.oh, D.ow, D.kd, D.kh, D.kw)
    O[D.n, D.c, D.od, D.oh, D.ow] += TypeFn.cast_signed(U, I[D.n, D.c, AT_D, AT_H, AT_W])


@structured_op
def pooling_ncdhw_max(
    I=TensorDef(T1, S.N, S.C, DEPTH, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KD, S.KH, S.KW, index_dims=[D.kd, D.kh, D.kw]),
    O=TensorDef(U, S.N, S.C, S.OD, S.OH, S.OW, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Largest element of each 3-D window, channels first.

        O[n, c, od, oh, ow] = the maximum of O[n, c, od, oh, ow] and, over kd, kh, kw,
            I[n, c, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW]

    Shapes: I (N, C, D, H, W), O (N, C, OD, OH, OW), K (KD, KH, KW), of which only the shape is
    used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_max`, in another layout or rank.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.od, D.oh, D.ow, D.kd, D.kh, D.kw)
    O[D.n, D.c, D.od, D.oh, D.ow] = ReduceFn.max_signed[D.kd, D.kh, D.kw](
        TypeFn.cast_signed(U, I[D.n, D.c, AT_D, AT_H, AT_W])
    )


@structured_op
def pooling_ncdhw_min(
    I=TensorDef(T1, S.N, S.C, DEPTH, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KD, S.KH, S.KW, index_dims=[D.kd, D.kh, D.kw]),
    O=TensorDef(U, S.N, S.C, S.OD, S.OH, S.OW, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Smallest element of each 3-D window, channels first.

        O[n, c, od, oh, ow] = the minimum of O[n, c, od, oh, ow] and, over kd, kh, kw,
            I[n, c, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW]

    Shapes: I (N, C, D, H, W), O (N, C, OD, OH, OW), K (KD, KH, KW), of which only the shape is
    used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_min`, in another layout or rank.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.od, D.oh, D.ow, D.kd, D.kh, D.kw)
    O[D.n, D.c, D.od, D.oh, D.ow] = ReduceFn.min_signed[D.kd, D.kh, D.kw](
        TypeFn.cast_signed(U, I[D.n, D.c, AT_D, AT_H, AT_W])
    )


@structured_op
def pooling_ncdhw_weighted(
    I=TensorDef(T1, S.N, S.C, DEPTH, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KD, S.KH, S.KW),
    O=TensorDef(U, S.N, S.C, S.OD, S.OH, S.OW, output=True),
    strides=STRIDES_3D,
    dilations=DILATIONS_3D,
):
    """Weighted sum of each 3-D window, channels first.

        O[n, c, od, oh, ow] += sum over kd, kh, kw of
            I[n, c, od * SD + kd * DD, oh * SH + kh * DH, ow * SW + kw * DW] * K[kd, kh, kw]

    Weights of 1 / KD / KH / KW give average pooling; zeros leave elements of a window out.

    Shapes: I (N, C, D, H, W), O (N, C, OD, OH, OW), K (KD, KH, KW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, D and H alike.
    Dtypes: I and K are cast to that of O, as signed numbers before the product.
    Attributes: strides = (SD, SH, SW), dilations = (DD, DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_sum`, with weights.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.od, D.oh, D.ow, D.kd, D.kh, D.kw)
    O[D.n, D.c, D.od, D.oh, D.ow] += product(I[D.n, D.c, AT_D, AT_H, AT_W], K[D.kd, D.kh, D.kw])
