# Written by `make stubs`; do not edit.

from typing import Any

from linalg_ext.opdsl import StructuredOp

class _abs(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Absolute value of each element."""

abs: _abs

class _abs2(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Squared absolute value of each element."""

abs2: _abs2

class _absolute_error(StructuredOp):
    def __call__(self, I: Any, target: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Distance of each element to its target."""

absolute_error: _absolute_error

class _acos(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Inverse cosine of each element, in radians."""

acos: _acos

class _acosh(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Inverse hyperbolic cosine of each element."""

acosh: _acosh

class _add(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sum of two tensors, element by element."""

add: _add

class _arange(StructuredOp):
    def __call__(self, start: Any, step: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Numbers at equal distances."""

arange: _arange

class _asin(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Inverse sine of each element, in radians."""

asin: _asin

class _asinh(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Inverse hyperbolic sine of each element."""

asinh: _asinh

class _atan(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Inverse tangent of each element, in radians."""

atan: _atan

class _atan2(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Angle of the point (rhs, lhs) from the first axis, in radians."""

atan2: _atan2

class _atanh(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Inverse hyperbolic tangent of each element."""

atanh: _atanh

class _attention_scores(StructuredOp):
    def __call__(self, query: Any, key: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Scores of queries against keys, head by head, added to O."""

attention_scores: _attention_scores

class _attention_values(StructuredOp):
    def __call__(self, weights: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Weighted sums of values, head by head, added to O."""

attention_values: _attention_values

class _axpy(StructuredOp):
    def __call__(self, alpha: Any, X: Any, Y: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A tensor scaled by a number, plus another tensor."""

axpy: _axpy

class _band(StructuredOp):
    def __call__(self, A: Any, below: Any, above: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The elements of a matrix near its main diagonal, and zeros elsewhere."""

band: _band

class _batch_matmul(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Matrix product of each pair in a batch, added to C."""

batch_matmul: _batch_matmul

class _batch_matmul_transpose_a(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of a transposed matrix and a matrix, for each pair in a batch, added to C."""

batch_matmul_transpose_a: _batch_matmul_transpose_a

class _batch_matmul_transpose_b(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of a matrix and a transposed matrix, for each pair in a batch, added to C."""

batch_matmul_transpose_b: _batch_matmul_transpose_b

class _batch_matvec(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of a matrix and a vector, for each pair in a batch, added to C."""

batch_matvec: _batch_matvec

class _batch_mmt4d(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of a packed matrix and the transpose of another, for each pair in a batch."""

batch_mmt4d: _batch_mmt4d

class _batch_normalize_nchw(StructuredOp):
    def __call__(self, X: Any, mean: Any, variance: Any, weight: Any, bias: Any, epsilon: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Batch normalization of images, channels first, from known means and variances."""

batch_normalize_nchw: _batch_normalize_nchw

class _batch_normalize_nhwc(StructuredOp):
    def __call__(self, X: Any, mean: Any, variance: Any, weight: Any, bias: Any, epsilon: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Batch normalization of images, channels last, from known means and variances."""

batch_normalize_nhwc: _batch_normalize_nhwc

class _batch_outer(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Outer product of each pair of vectors in a batch."""

batch_outer: _batch_outer

class _batch_reduce_matmul(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sum over a batch of the matrix products of its pairs, added to C."""

batch_reduce_matmul: _batch_reduce_matmul

class _batch_transpose(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each matrix of a batch with its rows for columns."""

batch_transpose: _batch_transpose

class _batch_vecmat(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of a vector and a matrix, for each pair in a batch, added to C."""

batch_vecmat: _batch_vecmat

class _bias_add(StructuredOp):
    def __call__(self, X: Any, bias: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A vector added to each row of a matrix."""

bias_add: _bias_add

class _bilinear(StructuredOp):
    def __call__(self, X: Any, W: Any, Y: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Bilinear forms of pairs of vectors, added to O."""

bilinear: _bilinear

class _binary_cross_entropy(StructuredOp):
    def __call__(self, I: Any, target: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Cross entropy of each probability and its target."""

binary_cross_entropy: _binary_cross_entropy

class _binary_cross_entropy_of_logits(StructuredOp):
    def __call__(self, I: Any, target: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Cross entropy of each logit's probability and its target, without an overflow."""

binary_cross_entropy_of_logits: _binary_cross_entropy_of_logits

class _bitwise_and(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The `and` of each bit of two elements, at each place."""

bitwise_and: _bitwise_and

class _bitwise_not(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each bit of each element turned over."""

bitwise_not: _bitwise_not

class _bitwise_or(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The `or` of each bit of two elements, at each place."""

bitwise_or: _bitwise_or

class _bitwise_xor(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The `exclusive or` of each bit of two elements, at each place."""

bitwise_xor: _bitwise_xor

class _broadcast_columns(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A vector as each column of a matrix."""

broadcast_columns: _broadcast_columns

class _broadcast_rows(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A vector as each row of a matrix."""

broadcast_rows: _broadcast_rows

class _causal_mask_scores(StructuredOp):
    def __call__(self, scores: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Scores of the keys that a query may see, none from its future."""

causal_mask_scores: _causal_mask_scores

class _cbrt(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Cube root of each element."""

cbrt: _cbrt

class _ceil(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The smallest whole number at or above each element."""

ceil: _ceil

class _celu(StructuredOp):
    def __call__(self, I: Any, alpha: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element where it is positive, else an exponential that is smooth at zero."""

celu: _celu

class _channel_mean_nchw(StructuredOp):
    def __call__(self, X: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of each channel over all images, channels first, added to O."""

channel_mean_nchw: _channel_mean_nchw

class _channel_mean_nhwc(StructuredOp):
    def __call__(self, X: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of each channel over all images, channels last, added to O."""

channel_mean_nhwc: _channel_mean_nhwc

class _channel_variance_nchw(StructuredOp):
    def __call__(self, X: Any, mean: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Variance of each channel around its mean over all images, channels first, added to O."""

channel_variance_nchw: _channel_variance_nchw

class _channel_variance_nhwc(StructuredOp):
    def __call__(self, X: Any, mean: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Variance of each channel around its mean over all images, channels last, added to O."""

channel_variance_nhwc: _channel_variance_nhwc

class _clamp(StructuredOp):
    def __call__(self, I: Any, low: Any, high: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element, limited to an interval of its own; `clip` has one for all."""

clamp: _clamp

class _clip(StructuredOp):
    def __call__(self, I: Any, low: Any, high: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element, limited to an interval, integers as signed."""

clip: _clip

class _column_all(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logical and of each column: every element is other than zero."""

column_all: _column_all

class _column_any(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logical or of each column: any element is other than zero."""

column_any: _column_any

class _column_argmax(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The largest element of each column, and the first place where it stands."""

column_argmax: _column_argmax

class _column_argmin(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The smallest element of each column, and the first place where it stands."""

column_argmin: _column_argmin

class _column_count_nonzero(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Number of the elements of each column that are not zero, added to O."""

column_count_nonzero: _column_count_nonzero

class _column_max(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Largest element of each column, integers as signed."""

column_max: _column_max

class _column_mean(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of each column, added to O."""

column_mean: _column_mean

class _column_min(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Smallest element of each column, integers as signed."""

column_min: _column_min

class _column_min_max(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The smallest and the largest element of each column, in one pass."""

column_min_max: _column_min_max

class _column_product(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of each column, times O."""

column_product: _column_product

class _column_sum(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sum of each column, added to O."""

column_sum: _column_sum

class _concatenate(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Two vectors, one after the other."""

concatenate: _concatenate

class _concatenate_columns(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Two matrices, one beside the other."""

concatenate_columns: _concatenate_columns

class _concatenate_rows(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Two matrices, one below the other."""

concatenate_rows: _concatenate_rows

class _conjugate(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Complex conjugate of each element."""

conjugate: _conjugate

class _conjugate_transpose(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A matrix with its rows for columns, each element conjugated."""

conjugate_transpose: _conjugate_transpose

class _conv_1d(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """1-D convolution of one image by one kernel: no batch, no channels, unit strides."""

conv_1d: _conv_1d

class _conv_1d_ncw_fcw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """1-D convolution over channels, channels first."""

conv_1d_ncw_fcw: _conv_1d_ncw_fcw

class _conv_1d_ncw_fcw_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Quantized 1-D convolution, channels first."""

conv_1d_ncw_fcw_q: _conv_1d_ncw_fcw_q

class _conv_1d_ngcw_gfcw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Grouped 1-D convolution, channels first."""

conv_1d_ngcw_gfcw: _conv_1d_ngcw_gfcw

class _conv_1d_nwc_wcf(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """1-D convolution over channels, channels last."""

conv_1d_nwc_wcf: _conv_1d_nwc_wcf

class _conv_1d_nwc_wcf_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Quantized 1-D convolution, channels last."""

conv_1d_nwc_wcf_q: _conv_1d_nwc_wcf_q

class _conv_1d_nwgc_gfwc(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Grouped 1-D convolution, channels last."""

conv_1d_nwgc_gfwc: _conv_1d_nwgc_gfwc

class _conv_2d(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """2-D convolution of one image by one kernel: no batch, no channels, unit strides."""

conv_2d: _conv_2d

class _conv_2d_nchw_fchw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """2-D convolution over channels, channels first."""

conv_2d_nchw_fchw: _conv_2d_nchw_fchw

class _conv_2d_nchw_fchw_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Quantized 2-D convolution, channels first."""

conv_2d_nchw_fchw_q: _conv_2d_nchw_fchw_q

class _conv_2d_ngchw_fgchw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Grouped 2-D convolution, channels first, output channels of the kernel before its groups."""

conv_2d_ngchw_fgchw: _conv_2d_ngchw_fgchw

class _conv_2d_ngchw_gfchw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Grouped 2-D convolution, channels first."""

conv_2d_ngchw_gfchw: _conv_2d_ngchw_gfchw

class _conv_2d_ngchw_gfchw_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Quantized grouped 2-D convolution, channels first."""

conv_2d_ngchw_gfchw_q: _conv_2d_ngchw_gfchw_q

class _conv_2d_nhwc_fhwc(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """2-D convolution over channels, channels last, output channels of the kernel first."""

conv_2d_nhwc_fhwc: _conv_2d_nhwc_fhwc

class _conv_2d_nhwc_fhwc_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Quantized 2-D convolution, channels last, output channels of the kernel first."""

conv_2d_nhwc_fhwc_q: _conv_2d_nhwc_fhwc_q

class _conv_2d_nhwc_hwcf(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """2-D convolution over channels, channels last."""

conv_2d_nhwc_hwcf: _conv_2d_nhwc_hwcf

class _conv_2d_nhwc_hwcf_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Quantized 2-D convolution, channels last."""

conv_2d_nhwc_hwcf_q: _conv_2d_nhwc_hwcf_q

class _conv_2d_nhwgc_gfhwc(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Grouped 2-D convolution, channels last."""

conv_2d_nhwgc_gfhwc: _conv_2d_nhwgc_gfhwc

class _conv_2d_nhwgc_gfhwc_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Quantized grouped 2-D convolution, channels last."""

conv_2d_nhwgc_gfhwc_q: _conv_2d_nhwgc_gfhwc_q

class _conv_3d(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """3-D convolution of one image by one kernel: no batch, no channels, unit strides."""

conv_3d: _conv_3d

class _conv_3d_ncdhw_fcdhw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """3-D convolution over channels, channels first."""

conv_3d_ncdhw_fcdhw: _conv_3d_ncdhw_fcdhw

class _conv_3d_ncdhw_fcdhw_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Quantized 3-D convolution, channels first."""

conv_3d_ncdhw_fcdhw_q: _conv_3d_ncdhw_fcdhw_q

class _conv_3d_ndhwc_dhwcf(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """3-D convolution over channels, channels last."""

conv_3d_ndhwc_dhwcf: _conv_3d_ndhwc_dhwcf

class _conv_3d_ndhwc_dhwcf_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Quantized 3-D convolution, channels last."""

conv_3d_ndhwc_dhwcf_q: _conv_3d_ndhwc_dhwcf_q

class _conv_3d_ndhwgc_gfdhwc(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Grouped 3-D convolution, channels last."""

conv_3d_ndhwgc_gfdhwc: _conv_3d_ndhwgc_gfdhwc

class _conv_3d_ngcdhw_gfcdhw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Grouped 3-D convolution, channels first."""

conv_3d_ngcdhw_gfcdhw: _conv_3d_ngcdhw_gfcdhw

class _copy(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, cast: Any = 'cast_signed', **keywords: Any) -> Any:
        """Copy of a tensor, cast to the element type of the result."""

copy: _copy

class _copysign(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Magnitude of one element with the sign of another, at each place."""

copysign: _copysign

class _cos(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Cosine of each element, an angle in radians."""

cos: _cos

class _cosh(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Hyperbolic cosine of each element."""

cosh: _cosh

class _cosine_similarity_from_products(StructuredOp):
    def __call__(self, G: Any, a: Any, b: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Cosines of the angles between rows, from inner products and squared norms."""

cosine_similarity_from_products: _cosine_similarity_from_products

class _depth_to_space_nchw(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, block: Any = (2,), **keywords: Any) -> Any:
        """Channels laid out as blocks of R * R pixels, channels first: pixel shuffle."""

depth_to_space_nchw: _depth_to_space_nchw

class _depth_to_space_nhwc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, block: Any = (2,), **keywords: Any) -> Any:
        """Channels laid out as blocks of R * R pixels, channels last: pixel shuffle."""

depth_to_space_nhwc: _depth_to_space_nhwc

class _depthwise_conv_1d_ncw_cmw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Depthwise 1-D convolution, channels first, with a channel multiplier."""

depthwise_conv_1d_ncw_cmw: _depthwise_conv_1d_ncw_cmw

class _depthwise_conv_1d_ncw_cw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Depthwise 1-D convolution, channels first."""

depthwise_conv_1d_ncw_cw: _depthwise_conv_1d_ncw_cw

class _depthwise_conv_1d_nwc_wc(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Depthwise 1-D convolution, channels last."""

depthwise_conv_1d_nwc_wc: _depthwise_conv_1d_nwc_wc

class _depthwise_conv_1d_nwc_wcm(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Depthwise 1-D convolution, channels last, with a channel multiplier."""

depthwise_conv_1d_nwc_wcm: _depthwise_conv_1d_nwc_wcm

class _depthwise_conv_2d_nchw_chw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Depthwise 2-D convolution, channels first."""

depthwise_conv_2d_nchw_chw: _depthwise_conv_2d_nchw_chw

class _depthwise_conv_2d_nchw_cmhw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Depthwise 2-D convolution, channels first, with a channel multiplier."""

depthwise_conv_2d_nchw_cmhw: _depthwise_conv_2d_nchw_cmhw

class _depthwise_conv_2d_nhwc_hwc(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Depthwise 2-D convolution, channels last."""

depthwise_conv_2d_nhwc_hwc: _depthwise_conv_2d_nhwc_hwc

class _depthwise_conv_2d_nhwc_hwc_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Quantized depthwise 2-D convolution, channels last."""

depthwise_conv_2d_nhwc_hwc_q: _depthwise_conv_2d_nhwc_hwc_q

class _depthwise_conv_2d_nhwc_hwcm(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Depthwise 2-D convolution, channels last, with a channel multiplier."""

depthwise_conv_2d_nhwc_hwcm: _depthwise_conv_2d_nhwc_hwcm

class _depthwise_conv_2d_nhwc_hwcm_q(StructuredOp):
    def __call__(self, I: Any, K: Any, IZp: Any, KZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Quantized depthwise 2-D convolution, channels last, with a channel multiplier."""

depthwise_conv_2d_nhwc_hwcm_q: _depthwise_conv_2d_nhwc_hwcm_q

class _depthwise_conv_3d_ncdhw_cdhw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Depthwise 3-D convolution, channels first."""

depthwise_conv_3d_ncdhw_cdhw: _depthwise_conv_3d_ncdhw_cdhw

class _depthwise_conv_3d_ncdhw_cmdhw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Depthwise 3-D convolution, channels first, with a channel multiplier."""

depthwise_conv_3d_ncdhw_cmdhw: _depthwise_conv_3d_ncdhw_cmdhw

class _depthwise_conv_3d_ndhwc_dhwc(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Depthwise 3-D convolution, channels last."""

depthwise_conv_3d_ndhwc_dhwc: _depthwise_conv_3d_ndhwc_dhwc

class _depthwise_conv_3d_ndhwc_dhwcm(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Depthwise 3-D convolution, channels last, with a channel multiplier."""

depthwise_conv_3d_ndhwc_dhwcm: _depthwise_conv_3d_ndhwc_dhwcm

class _dequantize(StructuredOp):
    def __call__(self, I: Any, scale: Any, zero_point: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The floats that quantized integers stand for."""

dequantize: _dequantize

class _dequantize_product(StructuredOp):
    def __call__(self, A: Any, row_scale: Any, column_scale: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The floats that a product of quantized matrices stands for."""

dequantize_product: _dequantize_product

class _diagonal(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Diagonal of a square matrix."""

diagonal: _diagonal

class _dilate_nchw(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), **keywords: Any) -> Any:
        """Zeros put between the elements of an image, channels first."""

dilate_nchw: _dilate_nchw

class _dilate_ncw(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), **keywords: Any) -> Any:
        """Zeros put between the elements of a sequence, channels first."""

dilate_ncw: _dilate_ncw

class _dilate_nhwc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), **keywords: Any) -> Any:
        """Zeros put between the elements of an image, channels last."""

dilate_nhwc: _dilate_nhwc

class _dilate_nwc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), **keywords: Any) -> Any:
        """Zeros put between the elements of a sequence, channels last."""

dilate_nwc: _dilate_nwc

class _div(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Quotient of two tensors, element by element, integers as signed."""

div: _div

class _div_unsigned(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Quotient of two tensors of unsigned integers, element by element."""

div_unsigned: _div_unsigned

class _dot(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Inner product of two vectors, added to the scalar C."""

dot: _dot

class _elemwise_binary(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, fun: Any = 'add', cast: Any = 'cast_signed', **keywords: Any) -> Any:
        """A function, chosen by attribute, of two tensors, element by element."""

elemwise_binary: _elemwise_binary

class _elemwise_unary(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, fun: Any = 'exp', cast: Any = 'cast_signed', **keywords: Any) -> Any:
        """A function, chosen by attribute, of each element."""

elemwise_unary: _elemwise_unary

class _elu(StructuredOp):
    def __call__(self, I: Any, alpha: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element where it is positive, else an exponential that tends to -alpha."""

elu: _elu

class _embedding(StructuredOp):
    def __call__(self, A: Any, labels: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The rows of a table that labels name, added to O: an embedding."""

embedding: _embedding

class _equal(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Comparison at each place: two elements are equal."""

equal: _equal

class _erf(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Gauss error function of each element."""

erf: _erf

class _erfc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Complementary error function of each element, exact where `erf` is near one."""

erfc: _erfc

class _exp(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Exponential of each element."""

exp: _exp

class _exp2(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Two to the power of each element."""

exp2: _exp2

class _expm1(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Exponential of each element less one, exact near zero."""

expm1: _expm1

class _eye(StructuredOp):
    def __call__(self, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A matrix with ones on its diagonal and zeros elsewhere."""

eye: _eye

class _fake_quantize(StructuredOp):
    def __call__(self, I: Any, scale: Any, zero_point: Any, low: Any, high: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each float as it comes back from quantized integers, halves rounded to even."""

fake_quantize: _fake_quantize

class _fill(StructuredOp):
    def __call__(self, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A tensor of one number."""

fill: _fill

class _fill_rng_2d(StructuredOp):
    def __call__(self, min: Any, max: Any, seed: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A matrix of pseudo-random numbers between two bounds, the same for equal seeds."""

fill_rng_2d: _fill_rng_2d

class _flip(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A vector from its end to its beginning."""

flip: _flip

class _flip_columns(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each column from its end to its beginning."""

flip_columns: _flip_columns

class _flip_rows(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each row from its end to its beginning."""

flip_rows: _flip_rows

class _floor(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The largest whole number at or below each element."""

floor: _floor

class _fmod(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Remainder of a division, with the sign of the dividend, at each place."""

fmod: _fmod

class _fused_multiply_add(StructuredOp):
    def __call__(self, A: Any, B: Any, C: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of two elements plus a third, rounded once, at each place."""

fused_multiply_add: _fused_multiply_add

class _gated_linear_unit(StructuredOp):
    def __call__(self, I: Any, gate: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element times the logistic function of its gate."""

gated_linear_unit: _gated_linear_unit

class _gelu(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Gaussian error linear unit of each element, by the error function."""

gelu: _gelu

class _gelu_tanh(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Gaussian error linear unit of each element, approximated by a hyperbolic tangent."""

gelu_tanh: _gelu_tanh

class _global_pooling_ncdhw_average(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of each channel of each volume, channels first."""

global_pooling_ncdhw_average: _global_pooling_ncdhw_average

class _global_pooling_ncdhw_max(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Largest element of each channel of each volume, channels first."""

global_pooling_ncdhw_max: _global_pooling_ncdhw_max

class _global_pooling_nchw_average(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of each channel of each image, channels first."""

global_pooling_nchw_average: _global_pooling_nchw_average

class _global_pooling_nchw_max(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Largest element of each channel of each image, channels first."""

global_pooling_nchw_max: _global_pooling_nchw_max

class _global_pooling_ncw_average(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of each channel of each sequence, channels first."""

global_pooling_ncw_average: _global_pooling_ncw_average

class _global_pooling_ncw_max(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Largest element of each channel of each sequence, channels first."""

global_pooling_ncw_max: _global_pooling_ncw_max

class _global_pooling_ndhwc_average(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of each channel of each volume, channels last."""

global_pooling_ndhwc_average: _global_pooling_ndhwc_average

class _global_pooling_ndhwc_max(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Largest element of each channel of each volume, channels last."""

global_pooling_ndhwc_max: _global_pooling_ndhwc_max

class _global_pooling_nhwc_average(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of each channel of each image, channels last."""

global_pooling_nhwc_average: _global_pooling_nhwc_average

class _global_pooling_nhwc_max(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Largest element of each channel of each image, channels last."""

global_pooling_nhwc_max: _global_pooling_nhwc_max

class _global_pooling_nwc_average(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of each channel of each sequence, channels last."""

global_pooling_nwc_average: _global_pooling_nwc_average

class _global_pooling_nwc_max(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Largest element of each channel of each sequence, channels last."""

global_pooling_nwc_max: _global_pooling_nwc_max

class _greater(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Comparison at each place: one element is greater than another."""

greater: _greater

class _greater_equal(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Comparison at each place: one element is at least another."""

greater_equal: _greater_equal

class _grouped_query_attention_scores(StructuredOp):
    def __call__(self, query: Any, key: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Scores of queries against keys, where G query heads share each key head, added to O."""

grouped_query_attention_scores: _grouped_query_attention_scores

class _grouped_query_attention_values(StructuredOp):
    def __call__(self, weights: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Weighted sums of values, where G query heads share each value head, added to O."""

grouped_query_attention_values: _grouped_query_attention_values

class _hamming_distance(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Number of places where two vectors differ, added to the scalar O."""

hamming_distance: _hamming_distance

class _hann_window(StructuredOp):
    def __call__(self, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A raised cosine that begins and ends at zero."""

hann_window: _hann_window

class _hard_shrink(StructuredOp):
    def __call__(self, I: Any, amount: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element whose distance to zero exceeds an amount, zero in the place of the others."""

hard_shrink: _hard_shrink

class _hard_sigmoid(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logistic function of each element, by three straight lines."""

hard_sigmoid: _hard_sigmoid

class _hard_swish(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element times its logistic function by three straight lines."""

hard_swish: _hard_swish

class _hard_tanh(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element, limited to the interval from minus one to one."""

hard_tanh: _hard_tanh

class _heaviside(StructuredOp):
    def __call__(self, I: Any, at_zero: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Step function: zero below zero, one above it, and a given number at zero."""

heaviside: _heaviside

class _hinge_loss(StructuredOp):
    def __call__(self, I: Any, target: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Shortfall of each score to the margin on the side of its label."""

hinge_loss: _hinge_loss

class _histogram(StructuredOp):
    def __call__(self, labels: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Counts of each label, added to O."""

histogram: _histogram

class _huber_loss(StructuredOp):
    def __call__(self, I: Any, target: Any, delta: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Squared error of each element where it is small, linear where it is large."""

huber_loss: _huber_loss

class _hypot(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Length of the hypotenuse of a right triangle, without an overflow on the way."""

hypot: _hypot

class _im2col_nchw(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, kernel: Any = (3, 3), strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """The windows of an image, side by side, channels first: convolution as a product."""

im2col_nchw: _im2col_nchw

class _im2col_ncw(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, kernel: Any = (3,), strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """The windows of a sequence, side by side, channels first: convolution as a product."""

im2col_ncw: _im2col_ncw

class _im2col_nhwc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, kernel: Any = (3, 3), strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """The windows of an image, side by side, channels last: convolution as a product."""

im2col_nhwc: _im2col_nhwc

class _im2col_nwc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, kernel: Any = (3,), strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """The windows of a sequence, side by side, channels last: convolution as a product."""

im2col_nwc: _im2col_nwc

class _indices_2d(StructuredOp):
    def __call__(self, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The place of each element of a matrix: its row and its column."""

indices_2d: _indices_2d

class _isclose(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, relative: Any, absolute: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Equality of two elements within a tolerance, at each place."""

isclose: _isclose

class _isfinite(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Test of each element for a finite number."""

isfinite: _isfinite

class _isinf(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Test of each element for an infinity."""

isinf: _isinf

class _isnan(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Test of each element for NaN."""

isnan: _isnan

class _khatri_rao(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Khatri-Rao product of two matrices: the outer product of each pair of columns."""

khatri_rao: _khatri_rao

class _kron(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Kronecker product of two matrices, its rows and columns each as two axes."""

kron: _kron

class _kron_2d(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Kronecker product of two matrices as a matrix; `kron` keeps its four axes apart."""

kron_2d: _kron_2d

class _kullback_leibler_divergence(StructuredOp):
    def __call__(self, I: Any, target: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Relative entropy of each target to a log-probability."""

kullback_leibler_divergence: _kullback_leibler_divergence

class _layer_norm(StructuredOp):
    def __call__(self, X: Any, weight: Any, bias: Any, epsilon: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Layer normalization of each row, with its mean and its variance."""

layer_norm: _layer_norm

class _layer_normalize(StructuredOp):
    def __call__(self, X: Any, mean: Any, variance: Any, weight: Any, bias: Any, epsilon: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Layer normalization of each row, from its mean and its variance."""

layer_normalize: _layer_normalize

class _leaky_relu(StructuredOp):
    def __call__(self, I: Any, slope: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element where it is positive, else scaled by a slope."""

leaky_relu: _leaky_relu

class _length_mask_scores(StructuredOp):
    def __call__(self, scores: Any, lengths: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Scores of the keys within the length of each sequence of a batch."""

length_mask_scores: _length_mask_scores

class _lerp(StructuredOp):
    def __call__(self, A: Any, B: Any, weight: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Linear interpolation between two tensors."""

lerp: _lerp

class _less(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Comparison at each place: one element is less than another."""

less: _less

class _less_equal(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Comparison at each place: one element is at most another."""

less_equal: _less_equal

class _linear_bias_scores(StructuredOp):
    def __call__(self, scores: Any, slopes: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Scores less their distance from the query to the key, by a slope for each head: ALiBi."""

linear_bias_scores: _linear_bias_scores

class _linspace(StructuredOp):
    def __call__(self, start: Any, stop: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Numbers at equal distances, from one to another."""

linspace: _linspace

class _log(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Natural logarithm of each element."""

log: _log

class _log10(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logarithm of each element to base ten."""

log10: _log10

class _log1p(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Natural logarithm of one plus each element, exact near zero."""

log1p: _log1p

class _log2(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logarithm of each element to base two."""

log2: _log2

class _log_cosh_loss(StructuredOp):
    def __call__(self, I: Any, target: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logarithm of the hyperbolic cosine of each error, without an overflow."""

log_cosh_loss: _log_cosh_loss

class _log_sigmoid(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logarithm of the logistic function of each element."""

log_sigmoid: _log_sigmoid

class _log_softmax_normalize(StructuredOp):
    def __call__(self, X: Any, maximum: Any, total: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logarithm of the softmax of each row, from its largest element and its sum."""

log_softmax_normalize: _log_softmax_normalize

class _logaddexp(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logarithm of the sum of the exponentials of two elements, without an overflow."""

logaddexp: _logaddexp

class _logical_and(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logical and of two elements at each place: both are other than zero."""

logical_and: _logical_and

class _logical_not(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logical not of each element: it is zero."""

logical_not: _logical_not

class _logical_or(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logical or of two elements at each place: one or both are other than zero."""

logical_or: _logical_or

class _logical_xor(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logical exclusive or at each place: one element, and not both, is other than zero."""

logical_xor: _logical_xor

class _logspace(StructuredOp):
    def __call__(self, start: Any, stop: Any, base: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Numbers at equal ratios, from one power of a base to another."""

logspace: _logspace

class _mask_scores(StructuredOp):
    def __call__(self, scores: Any, mask: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Scores where a mask is true, a number elsewhere."""

mask_scores: _mask_scores

class _matmul(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, cast: Any = 'cast_signed', **keywords: Any) -> Any:
        """Matrix product, added to C."""

matmul: _matmul

class _matmul_conjugate_transpose_a(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of the conjugate transpose of a matrix and another, added to O."""

matmul_conjugate_transpose_a: _matmul_conjugate_transpose_a

class _matmul_conjugate_transpose_b(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of a matrix and the conjugate transpose of another, added to O."""

matmul_conjugate_transpose_b: _matmul_conjugate_transpose_b

class _matmul_max_plus(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Matrix product over maximum and sum, as for longest paths and best alignments."""

matmul_max_plus: _matmul_max_plus

class _matmul_min_plus(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Matrix product over minimum and sum, as for shortest paths."""

matmul_min_plus: _matmul_min_plus

class _matmul_transpose_a(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, cast: Any = 'cast_signed', **keywords: Any) -> Any:
        """Product of a transposed matrix and a matrix, added to C."""

matmul_transpose_a: _matmul_transpose_a

class _matmul_transpose_b(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, cast: Any = 'cast_signed', **keywords: Any) -> Any:
        """Product of a matrix and a transposed matrix, added to C."""

matmul_transpose_b: _matmul_transpose_b

class _matvec(StructuredOp):
    def __call__(self, A: Any, y: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of a matrix and a vector, added to x."""

matvec: _matvec

class _max(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The larger of two elements, at each place, integers as signed."""

max: _max

class _max_unsigned(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The larger of two unsigned integers, at each place."""

max_unsigned: _max_unsigned

class _min(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The smaller of two elements, at each place, integers as signed."""

min: _min

class _min_unsigned(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The smaller of two unsigned integers, at each place."""

min_unsigned: _min_unsigned

class _mish(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element times the hyperbolic tangent of its softplus."""

mish: _mish

class _mmt4d(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of a packed matrix and the transpose of another, added to a packed matrix."""

mmt4d: _mmt4d

class _mttkrp(StructuredOp):
    def __call__(self, A: Any, B: Any, C: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Tensor of rank 3, unfolded, times a Khatri-Rao product, added to O."""

mttkrp: _mttkrp

class _mul(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of two tensors, element by element."""

mul: _mul

class _multiply_add(StructuredOp):
    def __call__(self, A: Any, B: Any, C: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of two tensors plus a third, element by element."""

multiply_add: _multiply_add

class _nchw_to_nhwc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Images with their channels moved from first to last."""

nchw_to_nhwc: _nchw_to_nhwc

class _negf(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Negation of each element."""

negf: _negf

class _nhwc_to_nchw(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Images with their channels moved from last to first."""

nhwc_to_nchw: _nhwc_to_nchw

class _not_equal(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Comparison at each place: two elements differ."""

not_equal: _not_equal

class _one_hot(StructuredOp):
    def __call__(self, labels: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Rows of zeros, but for a one at the place that a label gives."""

one_hot: _one_hot

class _outer(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Outer product of two vectors."""

outer: _outer

class _pad_nchw(StructuredOp):
    def __call__(self, I: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, low: Any = (0, 0), high: Any = (0, 0), **keywords: Any) -> Any:
        """A number put around an image, channels first: the padding of convolutions and poolings."""

pad_nchw: _pad_nchw

class _pad_ncw(StructuredOp):
    def __call__(self, I: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, low: Any = (0,), high: Any = (0,), **keywords: Any) -> Any:
        """A number put around a sequence, channels first: the padding of convolutions and poolings."""

pad_ncw: _pad_ncw

class _pad_nhwc(StructuredOp):
    def __call__(self, I: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, low: Any = (0, 0), high: Any = (0, 0), **keywords: Any) -> Any:
        """A number put around an image, channels last: the padding of convolutions and poolings."""

pad_nhwc: _pad_nhwc

class _pad_nwc(StructuredOp):
    def __call__(self, I: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, low: Any = (0,), high: Any = (0,), **keywords: Any) -> Any:
        """A number put around a sequence, channels last: the padding of convolutions and poolings."""

pad_nwc: _pad_nwc

class _pairwise_chebyshev_distance(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Chebyshev distance of each row of A to each row of B."""

pairwise_chebyshev_distance: _pairwise_chebyshev_distance

class _pairwise_hamming_distance(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Number of places where each row of A and each row of B differ, added to O."""

pairwise_hamming_distance: _pairwise_hamming_distance

class _pairwise_manhattan_distance(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Manhattan distance of each row of A to each row of B, added to O."""

pairwise_manhattan_distance: _pairwise_manhattan_distance

class _pairwise_squared_euclidean_distance(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Squared Euclidean distance of each row of A to each row of B, added to O."""

pairwise_squared_euclidean_distance: _pairwise_squared_euclidean_distance

class _parametric_relu(StructuredOp):
    def __call__(self, I: Any, slope: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element where it is positive, else scaled by the slope of its column."""

parametric_relu: _parametric_relu

class _pooling_ncdhw_average(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Mean of each 3-D window, channels first."""

pooling_ncdhw_average: _pooling_ncdhw_average

class _pooling_ncdhw_max(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Largest element of each 3-D window, channels first."""

pooling_ncdhw_max: _pooling_ncdhw_max

class _pooling_ncdhw_min(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Smallest element of each 3-D window, channels first."""

pooling_ncdhw_min: _pooling_ncdhw_min

class _pooling_ncdhw_sum(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Sum of each 3-D window, channels first."""

pooling_ncdhw_sum: _pooling_ncdhw_sum

class _pooling_ncdhw_weighted(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Weighted sum of each 3-D window, channels first."""

pooling_ncdhw_weighted: _pooling_ncdhw_weighted

class _pooling_nchw_average(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Mean of each 2-D window, channels first."""

pooling_nchw_average: _pooling_nchw_average

class _pooling_nchw_max(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Largest element of each 2-D window, channels first."""

pooling_nchw_max: _pooling_nchw_max

class _pooling_nchw_min(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Smallest element of each 2-D window, channels first."""

pooling_nchw_min: _pooling_nchw_min

class _pooling_nchw_squares(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Sum of the squares of each 2-D window, channels first."""

pooling_nchw_squares: _pooling_nchw_squares

class _pooling_nchw_sum(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Sum of each 2-D window, channels first."""

pooling_nchw_sum: _pooling_nchw_sum

class _pooling_nchw_weighted(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Weighted sum of each 2-D window, channels first."""

pooling_nchw_weighted: _pooling_nchw_weighted

class _pooling_ncw_average(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Mean of each 1-D window, channels first."""

pooling_ncw_average: _pooling_ncw_average

class _pooling_ncw_max(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Largest element of each 1-D window, channels first."""

pooling_ncw_max: _pooling_ncw_max

class _pooling_ncw_min(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Smallest element of each 1-D window, channels first."""

pooling_ncw_min: _pooling_ncw_min

class _pooling_ncw_sum(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Sum of each 1-D window, channels first."""

pooling_ncw_sum: _pooling_ncw_sum

class _pooling_ncw_weighted(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Weighted sum of each 1-D window, channels first."""

pooling_ncw_weighted: _pooling_ncw_weighted

class _pooling_ndhwc_average(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Mean of each 3-D window, channels last."""

pooling_ndhwc_average: _pooling_ndhwc_average

class _pooling_ndhwc_max(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Largest element of each 3-D window, channels last."""

pooling_ndhwc_max: _pooling_ndhwc_max

class _pooling_ndhwc_min(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Smallest element of each 3-D window, channels last."""

pooling_ndhwc_min: _pooling_ndhwc_min

class _pooling_ndhwc_sum(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Sum of each 3-D window, channels last."""

pooling_ndhwc_sum: _pooling_ndhwc_sum

class _pooling_ndhwc_weighted(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Weighted sum of each 3-D window, channels last."""

pooling_ndhwc_weighted: _pooling_ndhwc_weighted

class _pooling_nhwc_average(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Mean of each 2-D window, channels last."""

pooling_nhwc_average: _pooling_nhwc_average

class _pooling_nhwc_max(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Largest element of each 2-D window, channels last."""

pooling_nhwc_max: _pooling_nhwc_max

class _pooling_nhwc_max_unsigned(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Largest element of each 2-D window, channels last, integers read as unsigned."""

pooling_nhwc_max_unsigned: _pooling_nhwc_max_unsigned

class _pooling_nhwc_min(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Smallest element of each 2-D window, channels last."""

pooling_nhwc_min: _pooling_nhwc_min

class _pooling_nhwc_min_unsigned(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Smallest element of each 2-D window, channels last, integers read as unsigned."""

pooling_nhwc_min_unsigned: _pooling_nhwc_min_unsigned

class _pooling_nhwc_squares(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Sum of the squares of each 2-D window, channels last."""

pooling_nhwc_squares: _pooling_nhwc_squares

class _pooling_nhwc_sum(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Sum of each 2-D window, channels last."""

pooling_nhwc_sum: _pooling_nhwc_sum

class _pooling_nhwc_weighted(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Weighted sum of each 2-D window, channels last."""

pooling_nhwc_weighted: _pooling_nhwc_weighted

class _pooling_nwc_average(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Mean of each 1-D window, channels last."""

pooling_nwc_average: _pooling_nwc_average

class _pooling_nwc_max(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Largest element of each 1-D window, channels last."""

pooling_nwc_max: _pooling_nwc_max

class _pooling_nwc_max_unsigned(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Largest element of each 1-D window, channels last, integers read as unsigned."""

pooling_nwc_max_unsigned: _pooling_nwc_max_unsigned

class _pooling_nwc_min(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Smallest element of each 1-D window, channels last."""

pooling_nwc_min: _pooling_nwc_min

class _pooling_nwc_min_unsigned(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Smallest element of each 1-D window, channels last, integers read as unsigned."""

pooling_nwc_min_unsigned: _pooling_nwc_min_unsigned

class _pooling_nwc_sum(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Sum of each 1-D window, channels last."""

pooling_nwc_sum: _pooling_nwc_sum

class _pooling_nwc_weighted(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Weighted sum of each 1-D window, channels last."""

pooling_nwc_weighted: _pooling_nwc_weighted

class _powf(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element of lhs to the power of that of rhs."""

powf: _powf

class _quantize(StructuredOp):
    def __call__(self, I: Any, scale: Any, zero_point: Any, low: Any, high: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each float as a quantized integer, limited to an interval."""

quantize: _quantize

class _quantize_columns(StructuredOp):
    def __call__(self, A: Any, scale: Any, low: Any, high: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each column of a matrix as quantized integers, by a scale of its own and no zero point."""

quantize_columns: _quantize_columns

class _quantize_rows(StructuredOp):
    def __call__(self, A: Any, scale: Any, low: Any, high: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each row of a matrix as quantized integers, by a scale of its own and no zero point."""

quantize_rows: _quantize_rows

class _quantize_to_even(StructuredOp):
    def __call__(self, I: Any, scale: Any, zero_point: Any, low: Any, high: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each float as a quantized integer, halves rounded to even, limited to an interval."""

quantize_to_even: _quantize_to_even

class _quantized_batch_matmul(StructuredOp):
    def __call__(self, A: Any, B: Any, AZp: Any, BZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of each pair of quantized matrices in a batch, added to C."""

quantized_batch_matmul: _quantized_batch_matmul

class _quantized_matmul(StructuredOp):
    def __call__(self, A: Any, B: Any, AZp: Any, BZp: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of two quantized matrices, added to C."""

quantized_matmul: _quantized_matmul

class _reciprocal(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """One divided by each element."""

reciprocal: _reciprocal

class _relu(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The larger of each element and zero, integers as signed."""

relu: _relu

class _relu6(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element, limited to the interval from zero to six, integers as signed."""

relu6: _relu6

class _repeat(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, count: Any = (2,), **keywords: Any) -> Any:
        """Each element of a vector several times."""

repeat: _repeat

class _repeat_rows(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, count: Any = (2,), **keywords: Any) -> Any:
        """Each row of a matrix several times."""

repeat_rows: _repeat_rows

class _replace_nan(StructuredOp):
    def __call__(self, I: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A number in the place of each NaN."""

replace_nan: _replace_nan

class _rms_norm(StructuredOp):
    def __call__(self, X: Any, weight: Any, epsilon: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Root-mean-square normalization of each row, with the mean of its squares."""

rms_norm: _rms_norm

class _rms_normalize(StructuredOp):
    def __call__(self, X: Any, mean_square: Any, weight: Any, epsilon: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Root-mean-square normalization of each row, from the mean of its squares."""

rms_normalize: _rms_normalize

class _roll(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, shift: Any = (1,), **keywords: Any) -> Any:
        """A vector turned to the right: the last elements come first."""

roll: _roll

class _roll_rows(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, shift: Any = (1,), **keywords: Any) -> Any:
        """Each row turned to the right: the last elements come first."""

roll_rows: _roll_rows

class _rotary_embedding(StructuredOp):
    def __call__(self, X: Any, cosines: Any, sines: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Queries or keys turned by angles that their positions give, in halves: RoPE."""

rotary_embedding: _rotary_embedding

class _round(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The nearest whole number to each element, halves away from zero."""

round: _round

class _roundeven(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The nearest whole number to each element, halves to the even one."""

roundeven: _roundeven

class _row_all(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logical and of each row: every element is other than zero."""

row_all: _row_all

class _row_any(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logical or of each row: any element is other than zero."""

row_any: _row_any

class _row_argmax(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The largest element of each row, and the first place where it stands."""

row_argmax: _row_argmax

class _row_argmin(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The smallest element of each row, and the first place where it stands."""

row_argmin: _row_argmin

class _row_count_nonzero(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Number of the elements of each row that are not zero, added to O."""

row_count_nonzero: _row_count_nonzero

class _row_cross_entropy(StructuredOp):
    def __call__(self, X: Any, maximum: Any, total: Any, labels: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Cross entropy of the softmax of each row and its label, added to O."""

row_cross_entropy: _row_cross_entropy

class _row_cross_entropy_of_probabilities(StructuredOp):
    def __call__(self, X: Any, target: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Cross entropy of each row of log-probabilities and its row of probabilities, added to O."""

row_cross_entropy_of_probabilities: _row_cross_entropy_of_probabilities

class _row_cumulative_max(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Maxima of each row up to each of its elements."""

row_cumulative_max: _row_cumulative_max

class _row_cumulative_min(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Minima of each row up to each of its elements."""

row_cumulative_min: _row_cumulative_min

class _row_cumulative_product(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Products of each row up to each of its elements, times O."""

row_cumulative_product: _row_cumulative_product

class _row_cumulative_sum(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sums of each row up to each of its elements, added to O."""

row_cumulative_sum: _row_cumulative_sum

class _row_entropy(StructuredOp):
    def __call__(self, X: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Entropy of each row of probabilities, added to O."""

row_entropy: _row_entropy

class _row_max(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Largest element of each row, integers as signed."""

row_max: _row_max

class _row_max_of_absolutes(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Largest absolute value of each row: the maximum norm."""

row_max_of_absolutes: _row_max_of_absolutes

class _row_mean(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of each row, added to O."""

row_mean: _row_mean

class _row_mean_of_squares(StructuredOp):
    def __call__(self, X: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Mean of the squares of each row, added to O."""

row_mean_of_squares: _row_mean_of_squares

class _row_min(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Smallest element of each row, integers as signed."""

row_min: _row_min

class _row_min_max(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The smallest and the largest element of each row, in one pass."""

row_min_max: _row_min_max

class _row_negative_log_likelihood(StructuredOp):
    def __call__(self, X: Any, labels: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The element of each row at its label, subtracted from O."""

row_negative_log_likelihood: _row_negative_log_likelihood

class _row_product(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of each row, times O."""

row_product: _row_product

class _row_softmax(StructuredOp):
    def __call__(self, X: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Softmax of each row, with the largest element and the sum that it is made of."""

row_softmax: _row_softmax

class _row_sum(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sum of each row, added to O."""

row_sum: _row_sum

class _row_sum_of_absolutes(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sum of the absolute values of each row, added to O: the L1 norm."""

row_sum_of_absolutes: _row_sum_of_absolutes

class _row_sum_of_exponentials(StructuredOp):
    def __call__(self, X: Any, maximum: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sum of the exponentials of each row, less its largest element, added to O."""

row_sum_of_exponentials: _row_sum_of_exponentials

class _row_sum_of_squared_deviations(StructuredOp):
    def __call__(self, X: Any, mean: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sum of the squared distances of each row's elements to its mean, added to O."""

row_sum_of_squared_deviations: _row_sum_of_squared_deviations

class _row_sum_of_squares(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sum of the squares of each row, added to O: the squared Euclidean norm."""

row_sum_of_squares: _row_sum_of_squares

class _row_top_two(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The two largest elements of each row, the largest first."""

row_top_two: _row_top_two

class _row_variance(StructuredOp):
    def __call__(self, X: Any, mean: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Variance of each row around its mean, added to O."""

row_variance: _row_variance

class _rsqrt(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Reciprocal of the square root of each element."""

rsqrt: _rsqrt

class _sampled_matmul(StructuredOp):
    def __call__(self, W: Any, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Matrix product, weighted element by element, added to O."""

sampled_matmul: _sampled_matmul

class _scaled_attention_scores(StructuredOp):
    def __call__(self, query: Any, key: Any, scale: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Scores of queries against keys, each product scaled, added to O."""

scaled_attention_scores: _scaled_attention_scores

class _segment_sum(StructuredOp):
    def __call__(self, A: Any, labels: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sum of the rows of each label, added to O."""

segment_sum: _segment_sum

class _select(StructuredOp):
    def __call__(self, cond: Any, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """One of two elements at each place, chosen by a third tensor."""

select: _select

class _selu(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Exponential linear unit of each element, scaled to normalize itself."""

selu: _selu

class _sigmoid(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logistic function of each element."""

sigmoid: _sigmoid

class _sign(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sign of each element: minus one, zero or one."""

sign: _sign

class _silu(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element times its logistic function, also known as swish."""

silu: _silu

class _sin(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sine of each element, an angle in radians."""

sin: _sin

class _sinh(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Hyperbolic sine of each element."""

sinh: _sinh

class _sinusoidal_positions(StructuredOp):
    def __call__(self, base: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sines and cosines of positions, at wavelengths that grow with the column."""

sinusoidal_positions: _sinusoidal_positions

class _sliding_window_mask_scores(StructuredOp):
    def __call__(self, scores: Any, window: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Scores of the latest keys that a query may see, as many as a window has."""

sliding_window_mask_scores: _sliding_window_mask_scores

class _smooth_l1_loss(StructuredOp):
    def __call__(self, I: Any, target: Any, beta: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Squared error of each element over beta where it is small, absolute where it is large."""

smooth_l1_loss: _smooth_l1_loss

class _soft_shrink(StructuredOp):
    def __call__(self, I: Any, amount: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element moved towards zero by an amount, no further than zero."""

soft_shrink: _soft_shrink

class _softmax_exponentials(StructuredOp):
    def __call__(self, X: Any, maximum: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Exponentials of each row, less its largest element."""

softmax_exponentials: _softmax_exponentials

class _softmax_normalize(StructuredOp):
    def __call__(self, E: Any, total: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each row divided by a number, as the last step of a softmax."""

softmax_normalize: _softmax_normalize

class _softplus(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Logarithm of one plus the exponential of each element, a smooth `relu`."""

softplus: _softplus

class _softsign(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element divided by one plus its absolute value."""

softsign: _softsign

class _space_to_depth_nchw(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, block: Any = (2,), **keywords: Any) -> Any:
        """Blocks of R * R pixels laid out as channels, channels first: pixel unshuffle."""

space_to_depth_nchw: _space_to_depth_nchw

class _space_to_depth_nhwc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, block: Any = (2,), **keywords: Any) -> Any:
        """Blocks of R * R pixels laid out as channels, channels last: pixel unshuffle."""

space_to_depth_nhwc: _space_to_depth_nhwc

class _sqrt(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Square root of each element."""

sqrt: _sqrt

class _square(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Square of each element."""

square: _square

class _squared_difference(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Square of the difference of two tensors, element by element."""

squared_difference: _squared_difference

class _squared_euclidean_distance(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Squared Euclidean distance of two vectors, added to the scalar O."""

squared_euclidean_distance: _squared_euclidean_distance

class _squared_euclidean_distance_from_products(StructuredOp):
    def __call__(self, G: Any, a: Any, b: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Squared Euclidean distances from inner products and squared norms."""

squared_euclidean_distance_from_products: _squared_euclidean_distance_from_products

class _squared_relu(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Square of the larger of each element and zero."""

squared_relu: _squared_relu

class _sub(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Difference of two tensors, element by element."""

sub: _sub

class _swish_gated_linear_unit(StructuredOp):
    def __call__(self, I: Any, gate: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element times its gate and the logistic function of the gate: SwiGLU."""

swish_gated_linear_unit: _swish_gated_linear_unit

class _take_every(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, step: Any = (2,), **keywords: Any) -> Any:
        """Every so manieth element of a vector, beginning with the first."""

take_every: _take_every

class _tan(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Tangent of each element, an angle in radians."""

tan: _tan

class _tanh(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Hyperbolic tangent of each element."""

tanh: _tanh

class _threshold(StructuredOp):
    def __call__(self, I: Any, limit: Any, value: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Each element above a limit, a number in the place of the others."""

threshold: _threshold

class _tile(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, count: Any = (2,), **keywords: Any) -> Any:
        """A vector several times, one after the other."""

tile: _tile

class _tile_2d(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, counts: Any = (2, 2), **keywords: Any) -> Any:
        """A matrix several times, below and beside itself."""

tile_2d: _tile_2d

class _trace(StructuredOp):
    def __call__(self, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Sum of the diagonal of a square matrix, added to the scalar O."""

trace: _trace

class _transpose_2d(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A matrix with its rows for columns."""

transpose_2d: _transpose_2d

class _transposed_conv_1d_ncw_cfw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Transposed 1-D convolution, channels first: each element spread by the kernel."""

transposed_conv_1d_ncw_cfw: _transposed_conv_1d_ncw_cfw

class _transposed_conv_1d_nwc_wcf(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1,), dilations: Any = (1,), **keywords: Any) -> Any:
        """Transposed 1-D convolution, channels last: each element spread by the kernel."""

transposed_conv_1d_nwc_wcf: _transposed_conv_1d_nwc_wcf

class _transposed_conv_2d_nchw_cfhw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Transposed 2-D convolution, channels first: each element spread by the kernel."""

transposed_conv_2d_nchw_cfhw: _transposed_conv_2d_nchw_cfhw

class _transposed_conv_2d_nhwc_hwcf(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1), dilations: Any = (1, 1), **keywords: Any) -> Any:
        """Transposed 2-D convolution, channels last: each element spread by the kernel."""

transposed_conv_2d_nhwc_hwcf: _transposed_conv_2d_nhwc_hwcf

class _transposed_conv_3d_ncdhw_cfdhw(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Transposed 3-D convolution, channels first: each element spread by the kernel."""

transposed_conv_3d_ncdhw_cfdhw: _transposed_conv_3d_ncdhw_cfdhw

class _transposed_conv_3d_ndhwc_dhwcf(StructuredOp):
    def __call__(self, I: Any, K: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, strides: Any = (1, 1, 1), dilations: Any = (1, 1, 1), **keywords: Any) -> Any:
        """Transposed 3-D convolution, channels last: each element spread by the kernel."""

transposed_conv_3d_ndhwc_dhwcf: _transposed_conv_3d_ndhwc_dhwcf

class _tri(StructuredOp):
    def __call__(self, offset: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """A matrix with ones at and below a diagonal and zeros above: a causal mask."""

tri: _tri

class _tril(StructuredOp):
    def __call__(self, A: Any, offset: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The elements of a matrix at and below a diagonal, and zeros elsewhere."""

tril: _tril

class _triu(StructuredOp):
    def __call__(self, A: Any, offset: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The elements of a matrix at and above a diagonal, and zeros elsewhere."""

triu: _triu

class _trunc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """The whole number nearest to each element on the way to zero."""

trunc: _trunc

class _upsample_nearest_nchw(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, factors: Any = (2, 2), **keywords: Any) -> Any:
        """Each element repeated along both axes, channels first: nearest-neighbor upsampling."""

upsample_nearest_nchw: _upsample_nearest_nchw

class _upsample_nearest_ncw(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, factors: Any = (2,), **keywords: Any) -> Any:
        """Each element repeated along the axis, channels first: nearest-neighbor upsampling."""

upsample_nearest_ncw: _upsample_nearest_ncw

class _upsample_nearest_nhwc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, factors: Any = (2, 2), **keywords: Any) -> Any:
        """Each element repeated along both axes, channels last: nearest-neighbor upsampling."""

upsample_nearest_nhwc: _upsample_nearest_nhwc

class _upsample_nearest_nwc(StructuredOp):
    def __call__(self, I: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, factors: Any = (2,), **keywords: Any) -> Any:
        """Each element repeated along the axis, channels last: nearest-neighbor upsampling."""

upsample_nearest_nwc: _upsample_nearest_nwc

class _vdot(StructuredOp):
    def __call__(self, A: Any, B: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Inner product of two vectors, the first conjugated, added to the scalar O."""

vdot: _vdot

class _vecmat(StructuredOp):
    def __call__(self, y: Any, A: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of a vector and a matrix, added to x."""

vecmat: _vecmat

class _where_equal(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, x: Any, y: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """One of two elements, by whether two elements are equal, at each place."""

where_equal: _where_equal

class _where_greater(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, x: Any, y: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """One of two elements, by whether one element is greater than another, at each place."""

where_greater: _where_greater

class _where_greater_equal(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, x: Any, y: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """One of two elements, by whether one element is at least another, at each place."""

where_greater_equal: _where_greater_equal

class _where_less(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, x: Any, y: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """One of two elements, by whether one element is less than another, at each place."""

where_less: _where_less

class _where_less_equal(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, x: Any, y: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """One of two elements, by whether one element is at most another, at each place."""

where_less_equal: _where_less_equal

class _where_not_equal(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, x: Any, y: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """One of two elements, by whether two elements differ, at each place."""

where_not_equal: _where_not_equal

class _xlogy(StructuredOp):
    def __call__(self, lhs: Any, rhs: Any, *, out: Any = None, init: Any = None, dtype: Any = None, compute_type: Any = None, threads: int | None = None, **keywords: Any) -> Any:
        """Product of one element and the logarithm of another, zero where the first is zero."""

xlogy: _xlogy
