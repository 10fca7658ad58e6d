"""Pooling over 1-D windows: one number for each, by a sum, a maximum or a minimum."""

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

from ._values import AT_W, DILATIONS_1D, STRIDES_1D, WIDTH, product

__all__ = [
    "pooling_ncw_max",
    "pooling_ncw_min",
    "pooling_ncw_sum",
    "pooling_ncw_weighted",
    "pooling_nwc_max",
    "pooling_nwc_max_unsigned",
    "pooling_nwc_min",
    "pooling_nwc_min_unsigned",
    "pooling_nwc_sum",
    "pooling_nwc_weighted",
]


@structured_op
def pooling_nwc_sum(
    I=TensorDef(T1, S.N, WIDTH, S.C),
    K=TensorDef(T2, S.KW, index_dims=[D.kw]),
    O=TensorDef(U, S.N, S.OW, S.C, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Sum of each 1-D window, channels last.

        O[n, ow, c] += sum over kw of I[n, ow * SW + kw * DW, c]

    Shapes: I (N, W, C), O (N, OW, C), K (KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I is cast to that of O, as signed numbers.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.pooling_nwc_sum`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.c, D.kw)
    O[D.n, D.ow, D.c] += TypeFn.cast_signed(U, I[D.n, AT_W, D.c])


@structured_op
def pooling_nwc_max(
    I=TensorDef(T1, S.N, WIDTH, S.C),
    K=TensorDef(T2, S.KW, index_dims=[D.kw]),
    O=TensorDef(U, S.N, S.OW, S.C, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Largest element of each 1-D window, channels last.

        O[n, ow, c] = the maximum of O[n, ow, c] and, over kw, I[n, ow * SW + kw * DW, c]

    Shapes: I (N, W, C), O (N, OW, C), K (KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.pooling_nwc_max`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.c, D.kw)
    O[D.n, D.ow, D.c] = ReduceFn.max_signed[D.kw](TypeFn.cast_signed(U, I[D.n, AT_W, D.c]))


@structured_op
def pooling_nwc_max_unsigned(
    I=TensorDef(T1, S.N, WIDTH, S.C),
    K=TensorDef(T2, S.KW, index_dims=[D.kw]),
    O=TensorDef(U, S.N, S.OW, S.C, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Largest element of each 1-D window, channels last, integers read as unsigned.

        O[n, ow, c] = the maximum of O[n, ow, c] and, over kw, I[n, ow * SW + kw * DW, c]

    Shapes: I (N, W, C), O (N, OW, C), K (KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I is cast to that of O, as unsigned numbers.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.pooling_nwc_max_unsigned`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.c, D.kw)
    O[D.n, D.ow, D.c] = ReduceFn.max_unsigned[D.kw](TypeFn.cast_unsigned(U, I[D.n, AT_W, D.c]))


@structured_op
def pooling_nwc_min(
    I=TensorDef(T1, S.N, WIDTH, S.C),
    K=TensorDef(T2, S.KW, index_dims=[D.kw]),
    O=TensorDef(U, S.N, S.OW, S.C, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Smallest element of each 1-D window, channels last.

        O[n, ow, c] = the minimum of O[n, ow, c] and, over kw, I[n, ow * SW + kw * DW, c]

    Shapes: I (N, W, C), O (N, OW, C), K (KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.pooling_nwc_min`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.c, D.kw)
    O[D.n, D.ow, D.c] = ReduceFn.min_signed[D.kw](TypeFn.cast_signed(U, I[D.n, AT_W, D.c]))


@structured_op
def pooling_nwc_min_unsigned(
    I=TensorDef(T1, S.N, WIDTH, S.C),
    K=TensorDef(T2, S.KW, index_dims=[D.kw]),
    O=TensorDef(U, S.N, S.OW, S.C, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Smallest element of each 1-D window, channels last, integers read as unsigned.

        O[n, ow, c] = the minimum of O[n, ow, c] and, over kw, I[n, ow * SW + kw * DW, c]

    Shapes: I (N, W, C), O (N, OW, C), K (KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I is cast to that of O, as unsigned numbers.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.pooling_nwc_min_unsigned`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.c, D.kw)
    O[D.n, D.ow, D.c] = ReduceFn.min_unsigned[D.kw](TypeFn.cast_unsigned(U, I[D.n, AT_W, D.c]))


@structured_op
def pooling_nwc_weighted(
    I=TensorDef(T1, S.N, WIDTH, S.C),
    K=TensorDef(T2, S.KW),
    O=TensorDef(U, S.N, S.OW, S.C, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Weighted sum of each 1-D window, channels last.

        O[n, ow, c] += sum over kw of I[n, ow * SW + kw * DW, c] * K[kw]

    Weights of 1 / KW give average pooling; zeros leave elements of a window out.

    Shapes: I (N, W, C), O (N, OW, C), K (KW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_sum`, with weights.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.ow, D.c, D.kw)
    O[D.n, D.ow, D.c] += product(I[D.n, AT_W, D.c], K[D.kw])


@structured_op
def pooling_ncw_sum(
    I=TensorDef(T1, S.N, S.C, WIDTH),
    K=TensorDef(T2, S.KW, index_dims=[D.kw]),
    O=TensorDef(U, S.N, S.C, S.OW, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Sum of each 1-D window, channels first.

        O[n, c, ow] += sum over kw of I[n, c, ow * SW + kw * DW]

    Shapes: I (N, C, W), O (N, C, OW), K (KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I is cast to that of O, as signed numbers.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.pooling_ncw_sum`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.ow, D.kw)
    O[D.n, D.c, D.ow] += TypeFn.cast_signed(U, I[D.n, D.c, AT_W])


@structured_op
def pooling_ncw_max(
    I=TensorDef(T1, S.N, S.C, WIDTH),
    K=TensorDef(T2, S.KW, index_dims=[D.kw]),
    O=TensorDef(U, S.N, S.C, S.OW, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Largest element of each 1-D window, channels first.

        O[n, c, ow] = the maximum of O[n, c, ow] and, over kw, I[n, c, ow * SW + kw * DW]

    Shapes: I (N, C, W), O (N, C, OW), K (KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: upstream's `linalg.pooling_ncw_max`.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.ow, D.kw)
    O[D.n, D.c, D.ow] = ReduceFn.max_signed[D.kw](TypeFn.cast_signed(U, I[D.n, D.c, AT_W]))


@structured_op
def pooling_ncw_min(
    I=TensorDef(T1, S.N, S.C, WIDTH),
    K=TensorDef(T2, S.KW, index_dims=[D.kw]),
    O=TensorDef(U, S.N, S.C, S.OW, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Smallest element of each 1-D window, channels first.

        O[n, c, ow] = the minimum of O[n, c, ow] and, over kw, I[n, c, ow * SW + kw * DW]

    Shapes: I (N, C, W), O (N, C, OW), K (KW), of which only the shape is used.
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I is cast to that of O, as signed numbers; a NaN in a window makes its result NaN.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_min`, in another layout or rank.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.ow, D.kw)
    O[D.n, D.c, D.ow] = ReduceFn.min_signed[D.kw](TypeFn.cast_signed(U, I[D.n, D.c, AT_W]))


@structured_op
def pooling_ncw_weighted(
    I=TensorDef(T1, S.N, S.C, WIDTH),
    K=TensorDef(T2, S.KW),
    O=TensorDef(U, S.N, S.C, S.OW, output=True),
    strides=STRIDES_1D,
    dilations=DILATIONS_1D,
):
    """Weighted sum of each 1-D window, channels first.

        O[n, c, ow] += sum over kw of I[n, c, ow * SW + kw * DW] * K[kw]

    Weights of 1 / KW give average pooling; zeros leave elements of a window out.

    Shapes: I (N, C, W), O (N, C, OW), K (KW).
    Without padding: W >= (OW - 1) * SW + (KW - 1) * DW + 1.
    Dtypes: I and K are cast to that of O, as signed numbers before the product.
    Attributes: strides = [SW], dilations = [DW], 1 unless given.
    Source: this library; as upstream's `linalg.pooling_nhwc_sum`, with weights.
    """
    implements(ConvolutionOpInterface)
    domain(D.n, D.c, D.ow, D.kw)
    O[D.n, D.c, D.ow] += product(I[D.n, D.c, AT_W], K[D.kw])
