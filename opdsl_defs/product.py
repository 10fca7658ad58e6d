"""Products beyond the matrix product: outer, Kronecker, of three factors, in semirings."""

from linalg_ext.opdsl import (
    T1,
    T2,
    TV,
    D,
    ReduceFn,
    S,
    TensorDef,
    U,
    domain,
    structured_op,
)

from ._values import cast, product

__all__ = [
    "batch_outer",
    "bilinear",
    "khatri_rao",
    "kron",
    "kron_2d",
    "matmul_max_plus",
    "matmul_min_plus",
    "mttkrp",
    "outer",
    "sampled_matmul",
]


@structured_op
def outer(
    A=TensorDef(T1, S.M),
    B=TensorDef(T2, S.N),
    O=TensorDef(U, S.M, S.N, output=True),
):
    """Outer product of two vectors.

        O[m, n] = A[m] * B[n]

    Shapes: A (M), B (N), O (M, N).
    Dtypes: any numbers; A and B are cast to that of O, as signed, before the product.
    Source: this library; NumPy's `numpy.outer`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = product(A[D.m], B[D.n])


@structured_op
def batch_outer(
    A=TensorDef(T1, S.Batch, S.M),
    B=TensorDef(T2, S.Batch, S.N),
    O=TensorDef(U, S.Batch, S.M, S.N, output=True),
):
    """Outer product of each pair of vectors in a batch.

        O[b, m, n] = A[b, m] * B[b, n]

    Shapes: A (Batch, M), B (Batch, N), O (Batch, M, N).
    Dtypes: any numbers; A and B are cast to that of O, as signed, before the product.
    Source: this library; NumPy's `numpy.linalg.outer` for each pair.
    """
    domain(D.b, D.m, D.n)
    O[D.b, D.m, D.n] = product(A[D.b, D.m], B[D.b, D.n])


@structured_op
def kron(
    A=TensorDef(T1, S.M, S.N),
    B=TensorDef(T2, S.P, S.Q),
    O=TensorDef(U, S.M, S.P, S.N, S.Q, output=True),
):
    """Kronecker product of two matrices, its rows and columns each as two axes.

        O[m, p, n, q] = A[m, n] * B[p, q]

    Reshaped to (M * P, N * Q), O is the Kronecker product as a matrix.

    Shapes: A (M, N), B (P, Q), O (M, P, N, Q).
    Dtypes: any numbers; A and B are cast to that of O, as signed, before the product.
    Source: this library; NumPy's `numpy.kron`.
    """
    domain(D.m, D.p, D.n, D.q)
    O[D.m, D.p, D.n, D.q] = product(A[D.m, D.n], B[D.p, D.q])


@structured_op
def khatri_rao(
    A=TensorDef(T1, S.M, S.N),
    B=TensorDef(T2, S.P, S.N),
    O=TensorDef(U, S.M, S.P, S.N, output=True),
):
    """Khatri-Rao product of two matrices: the outer product of each pair of columns.

        O[m, p, n] = A[m, n] * B[p, n]

    Reshaped to (M * P, N), O is the product as a matrix.

    Shapes: A (M, N), B (P, N), O (M, P, N).
    Dtypes: any numbers; A and B are cast to that of O, as signed, before the product.
    Source: this library; SciPy's `scipy.linalg.khatri_rao`.
    """
    domain(D.m, D.p, D.n)
    O[D.m, D.p, D.n] = product(A[D.m, D.n], B[D.p, D.n])


@structured_op
def bilinear(
    X=TensorDef(T1, S.N, S.I),
    W=TensorDef(T2, S.F, S.I, S.J),
    Y=TensorDef(TV.T3, S.N, S.J),
    O=TensorDef(U, S.N, S.F, output=True),
):
    """Bilinear forms of pairs of vectors, added to O.

        O[n, f] += sum over i, j of X[n, i] * W[f, i, j] * Y[n, j]

    Shapes: X (N, I), W (F, I, J), Y (N, J), O (N, F).
    Dtypes: any numbers; X, W and Y are cast to that of O, as signed, before the product.
    Source: this library; PyTorch's `torch.nn.functional.bilinear`.
    """
    domain(D.n, D.f, D.i, D.j)
    O[D.n, D.f] += product(X[D.n, D.i], W[D.f, D.i, D.j], Y[D.n, D.j])


@structured_op
def mttkrp(
    A=TensorDef(T1, S.I, S.J, S.K),
    B=TensorDef(T2, S.J, S.R),
    C=TensorDef(TV.T3, S.K, S.R),
    O=TensorDef(U, S.I, S.R, output=True),
):
    """Tensor of rank 3, unfolded, times a Khatri-Rao product, added to O.

        O[i, r] += sum over j, k of A[i, j, k] * B[j, r] * C[k, r]

    Shapes: A (I, J, K), B (J, R), C (K, R), O (I, R).
    Dtypes: any numbers; A, B and C are cast to that of O, as signed, before the product.
    Source: this library; Kolda and Bader, SIAM Review 51(3), 2009.
    """
    domain(D.i, D.r, D.j, D.k)
    O[D.i, D.r] += product(A[D.i, D.j, D.k], B[D.j, D.r], C[D.k, D.r])


@structured_op
def sampled_matmul(
    W=TensorDef(T1, S.M, S.N),
    A=TensorDef(T2, S.M, S.K),
    B=TensorDef(TV.T3, S.K, S.N),
    O=TensorDef(U, S.M, S.N, output=True),
):
    """Matrix product, weighted element by element, added to O.

        O[m, n] += sum over k of W[m, n] * A[m, k] * B[k, n]

    Shapes: W (M, N), A (M, K), B (K, N), O (M, N).
    Dtypes: any numbers; W, A and B are cast to that of O, as signed, before the product.
    Source: this library; SDDMM, whose W is sparse, in the literature on sparse tensors.
    """
    domain(D.m, D.n, D.k)
    O[D.m, D.n] += product(W[D.m, D.n], A[D.m, D.k], B[D.k, D.n])


@structured_op
def matmul_min_plus(
    A=TensorDef(T1, S.M, S.K),
    B=TensorDef(T2, S.K, S.N),
    C=TensorDef(U, S.M, S.N, output=True),
):
    """Matrix product over minimum and sum, as for shortest paths.

        C[m, n] = the minimum of C[m, n] and, over k, A[m, k] + B[k, n]

    Shapes: A (M, K), B (K, N), C (M, N).
    Dtypes: floats and signed integers; A and B are cast to that of C before the sum.
    Source: this library; the tropical semiring.
    """
    domain(D.m, D.n, D.k)
    C[D.m, D.n] = ReduceFn.min_signed[D.k](cast(A[D.m, D.k]) + cast(B[D.k, D.n]))


@structured_op
def matmul_max_plus(
    A=TensorDef(T1, S.M, S.K),
    B=TensorDef(T2, S.K, S.N),
    C=TensorDef(U, S.M, S.N, output=True),
):
    """Matrix product over maximum and sum, as for longest paths and best alignments.

        C[m, n] = the maximum of C[m, n] and, over k, A[m, k] + B[k, n]

    Shapes: A (M, K), B (K, N), C (M, N).
    Dtypes: floats and signed integers; A and B are cast to that of C before the sum.
    Source: this library; the tropical semiring.
    """
    domain(D.m, D.n, D.k)
    C[D.m, D.n] = ReduceFn.max_signed[D.k](cast(A[D.m, D.k]) + cast(B[D.k, D.n]))


@structured_op
def kron_2d(
    A=TensorDef(T1, S.M, S.N),
    B=TensorDef(T2, S.P, S.Q),
    O=TensorDef(U, S.M * S.P, S.N * S.Q, output=True),
):
    """Kronecker product of two matrices as a matrix; `kron` keeps its four axes apart.

        O[i, j] = A[i // P, j // Q] * B[i mod P, j mod Q]

    Shapes: A (M, N), B (P, Q), O (M * P, N * Q).
    Dtypes: any numbers; A and B are cast to that of O, as signed, before the product.
    Source: this library; NumPy's `numpy.kron`.
    """
    domain(D.i, D.j)
    O[D.i, D.j] = product(A[D.i // S.P, D.j // S.Q], B[D.i % S.P, D.j % S.Q])
