"""Texts of TC that several tests read: the examples of the two documents, and others like them."""

from __future__ import annotations

BATCHMATMUL_2020 = """
def batchmatmul(A: f32(Batch, M, K), B: f32(K, N)) -> (C: f32(Batch, M, N)) {
  C(b, m, n) = std_addf<k>(std_mulf(A(b, m, k), B(k, n)));
}
"""

BATCHMATMUL_2024 = '''
def batchmatmul(A: f32(Batch, M, K), B: f32(K, N)) -> (C: f32(Batch, M, N))
"""Batch matrix-multiply operation.

This operation performs batch matrix-multiply over ...
"""
{
  C(b, m, n) = std_addf<k>(std_mulf(A(b, m, k), B(k, n)));
}
'''

STRIDED_CONVOLUTION = """
ods_def<StridedConvOp>:
def strided_conv(I: f32(N, H, W, C), K: f32(F, KH, KW, C)) -> (O: f32(N, OH, OW, F))
     attr(strides: 2xi32) {
  O(n, h, w, f) = std_addf<kh, kw, c>(std_mulf(
    I(n, h * strides[0] + kh, w * strides[1] + kw, c), K(f, kh, kw, c)));
}
"""

POOLING = """
def pool(I: f32(N, H, W), K: f32(KH, KW)) -> (O: f32(N, OH, OW))
  attr(strides?: 2xi64, dilations?: 2xi64) {
  // K is for its shape alone.
  O(n, oh, ow) = std_maxf<kh, kw>(I(n, oh * strides[0] + kh * dilations[0],
                                       ow * strides[1] + kw * dilations[1]));
}
"""

INTEGER_MATMUL = """
ods_def<MatmulI8I8I32Op>
implements_interface<LinalgContractionOpInterface> :
def matmul_i8_i8_i32(A: i8(M, K), B: i8(K, N)) -> (C: i32(M, N)) {
  C(m, n) = std_addi<k>(C(m, n), std_muli(std_sexti32(A(m, k)), std_sexti32(B(k, n))));
}
"""

ATTRIBUTES = """
ods_def<CarrierOp> :
def carrier(A: f32(M, K), B: f32(K)) -> (C: f32(M))
attr(
  f32_attr: f32,
  i32_attr: i32,
  i64_attr: i64,
  fvec_attr: 4xf32,
  ivec_attr: 5x6xi32,
  array_attr : f32[],
  optional_attr? : f32
) {
  C(m) = std_addf<k>(std_mulf(A(m, k), B(k)));
}
"""

TWO_UPDATES = """
def both(A: f32(M, K), B: f32(M, K)) -> (S: f32(M), P: f32(M)) {
  S(m), P(m) = std_addf<k>(A(m, k)), std_mulf<k>(B(m, k));
}
"""

ALL = (
    BATCHMATMUL_2020,
    BATCHMATMUL_2024,
    STRIDED_CONVOLUTION,
    POOLING,
    INTEGER_MATMUL,
    ATTRIBUTES,
    TWO_UPDATES,
)
