"""Complex conjugates, and products of matrices and vectors with them."""

from linalg_ext.opdsl import (
    T1,
    T2,
    D,
    S,
    T,
    TensorDef,
    U,
    UnaryFn,
    domain,
    structured_op,
)

from ._values import cast

__all__ = [
    "abs2",
    "conjugate",
    "conjugate_transpose",
    "matmul_conjugate_transpose_a",
    "matmul_conjugate_transpose_b",
    "vdot",
]


@structured_op
def conjugate(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Complex conjugate of each element.

        O = conj(I)

    Shapes: any; I and O alike.
    Dtypes: any number; I and O alike. A real number is its own conjugate.
    Source: this library; NumPy's `numpy.conj`.
    """
    O[None] = UnaryFn.conj(I[None])


@structured_op
def abs2(I=TensorDef(T1), O=TensorDef(U, output=True)):
    """Squared absolute value of each element.

        O = I * conj(I)

    Shapes: any; I and O alike.
    Dtypes: any number; O a complex or a real type, to which the product is cast.
    Source: this library; NumPy's `numpy.abs`, squared.
    """
    O[None] = cast(I[None] * UnaryFn.conj(I[None]))


@structured_op
def vdot(A=TensorDef(T1, S.K), B=TensorDef(T2, S.K), O=TensorDef(U, output=True)):
    """Inner product of two vectors, the first conjugated, added to the scalar O.

        O += sum over k of conj(A[k]) * B[k]

    Shapes: A (K), B (K), O ().
    Dtypes: any numbers; A and B are cast to that of O, as signed, before the product.
    Source: this library; NumPy's `numpy.vdot`.
    """
    O[None] += UnaryFn.conj(cast(A[D.k])) * cast(B[D.k])


@structured_op
def matmul_conjugate_transpose_a(
    A=TensorDef(T1, S.K, S.M), B=TensorDef(T2, S.K, S.N), O=TensorDef(U, S.M, S.N, output=True)
):
    """Product of the conjugate transpose of a matrix and another, added to O.

        O[m, n] += sum over k of conj(A[k, m]) * B[k, n]

    Shapes: A (K, M), B (K, N), O (M, N).
    Dtypes: any numbers; A and B are cast to that of O, as signed, before the product.
    Source: this library; BLAS' `gemm` with transa = C.
    """
    domain(D.m, D.n, D.k)
    O[D.m, D.n] += UnaryFn.conj(cast(A[D.k, D.m])) * cast(B[D.k, D.n])


@structured_op
def matmul_conjugate_transpose_b(
    A=TensorDef(T1, S.M, S.K), B=TensorDef(T2, S.N, S.K), O=TensorDef(U, S.M, S.N, output=True)
):
    """Product of a matrix and the conjugate transpose of another, added to O.

        O[m, n] += sum over k of A[m, k] * conj(B[n, k])

    Shapes: A (M, K), B (N, K), O (M, N).
    Dtypes: any numbers; A and B are cast to that of O, as signed, before the product.
    Source: this library; BLAS' `gemm` with transb = C.
    """
    domain(D.m, D.n, D.k)
    O[D.m, D.n] += cast(A[D.m, D.k]) * UnaryFn.conj(cast(B[D.n, D.k]))


@structured_op
def conjugate_transpose(I=TensorDef(T, S.N, S.M), O=TensorDef(T, S.M, S.N, output=True)):
    """A matrix with its rows for columns, each element conjugated.

        O[m, n] = conj(I[n, m])

    Shapes: I (N, M), O (M, N).
    Dtypes: any number; I and O alike.
    Source: this library; NumPy's `numpy.conj` of a transpose.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = UnaryFn.conj(I[D.n, D.m])
