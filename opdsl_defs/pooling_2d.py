"""Pooling over 2-D windows: one number for each, by a sum, a maximum or a minimum."""

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

from ._values import AT_H, AT_W, DILATIONS_2D, HEIGHT, STRIDES_2D, WIDTH, product

__all__ = [
    "pooling_nchw_max",
    "pooling_nchw_min",
    "pooling_nchw_sum",
    "pooling_nchw_weighted",
    "pooling_nhwc_max",
    "pooling_nhwc_max_unsigned",
    "pooling_nhwc_min",
    "pooling_nhwc_min_unsigned",
    "pooling_nhwc_sum",
    "pooling_nhwc_weighted",
]


@structured_op
def pooling_nhwc_sum(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Sum of each 2-D window, channels last.

        O[n, oh, ow, c] += sum over kh, kw of I[n, oh * SH + kh * DH, ow * SW + kw * DW, c]

    Shapes: I (N, H, W, C), O (N, OH, OW, C), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I is cast to that of O, as signed numbers.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.pooling_nhwc_sum`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.c] += TypeFn.cast_signed(U, I[D.n, AT_H, AT_W, D.c])


@structured_op
def pooling_nhwc_max(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Largest element of each 2-D window, channels last.

        O[n, oh, ow, c] = the maximum of O[n, oh, ow, c] and, over kh, kw,
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, c]

    Shapes: I (N, H, W, C), O (N, OH, OW, C), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.pooling_nhwc_max`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.c] = ReduceFn.max_signed[D.kh, D.kw](
        TypeFn.cast_signed(U, I[D.n, AT_H, AT_W, D.c])
    )


@structured_op
def pooling_nhwc_max_unsigned(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Largest element of each 2-D window, channels last, integers read as unsigned.

        O[n, oh, ow, c] = the maximum of O[n, oh, ow, c] and, over kh, kw,
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, c]

    Shapes: I (N, H, W, C), O (N, OH, OW, C), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I is cast to that of O, as unsigned numbers.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.pooling_nhwc_max_unsigned`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.c] = ReduceFn.max_unsigned[D.kh, D.kw](
        TypeFn.cast_unsigned(U, I[D.n, AT_H, AT_W, D.c])
    )


@structured_op
def pooling_nhwc_min(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Smallest element of each 2-D window, channels last.

        O[n, oh, ow, c] = the minimum of O[n, oh, ow, c] and, over kh, kw,
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, c]

    Shapes: I (N, H, W, C), O (N, OH, OW, C), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.pooling_nhwc_min`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.c] = ReduceFn.min_signed[D.kh, D.kw](
        TypeFn.cast_signed(U, I[D.n, AT_H, AT_W, D.c])
    )


@structured_op
def pooling_nhwc_min_unsigned(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Smallest element of each 2-D window, channels last, integers read as unsigned.

        O[n, oh, ow, c] = the minimum of O[n, oh, ow, c] and, over kh, kw,
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, c]

    Shapes: I (N, H, W, C), O (N, OH, OW, C), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I is cast to that of O, as unsigned numbers.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.pooling_nhwc_min_unsigned`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.c] = ReduceFn.min_unsigned[D.kh, D.kw](
        TypeFn.cast_unsigned(U, I[D.n, AT_H, AT_W, D.c])
    )


@structured_op
def pooling_nhwc_weighted(
    I=TensorDef(T1, S.N, HEIGHT, WIDTH, S.C),
    K=TensorDef(T2, S.KH, S.KW),
    O=TensorDef(U, S.N, S.OH, S.OW, S.C, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Weighted sum of each 2-D window, channels last.

        O[n, oh, ow, c] += sum over kh, kw of
            I[n, oh * SH + kh * DH, ow * SW + kw * DW, c] * K[kh, kw]

    Weights of 1 / KH / KW give average pooling; zeros leave elements of a window out.

    Shapes: I (N, H, W, C), O (N, OH, OW, C), K (KH, KW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_sum`, with weights.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.oh, D.ow, D.c, D.kh, D.kw)
    O[D.n, D.oh, D.ow, D.c] += product(I[D.n, AT_H, AT_W, D.c], K[D.kh, D.kw])


@structured_op
def pooling_nchw_sum(
    I=TensorDef(T1, S.N, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.C, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Sum of each 2-D window, channels first.

        O[n, c, oh, ow] += sum over kh, kw of I[n, c, oh * SH + kh * DH, ow * SW + kw * DW]

    Shapes: I (N, C, H, W), O (N, C, OH, OW), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I is cast to that of O, as signed numbers.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.pooling_nchw_sum`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.oh, D.ow, D.kh, D.kw)
    O[D.n, D.c, D.oh, D.ow] += TypeFn.cast_signed(U, I[D.n, D.c, AT_H, AT_W])


@structured_op
def pooling_nchw_max(
    I=TensorDef(T1, S.N, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.C, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Largest element of each 2-D window, channels first.

        O[n, c, oh, ow] = the maximum of O[n, c, oh, ow] and, over kh, kw,
            I[n, c, oh * SH + kh * DH, ow * SW + kw * DW]

    Shapes: I (N, C, H, W), O (N, C, OH, OW), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: upstream's `linalg.pooling_nchw_max`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.oh, D.ow, D.kh, D.kw)
    O[D.n, D.c, D.oh, D.ow] = ReduceFn.max_signed[D.kh, D.kw](
        TypeFn.cast_signed(U, I[D.n, D.c, AT_H, AT_W])
    )


@structured_op
def pooling_nchw_min(
    I=TensorDef(T1, S.N, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KH, S.KW, index_dims=[D.kh, D.kw]),
    O=TensorDef(U, S.N, S.C, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Smallest element of each 2-D window, channels first.

        O[n, c, oh, ow] = the minimum of O[n, c, oh, ow] and, over kh, kw,
            I[n, c, oh * SH + kh * DH, ow * SW + kw * DW]

    Shapes: I (N, C, H, W), O (N, C, OH, OW), K (KH, KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_min`, in another layout or rank.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.oh, D.ow, D.kh, D.kw)
    O[D.n, D.c, D.oh, D.ow] = ReduceFn.min_signed[D.kh, D.kw](
        TypeFn.cast_signed(U, I[D.n, D.c, AT_H, AT_W])
    )


@structured_op
def pooling_nchw_weighted(
    I=TensorDef(T1, S.N, S.C, HEIGHT, WIDTH),
    K=TensorDef(T2, S.KH, S.KW),
    O=TensorDef(U, S.N, S.C, S.OH, S.OW, output=True),
    strides=STRIDES_2D,
    dilations=DILATIONS_2D,
):
    """Weighted sum of each 2-D window, channels first.

        O[n, c, oh, ow] += sum over kh, kw of
            I[n, c, oh * SH + kh * DH, ow * SW + kw * DW] * K[kh, kw]

    Weights of 1 / KH / KW give average pooling; zeros leave elements of a window out.

    Shapes: I (N, C, H, W), O (N, C, OH, OW), K (KH, KW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1, H alike.
    Dtypes: I and K are cast to that of O, as signed numbers before the product.
    Attributes: strides = (SH, SW), dilations = (DH, DW), all 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_sum`, with weights.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.oh, D.ow, D.kh, D.kw)
    O[D.n, D.c, D.oh, D.ow] += product(I[D.n, D.c, AT_H, AT_W], K[D.kh, D.kw])
