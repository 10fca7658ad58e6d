"""Pieces of softmax and of layer, RMS and batch normalization, on the rows of a matrix.

Each reduction and each element-wise step is an op, so that a compiler may fuse them:

    softmax     row_max -> softmax_exponentials -> row_sum -> softmax_normalize
    layer norm  row_mean -> row_variance -> layer_normalize
    RMS norm    row_mean_of_squares -> rms_normalize
    batch norm  channel_mean_nchw -> channel_variance_nchw -> batch_normalize_nchw

(row_max, row_sum and row_mean are in reduction.py.) `row_softmax`, `layer_norm` and `rms_norm` are
one op each, of several statements: they give the numbers of each row, too, which a gradient needs.
"""

from linalg_ext.opdsl import (
    T1,
    D,
    ReduceFn,
    S,
    ScalarDef,
    StructuredOp,
    TensorDef,
    U,
    UnaryFn,
    domain,
    structured_op,
)

from ._layouts import dims, listed, order_of, sizes
from ._values import cast, declared, mean_weight

__all__ = [
    "batch_normalize_nchw",
    "batch_normalize_nhwc",
    "bias_add",
    "channel_mean_nchw",
    "channel_mean_nhwc",
    "channel_variance_nchw",
    "channel_variance_nhwc",
    "layer_norm",
    "layer_normalize",
    "log_softmax_normalize",
    "rms_norm",
    "rms_normalize",
    "row_mean_of_squares",
    "row_softmax",
    "row_sum_of_exponentials",
    "row_sum_of_squared_deviations",
    "row_variance",
    "softmax_exponentials",
    "softmax_normalize",
]


@structured_op
def bias_add(
    X=TensorDef(T1, S.M, S.N),
    bias=TensorDef(T1, S.N),
    O=TensorDef(T1, S.M, S.N, output=True),
):
    """A vector added to each row of a matrix.

        O[m, n] = X[m, n] + bias[n]

    Shapes: X (M, N), bias (N), O (M, N).
    Dtypes: any numbers; all alike.
    Source: this library; TensorFlow's `tf.nn.bias_add`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = X[D.m, D.n] + bias[D.n]


@structured_op
def softmax_exponentials(
    X=TensorDef(T1, S.M, S.N),
    maximum=TensorDef(T1, S.M),
    O=TensorDef(T1, S.M, S.N, output=True),
):
    """Exponentials of each row, less its largest element.

        O[m, n] = exp(X[m, n] - maximum[m])

    Shapes: X (M, N), maximum (M), O (M, N).
    Dtypes: any float; all alike. A row of -inf alone gives NaN.
    Source: this library; the first step of a softmax that cannot overflow.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = UnaryFn.exp(X[D.m, D.n] - maximum[D.m])


@structured_op
def row_sum_of_exponentials(
    X=TensorDef(T1, S.M, S.N),
    maximum=TensorDef(T1, S.M),
    O=TensorDef(U, S.M, output=True),
):
    """Sum of the exponentials of each row, less its largest element, added to O.

        O[m] += sum over n of exp(X[m, n] - maximum[m])

    Shapes: X (M, N), maximum (M), O (M).
    Dtypes: any floats; the exponential is in that of X, the sum in that of O.
    Source: this library; the sum of a softmax, whose logarithm serves `log_softmax_normalize`.
    """
    domain(D.m, D.n)
    O[D.m] += cast(UnaryFn.exp(X[D.m, D.n] - maximum[D.m]))


@structured_op
def softmax_normalize(
    E=TensorDef(T1, S.M, S.N),
    total=TensorDef(T1, S.M),
    O=TensorDef(T1, S.M, S.N, output=True),
):
    """Each row divided by a number, as the last step of a softmax.

        O[m, n] = E[m, n] / total[m]

    Shapes: E (M, N) the exponentials, total (M) their sums, O (M, N).
    Dtypes: any float; all alike.
    Source: this library; SciPy's `scipy.special.softmax`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = E[D.m, D.n] / total[D.m]


@structured_op
def log_softmax_normalize(
    X=TensorDef(T1, S.M, S.N),
    maximum=TensorDef(T1, S.M),
    total=TensorDef(T1, S.M),
    O=TensorDef(T1, S.M, S.N, output=True),
):
    """Logarithm of the softmax of each row, from its largest element and its sum.

        O[m, n] = X[m, n] - maximum[m] - log(total[m])

    Shapes: X (M, N), maximum (M), total (M) as `row_sum_of_exponentials` gives it, O (M, N).
    Dtypes: any float; all alike.
    Source: this library; SciPy's `scipy.special.log_softmax`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = X[D.m, D.n] - maximum[D.m] - UnaryFn.log(total[D.m])


@structured_op
def row_sum_of_squared_deviations(
    X=TensorDef(T1, S.M, S.N),
    mean=TensorDef(U, S.M),
    O=TensorDef(U, S.M, output=True),
):
    """Sum of the squared distances of each row's elements to its mean, added to O.

        O[m] += sum over n of (X[m, n] - mean[m]) ** 2

    Shapes: X (M, N), mean (M), O (M); divided by N, O is the variance.
    Dtypes: any numbers; X is cast to that of mean and O, as signed, before the difference.
    Source: this library; NumPy's `numpy.var`, axis 1, times N.
    """
    domain(D.m, D.n)
    deviation = cast(X[D.m, D.n]) - mean[D.m]
    O[D.m] += deviation * deviation


@structured_op
def layer_normalize(
    X=TensorDef(T1, S.M, S.N),
    mean=TensorDef(T1, S.M),
    variance=TensorDef(T1, S.M),
    weight=TensorDef(T1, S.N),
    bias=TensorDef(T1, S.N),
    epsilon=ScalarDef(T1),
    O=TensorDef(T1, S.M, S.N, output=True),
):
    """Layer normalization of each row, from its mean and its variance.

        O[m, n] = (X[m, n] - mean[m]) / sqrt(variance[m] + epsilon) * weight[n] + bias[n]

    Shapes: X and O (M, N), mean and variance (M), weight and bias (N), epsilon a scalar.
    Dtypes: any float; all alike.
    Source: this library; Ba et al., arXiv 1607.06450.
    """
    domain(D.m, D.n)
    scale = UnaryFn.rsqrt(variance[D.m] + epsilon)
    O[D.m, D.n] = (X[D.m, D.n] - mean[D.m]) * scale * weight[D.n] + bias[D.n]


@structured_op
def rms_normalize(
    X=TensorDef(T1, S.M, S.N),
    mean_square=TensorDef(T1, S.M),
    weight=TensorDef(T1, S.N),
    epsilon=ScalarDef(T1),
    O=TensorDef(T1, S.M, S.N, output=True),
):
    """Root-mean-square normalization of each row, from the mean of its squares.

        O[m, n] = X[m, n] / sqrt(mean_square[m] + epsilon) * weight[n]

    Shapes: X and O (M, N), mean_square (M), weight (N), epsilon a scalar.
    Dtypes: any float; all alike.
    Source: this library; Zhang and Sennrich, NeurIPS 2019.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = X[D.m, D.n] * UnaryFn.rsqrt(mean_square[D.m] + epsilon) * weight[D.n]


def _batch_normalize(layout: str) -> StructuredOp:
    at = dims(layout)

    def op(
        X=TensorDef(T1, *sizes(layout)),
        mean=TensorDef(T1, S.C),
        variance=TensorDef(T1, S.C),
        weight=TensorDef(T1, S.C),
        bias=TensorDef(T1, S.C),
        epsilon=ScalarDef(T1),
        O=TensorDef(T1, *sizes(layout), output=True),
    ):
        domain(*at)
        scale = UnaryFn.rsqrt(variance[D.c] + epsilon)
        O[at] = (X[at] - mean[D.c]) * scale * weight[D.c] + bias[D.c]

    words = f"""\
Batch normalization of images, {order_of(layout)}, from known means and variances.

    O[{listed(at)}] = (X[{listed(at)}] - mean[c]) / sqrt(variance[c] + epsilon) * weight[c]
        + bias[c]

Shapes: X and O ({listed(sizes(layout))}), epsilon a scalar, the rest (C).
Dtypes: any float; all alike.
Source: this library; Ioffe and Szegedy, ICML 2015, as at inference."""
    return declared(op, __name__, f"batch_normalize_{layout}", words)


def _channel_mean(layout: str) -> StructuredOp:
    def op(X=TensorDef(T1, *sizes(layout)), O=TensorDef(U, S.C, output=True)):
        domain(D.c, D.n, D.h, D.w)
        O[D.c] += cast(X[dims(layout)]) * mean_weight(S.N, S.H, S.W)

    words = f"""\
Mean of each channel over all images, {order_of(layout)}, added to O.

    O[c] += mean over n, h, w of X[{listed(layout)}]

Shapes: X ({listed(sizes(layout))}), O (C).
Dtypes: X any numbers, cast to those of O, as signed; O any float.
Source: this library; Ioffe and Szegedy, ICML 2015, as in training."""
    return declared(op, __name__, f"channel_mean_{layout}", words)


def _channel_variance(layout: str) -> StructuredOp:
    def op(
        X=TensorDef(T1, *sizes(layout)),
        mean=TensorDef(U, S.C),
        O=TensorDef(U, S.C, output=True),
    ):
        domain(D.c, D.n, D.h, D.w)
        deviation = cast(X[dims(layout)]) - mean[D.c]
        O[D.c] += deviation * deviation * mean_weight(S.N, S.H, S.W)

    words = f"""\
Variance of each channel around its mean over all images, {order_of(layout)}, added to O.

    O[c] += mean over n, h, w of (X[{listed(layout)}] - mean[c]) ** 2

Shapes: X ({listed(sizes(layout))}), mean (C) as `channel_mean_{layout}` gives it, O (C).
Dtypes: X any numbers, cast to those of mean and O, as signed; these any float.
Source: this library; Ioffe and Szegedy, ICML 2015, as in training."""
    return declared(op, __name__, f"channel_variance_{layout}", words)


batch_normalize_nchw, batch_normalize_nhwc = map(_batch_normalize, ("nchw", "nhwc"))
channel_mean_nchw, channel_mean_nhwc = map(_channel_mean, ("nchw", "nhwc"))
channel_variance_nchw, channel_variance_nhwc = map(_channel_variance, ("nchw", "nhwc"))


@structured_op
def row_mean_of_squares(X=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, output=True)):
    """Mean of the squares of each row, added to O.

        O[m] += mean over n of X[m, n] ** 2

    Shapes: X (M, N), O (M).
    Dtypes: X any numbers, cast to those of O, as signed; O any float.
    Source: this library; the mean of RMS normalization.
    """
    domain(D.m, D.n)
    O[D.m] += cast(X[D.m, D.n]) * cast(X[D.m, D.n]) * mean_weight(S.N)


@structured_op
def row_variance(
    X=TensorDef(T1, S.M, S.N), mean=TensorDef(U, S.M), O=TensorDef(U, S.M, output=True)
):
    """Variance of each row around its mean, added to O.

        O[m] += mean over n of (X[m, n] - mean[m]) ** 2

    Shapes: X (M, N), mean (M) as `row_mean` gives it, O (M).
    Dtypes: X any numbers, cast to those of mean and O, as signed; these any float.
    Source: this library; NumPy's `numpy.var`, axis 1.
    """
    domain(D.m, D.n)
    deviation = cast(X[D.m, D.n]) - mean[D.m]
    O[D.m] += deviation * deviation * mean_weight(S.N)


@structured_op
def row_softmax(
    X=TensorDef(T1, S.M, S.N),
    O=TensorDef(T1, S.M, S.N, output=True),
    maximum=TensorDef(T1, S.M, output=True),
    total=TensorDef(T1, S.M, output=True),
):
    """Softmax of each row, with the largest element and the sum that it is made of.

        O[m, n] = exp(X[m, n] - maximum[m]) / total[m]
        maximum[m] = the maximum of maximum[m] and, over n, X[m, n]
        total[m] += sum over n of exp(X[m, n] - maximum[m])

    Shapes: X and O (M, N), maximum and total (M).
    Dtypes: any float; all alike. A row of -inf alone gives NaN.
    Source: this library; SciPy's `scipy.special.softmax`, axis 1.
    """
    domain(D.m, D.n)
    maximum[D.m] = ReduceFn.max[D.n](X[D.m, D.n])
    total[D.m] += UnaryFn.exp(X[D.m, D.n] - maximum[D.m])
    O[D.m, D.n] = UnaryFn.exp(X[D.m, D.n] - maximum[D.m]) / total[D.m]


@structured_op
def layer_norm(
    X=TensorDef(T1, S.M, S.N),
    weight=TensorDef(T1, S.N),
    bias=TensorDef(T1, S.N),
    epsilon=ScalarDef(T1),
    O=TensorDef(T1, S.M, S.N, output=True),
    mean=TensorDef(T1, S.M, output=True),
    variance=TensorDef(T1, S.M, output=True),
):
    """Layer normalization of each row, with its mean and its variance.

        O[m, n] = (X[m, n] - mean[m]) / sqrt(variance[m] + epsilon) * weight[n] + bias[n]
        mean[m] += mean over n of X[m, n]
        variance[m] += mean over n of (X[m, n] - mean[m]) ** 2

    Shapes: X and O (M, N), weight and bias (N), epsilon a scalar, mean and variance (M).
    Dtypes: any float; all alike.
    Source: this library; Ba et al., arXiv 1607.06450; PyTorch's `torch.native_layer_norm`.
    """
    domain(D.m, D.n)
    mean[D.m] += X[D.m, D.n] * mean_weight(S.N, type_var=T1)
    deviation = X[D.m, D.n] - mean[D.m]
    variance[D.m] += deviation * deviation * mean_weight(S.N, type_var=T1)
    scale = UnaryFn.rsqrt(variance[D.m] + epsilon)
    O[D.m, D.n] = deviation * scale * weight[D.n] + bias[D.n]


@structured_op
def rms_norm(
    X=TensorDef(T1, S.M, S.N),
    weight=TensorDef(T1, S.N),
    epsilon=ScalarDef(T1),
    O=TensorDef(T1, S.M, S.N, output=True),
    mean_square=TensorDef(T1, S.M, output=True),
):
    """Root-mean-square normalization of each row, with the mean of its squares.

        O[m, n] = X[m, n] / sqrt(mean_square[m] + epsilon) * weight[n]
        mean_square[m] += mean over n of X[m, n] ** 2

    Shapes: X and O (M, N), weight (N), epsilon a scalar, mean_square (M).
    Dtypes: any float; all alike.
    Source: this library; Zhang and Sennrich, NeurIPS 2019.
    """
    domain(D.m, D.n)
    mean_square[D.m] += X[D.m, D.n] * X[D.m, D.n] * mean_weight(S.N, type_var=T1)
    scale = UnaryFn.rsqrt(mean_square[D.m] + epsilon)
    O[D.m, D.n] = X[D.m, D.n] * scale * weight[D.n]
