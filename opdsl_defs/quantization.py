"""Quantized matrix products, and the way to quantized numbers and back.

A quantized number q of zero point z and scale s stands for (q - z) * s.
"""

from linalg_ext.opdsl import (
    I32,
    T1,
    T2,
    BinaryFn,
    D,
    S,
    ScalarDef,
    TensorDef,
    TernaryFn,
    U,
    UnaryFn,
    domain,
    structured_op,
)

from ._values import cast, shifted_product

__all__ = [
    "dequantize",
    "dequantize_product",
    "fake_quantize",
    "quantize",
    "quantize_columns",
    "quantize_rows",
    "quantize_to_even",
    "quantized_batch_matmul",
    "quantized_matmul",
]


@structured_op
def quantized_matmul(
    A=TensorDef(T1, S.M, S.K),
    B=TensorDef(T2, S.K, S.N),
    AZp=ScalarDef(I32),
    BZp=ScalarDef(I32),
    C=TensorDef(U, S.M, S.N, output=True),
):
    """Product of two quantized matrices, added to C.

        C[m, n] += sum over k of (A[m, k] - AZp) * (B[k, n] - BZp)

    Shapes: A (M, K), B (K, N), C (M, N); the zero points AZp and BZp are scalars.
    Dtypes: any numbers, zero points int32; all are cast to that of C before the difference.
    Source: upstream's `linalg.quantized_matmul`.
    """
    domain(D.m, D.n, D.k)
    C[D.m, D.n] += shifted_product(A[D.m, D.k], AZp, B[D.k, D.n], BZp)


@structured_op
def quantized_batch_matmul(
    A=TensorDef(T1, S.Batch, S.M, S.K),
    B=TensorDef(T2, S.Batch, S.K, S.N),
    AZp=ScalarDef(I32),
    BZp=ScalarDef(I32),
    C=TensorDef(U, S.Batch, S.M, S.N, output=True),
):
    """Product of each pair of quantized matrices in a batch, added to C.

        C[b, m, n] += sum over k of (A[b, m, k] - AZp) * (B[b, k, n] - BZp)

    Shapes: A (Batch, M, K), B (Batch, K, N), C (Batch, M, N); AZp and BZp are scalars.
    Dtypes: any numbers, zero points int32; all are cast to that of C before the difference.
    Source: upstream's `linalg.quantized_batch_matmul`.
    """
    domain(D.b, D.m, D.n, D.k)
    C[D.b, D.m, D.n] += shifted_product(A[D.b, D.m, D.k], AZp, B[D.b, D.k, D.n], BZp)


@structured_op
def quantize(
    I=TensorDef(T1),
    scale=ScalarDef(T1),
    zero_point=ScalarDef(T1),
    low=ScalarDef(T1),
    high=ScalarDef(T1),
    O=TensorDef(U, output=True),
):
    """Each float as a quantized integer, limited to an interval.

        O = clip(round(I / scale) + zero_point, low, high)

    Halves are rounded away from zero. Give the limits of the type of O for low and high.

    Shapes: I and O any, alike; the rest scalars.
    Dtypes: I and the scalars a float, alike; O a signed integer type.
    Source: this library; ONNX's `QuantizeLinear`, which rounds halves to even.
    """
    rounded = UnaryFn.round(I[None] / scale) + zero_point
    O[None] = cast(BinaryFn.min_signed(BinaryFn.max_signed(rounded, low), high))


@structured_op
def dequantize(
    I=TensorDef(T1),
    scale=ScalarDef(U),
    zero_point=ScalarDef(I32),
    O=TensorDef(U, output=True),
):
    """The floats that quantized integers stand for.

        O = (I - zero_point) * scale

    Shapes: I and O any, alike; scale and zero_point scalars.
    Dtypes: I a signed integer type, zero_point int32; scale and O a float, alike.
    Source: this library; ONNX's `DequantizeLinear`.
    """
    O[None] = (cast(I[None]) - cast(zero_point)) * scale


@structured_op
def quantize_to_even(
    I=TensorDef(T1),
    scale=ScalarDef(T1),
    zero_point=ScalarDef(T1),
    low=ScalarDef(T1),
    high=ScalarDef(T1),
    O=TensorDef(U, output=True),
):
    """Each float as a quantized integer, halves rounded to even, limited to an interval.

        O = clip(roundeven(I / scale) + zero_point, low, high)

    Give the limits of the type of O for low and high.

    Shapes: I and O any, alike; the rest scalars.
    Dtypes: I and the scalars a float, alike; O a signed integer type.
    Source: this library; ONNX's `QuantizeLinear`.
    """
    rounded = UnaryFn.roundeven(I[None] / scale) + zero_point
    O[None] = cast(TernaryFn.clamp(rounded, low, high))


@structured_op
def fake_quantize(
    I=TensorDef(T1),
    scale=ScalarDef(T1),
    zero_point=ScalarDef(T1),
    low=ScalarDef(T1),
    high=ScalarDef(T1),
    O=TensorDef(T1, output=True),
):
    """Each float as it comes back from quantized integers, halves rounded to even.

        O = (clip(roundeven(I / scale) + zero_point, low, high) - zero_point) * scale

    Shapes: I and O any, alike; scale, zero_point, low and high scalars.
    Dtypes: any float; all alike.
    Source: this library; PyTorch's `torch.fake_quantize_per_tensor_affine`.
    """
    rounded = UnaryFn.roundeven(I[None] / scale) + zero_point
    O[None] = (TernaryFn.clamp(rounded, low, high) - zero_point) * scale


@structured_op
def quantize_columns(
    A=TensorDef(T1, S.M, S.N),
    scale=TensorDef(T1, S.N),
    low=ScalarDef(T1),
    high=ScalarDef(T1),
    O=TensorDef(U, S.M, S.N, output=True),
):
    """Each column of a matrix as quantized integers, by a scale of its own and no zero point.

        O[m, n] = clip(roundeven(A[m, n] / scale[n]), low, high)

    Give the limits of the type of O for low and high.

    Shapes: A and O (M, N), scale (N), low and high scalars.
    Dtypes: A, scale, low and high a float, alike; O a signed integer type.
    Source: this library; ONNX's `QuantizeLinear` with an axis.
    """
    domain(D.m, D.n)
    rounded = UnaryFn.roundeven(A[D.m, D.n] / scale[D.n])
    O[D.m, D.n] = cast(TernaryFn.clamp(rounded, low, high))


@structured_op
def quantize_rows(
    A=TensorDef(T1, S.M, S.N),
    scale=TensorDef(T1, S.M),
    low=ScalarDef(T1),
    high=ScalarDef(T1),
    O=TensorDef(U, S.M, S.N, output=True),
):
    """Each row of a matrix as quantized integers, by a scale of its own and no zero point.

        O[m, n] = clip(roundeven(A[m, n] / scale[m]), low, high)

    Give the limits of the type of O for low and high.

    Shapes: A and O (M, N), scale (M), low and high scalars.
    Dtypes: A, scale, low and high a float, alike; O a signed integer type.
    Source: this library; ONNX's `QuantizeLinear` with an axis.
    """
    domain(D.m, D.n)
    rounded = UnaryFn.roundeven(A[D.m, D.n] / scale[D.m])
    O[D.m, D.n] = cast(TernaryFn.clamp(rounded, low, high))


@structured_op
def dequantize_product(
    A=TensorDef(T1, S.M, S.N),
    row_scale=TensorDef(U, S.M),
    column_scale=TensorDef(U, S.N),
    O=TensorDef(U, S.M, S.N, output=True),
):
    """The floats that a product of quantized matrices stands for.

        O[m, n] = A[m, n] * row_scale[m] * column_scale[n]

    Shapes: A (M, N), row_scale (M), column_scale (N), O (M, N).
    Dtypes: A any number, an integer type most often, cast as signed; the rest a float, alike.
    Source: this library; Dettmers et al., NeurIPS 2022.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = cast(A[D.m, D.n]) * row_scale[D.m] * column_scale[D.n]
