"""Contractions: sums of products of matrices and vectors, plain, batched and tiled.

The operands are cast to the type of the result before they are multiplied. So f16 inputs with an
f32 result are multiplied and summed in f32, and int8 inputs with an int32 result in int32.
"""

from linalg_ext.opdsl import (
    T1,
    T2,
    TV,
    ContractionOpInterface,
    D,
    S,
    TensorDef,
    TypeFn,
    TypeFnAttrDef,
    U,
    domain,
    implements,
    structured_op,
)

from ._values import product

__all__ = [
    "batch_matmul",
    "batch_matmul_transpose_a",
    "batch_matmul_transpose_b",
    "batch_matvec",
    "batch_mmt4d",
    "batch_reduce_matmul",
    "batch_vecmat",
    "dot",
    "matmul",
    "matmul_transpose_a",
    "matmul_transpose_b",
    "matvec",
    "mmt4d",
    "vecmat",
]


@structured_op
def matmul(
    A=TensorDef(T1, S.M, S.K),
    B=TensorDef(T2, S.K, S.N),
    C=TensorDef(U, S.M, S.N, output=True),
    cast=TypeFnAttrDef(default=TypeFn.cast_signed),
):
    """Matrix product, added to C.

        C[m, n] += sum over k of A[m, k] * B[k, n]

    Shapes: A (M, K), B (K, N), C (M, N).
    Dtypes: any numbers; A and B are cast to that of C before the product.
    Attributes: cast = cast_signed or cast_unsigned, how integers are read.
    Source: upstream's `linalg.matmul`.
    """
    domain(D.m, D.n, D.k)
    implements(ContractionOpInterface)
    C[D.m, D.n] += cast(U, A[D.m, D.k]) * cast(U, B[D.k, D.n])


@structured_op
def matmul_transpose_a(
    A=TensorDef(T1, S.K, S.M),
    B=TensorDef(T2, S.K, S.N),
    C=TensorDef(U, S.M, S.N, output=True),
    cast=TypeFnAttrDef(default=TypeFn.cast_signed),
):
    """Product of a transposed matrix and a matrix, added to C.

        C[m, n] += sum over k of A[k, m] * B[k, n]

    Shapes: A (K, M), B (K, N), C (M, N).
    Dtypes: any numbers; A and B are cast to that of C before the product.
    Attributes: cast = cast_signed or cast_unsigned, how integers are read.
    Source: upstream's `linalg.matmul_transpose_a`, now `linalg.matmul` with indexing maps.
    """
    domain(D.m, D.n, D.k)
    implements(ContractionOpInterface)
    C[D.m, D.n] += cast(U, A[D.k, D.m]) * cast(U, B[D.k, D.n])


@structured_op
def matmul_transpose_b(
    A=TensorDef(T1, S.M, S.K),
    B=TensorDef(T2, S.N, S.K),
    C=TensorDef(U, S.M, S.N, output=True),
    cast=TypeFnAttrDef(default=TypeFn.cast_signed),
):
    """Product of a matrix and a transposed matrix, added to C.

        C[m, n] += sum over k of A[m, k] * B[n, k]

    Shapes: A (M, K), B (N, K), C (M, N).
    Dtypes: any numbers; A and B are cast to that of C before the product.
    Attributes: cast = cast_signed or cast_unsigned, how integers are read.
    Source: upstream's `linalg.matmul_transpose_b`, now `linalg.matmul` with indexing maps.
    """
    domain(D.m, D.n, D.k)
    implements(ContractionOpInterface)
    C[D.m, D.n] += cast(U, A[D.m, D.k]) * cast(U, B[D.n, D.k])


@structured_op
def batch_matmul(
    A=TensorDef(T1, S.Batch, S.M, S.K),
    B=TensorDef(T2, S.Batch, S.K, S.N),
    C=TensorDef(U, S.Batch, S.M, S.N, output=True),
):
    """Matrix product of each pair in a batch, added to C.

        C[b, m, n] += sum over k of A[b, m, k] * B[b, k, n]

    Shapes: A (Batch, M, K), B (Batch, K, N), C (Batch, M, N).
    Dtypes: any numbers; A and B are cast to that of C, as signed, before the product.
    Source: upstream's `linalg.batch_matmul`.
    """
    domain(D.b, D.m, D.n, D.k)
    implements(ContractionOpInterface)
    C[D.b, D.m, D.n] += product(A[D.b, D.m, D.k], B[D.b, D.k, D.n])


@structured_op
def batch_matmul_transpose_a(
    A=TensorDef(T1, S.Batch, S.K, S.M),
    B=TensorDef(T2, S.Batch, S.K, S.N),
    C=TensorDef(U, S.Batch, S.M, S.N, output=True),
):
    """Product of a transposed matrix and a matrix, for each pair in a batch, added to C.

        C[b, m, n] += sum over k of A[b, k, m] * B[b, k, n]

    Shapes: A (Batch, K, M), B (Batch, K, N), C (Batch, M, N).
    Dtypes: any numbers; A and B are cast to that of C, as signed, before the product.
    Source: upstream's `linalg.batch_matmul_transpose_a`, now `linalg.batch_matmul` with maps.
    """
    domain(D.b, D.m, D.n, D.k)
    implements(ContractionOpInterface)
    C[D.b, D.m, D.n] += product(A[D.b, D.k, D.m], B[D.b, D.k, D.n])


@structured_op
def batch_matmul_transpose_b(
    A=TensorDef(T1, S.Batch, S.M, S.K),
    B=TensorDef(T2, S.Batch, S.N, S.K),
    C=TensorDef(U, S.Batch, S.M, S.N, output=True),
):
    """Product of a matrix and a transposed matrix, for each pair in a batch, added to C.

        C[b, m, n] += sum over k of A[b, m, k] * B[b, n, k]

    Shapes: A (Batch, M, K), B (Batch, N, K), C (Batch, M, N).
    Dtypes: any numbers; A and B are cast to that of C, as signed, before the product.
    Source: upstream's `linalg.batch_matmul_transpose_b`, now `linalg.batch_matmul` with maps.
    """
    domain(D.b, D.m, D.n, D.k)
    implements(ContractionOpInterface)
    C[D.b, D.m, D.n] += product(A[D.b, D.m, D.k], B[D.b, D.n, D.k])


@structured_op
def batch_reduce_matmul(
    A=TensorDef(T1, S.Batch, S.M, S.K),
    B=TensorDef(T2, S.Batch, S.K, S.N),
    C=TensorDef(U, S.M, S.N, output=True),
):
    """Sum over a batch of the matrix products of its pairs, added to C.

        C[m, n] += sum over b, k of A[b, m, k] * B[b, k, n]

    Shapes: A (Batch, M, K), B (Batch, K, N), C (M, N).
    Dtypes: any numbers; A and B are cast to that of C, as signed, before the product.
    Source: upstream's `linalg.batch_reduce_matmul`.
    """
    domain(D.b, D.m, D.n, D.k)
    implements(ContractionOpInterface)
    C[D.m, D.n] += product(A[D.b, D.m, D.k], B[D.b, D.k, D.n])


@structured_op
def matvec(
    A=TensorDef(T1, S.M, S.N),
    y=TensorDef(T2, S.N),
    x=TensorDef(U, S.M, output=True),
):
    """Product of a matrix and a vector, added to x.

        x[m] += sum over n of A[m, n] * y[n]

    Shapes: A (M, N), y (N), x (M).
    Dtypes: any numbers; A and y are cast to that of x, as signed, before the product.
    Source: upstream's `linalg.matvec`.
    """
    domain(D.m, D.n)
    implements(ContractionOpInterface)
    x[D.m] += product(A[D.m, D.n], y[D.n])


@structured_op
def vecmat(
    y=TensorDef(T1, S.M),
    A=TensorDef(T2, S.M, S.N),
    x=TensorDef(U, S.N, output=True),
):
    """Product of a vector and a matrix, added to x.

        x[n] += sum over m of y[m] * A[m, n]

    Shapes: y (M), A (M, N), x (N).
    Dtypes: any numbers; y and A are cast to that of x, as signed, before the product.
    Source: upstream's `linalg.vecmat`.
    """
    domain(D.n, D.m)
    implements(ContractionOpInterface)
    x[D.n] += product(y[D.m], A[D.m, D.n])


@structured_op
def batch_matvec(
    A=TensorDef(T1, S.Batch, S.M, S.K),
    B=TensorDef(T2, S.Batch, S.K),
    C=TensorDef(U, S.Batch, S.M, output=True),
):
    """Product of a matrix and a vector, for each pair in a batch, added to C.

        C[b, m] += sum over k of A[b, m, k] * B[b, k]

    Shapes: A (Batch, M, K), B (Batch, K), C (Batch, M).
    Dtypes: any numbers; A and B are cast to that of C, as signed, before the product.
    Source: upstream's `linalg.batch_matvec`.
    """
    domain(D.b, D.m, D.k)
    implements(ContractionOpInterface)
    C[D.b, D.m] += product(A[D.b, D.m, D.k], B[D.b, D.k])


@structured_op
def batch_vecmat(
    A=TensorDef(T1, S.Batch, S.K),
    B=TensorDef(T2, S.Batch, S.K, S.N),
    C=TensorDef(U, S.Batch, S.N, output=True),
):
    """Product of a vector and a matrix, for each pair in a batch, added to C.

        C[b, n] += sum over k of A[b, k] * B[b, k, n]

    Shapes: A (Batch, K), B (Batch, K, N), C (Batch, N).
    Dtypes: any numbers; A and B are cast to that of C, as signed, before the product.
    Source: upstream's `linalg.batch_vecmat`.
    """
    domain(D.b, D.n, D.k)
    implements(ContractionOpInterface)
    C[D.b, D.n] += product(A[D.b, D.k], B[D.b, D.k, D.n])


@structured_op
def dot(A=TensorDef(T1, S.M), B=TensorDef(T2, S.M), C=TensorDef(U, output=True)):
    """Inner product of two vectors, added to the scalar C.

        C += sum over m of A[m] * B[m]

    Shapes: A (M), B (M), C ().
    Dtypes: any numbers; A and B are cast to that of C, as signed, before the product.
    Source: upstream's `linalg.dot`.
    """
    implements(ContractionOpInterface)
    C[None] += product(A[D.m], B[D.m])


@structured_op
def mmt4d(
    lhs=TensorDef(TV.LhsType, S.M, S.K, S.M0, S.K0),
    rhs=TensorDef(TV.RhsType, S.N, S.K, S.N0, S.K0),
    accum=TensorDef(TV.AccumType, S.M, S.N, S.M0, S.N0, output=True),
):
    """Product of a packed matrix and the transpose of another, added to a packed matrix.

        accum[m, n, m0, n0] += sum over k, k0 of lhs[m, k, m0, k0] * rhs[n, k, n0, k0]

    A packed matrix is a grid of tiles: lhs holds M by K tiles, each M0 by K0 and contiguous.

    Shapes: lhs (M, K, M0, K0), rhs (N, K, N0, K0), accum (M, N, M0, N0).
    Dtypes: any numbers; lhs and rhs are cast to that of accum, as signed, before the product.
    Source: upstream's `linalg.mmt4d`; `linalg.pack` and `linalg.unpack` make and undo the tiles.
    """
    domain(D.m, D.n, D.k, D.m0, D.n0, D.k0)
    implements(ContractionOpInterface)
    accum[D.m, D.n, D.m0, D.n0] += TypeFn.cast_signed(
        TV.AccumType, lhs[D.m, D.k, D.m0, D.k0]
    ) * TypeFn.cast_signed(TV.AccumType, rhs[D.n, D.k, D.n0, D.k0])


@structured_op
def batch_mmt4d(
    lhs=TensorDef(TV.LhsType, S.Batch, S.M, S.K, S.M0, S.K0),
    rhs=TensorDef(TV.RhsType, S.Batch, S.N, S.K, S.N0, S.K0),
    accum=TensorDef(TV.AccumType, S.Batch, S.M, S.N, S.M0, S.N0, output=True),
):
    """Product of a packed matrix and the transpose of another, for each pair in a batch.

        accum[b, m, n, m0, n0] += sum over k, k0 of lhs[b, m, k, m0, k0] * rhs[b, n, k, n0, k0]

    Shapes: lhs (Batch, M, K, M0, K0), rhs (Batch, N, K, N0, K0), accum (Batch, M, N, M0, N0).
    Dtypes: any numbers; lhs and rhs are cast to that of accum, as signed, before the product.
    Source: upstream's `linalg.batch_mmt4d`; see `mmt4d` for the layout of a packed matrix.
    """
    domain(D.b, D.m, D.n, D.k, D.m0, D.n0, D.k0)
    implements(ContractionOpInterface)
    accum[D.b, D.m, D.n, D.m0, D.n0] += TypeFn.cast_signed(
        TV.AccumType, lhs[D.b, D.m, D.k, D.m0, D.k0]
    ) * TypeFn.cast_signed(TV.AccumType, rhs[D.b, D.n, D.k, D.n0, D.k0])
