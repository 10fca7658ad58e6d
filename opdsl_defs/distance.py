"""Distances and similarities: of two vectors, and of each row of A to each row of B.

The last two are the second step of the way by a matrix product, which is quicker for long rows: G
is `matmul_transpose_b(A, B)`, the squared norms are `row_sum_of_squares` of A and of B.
"""

from linalg_ext.opdsl import (
    I64,
    T1,
    T2,
    BinaryFn,
    D,
    ReduceFn,
    S,
    TensorDef,
    TypeFn,
    U,
    UnaryFn,
    domain,
    structured_op,
)

from ._values import cast

__all__ = [
    "cosine_similarity_from_products",
    "hamming_distance",
    "pairwise_chebyshev_distance",
    "pairwise_hamming_distance",
    "pairwise_manhattan_distance",
    "pairwise_squared_euclidean_distance",
    "squared_euclidean_distance",
    "squared_euclidean_distance_from_products",
]


def _difference(x, y):
    return cast(x) - cast(y)


def _absolute_difference(x, y):
    """|x - y|, of unsigned integers too."""
    x, y = cast(x), cast(y)
    return BinaryFn.max_signed(x, y) - BinaryFn.min_signed(x, y)


@structured_op
def squared_euclidean_distance(
    A=TensorDef(T1, S.K),
    B=TensorDef(T2, S.K),
    O=TensorDef(U, output=True),
):
    """Squared Euclidean distance of two vectors, added to the scalar O.

        O += sum over k of (A[k] - B[k]) ** 2

    Shapes: A (K), B (K), O ().
    Dtypes: any numbers; A and B are cast to that of O, as signed, before the difference.
    Source: this library; SciPy's `scipy.spatial.distance.sqeuclidean`.
    """
    O[None] += _difference(A[D.k], B[D.k]) * _difference(A[D.k], B[D.k])


@structured_op
def pairwise_squared_euclidean_distance(
    A=TensorDef(T1, S.M, S.K),
    B=TensorDef(T2, S.N, S.K),
    O=TensorDef(U, S.M, S.N, output=True),
):
    """Squared Euclidean distance of each row of A to each row of B, added to O.

        O[m, n] += sum over k of (A[m, k] - B[n, k]) ** 2

    Shapes: A (M, K), B (N, K), O (M, N).
    Dtypes: any numbers; A and B are cast to that of O, as signed, before the difference.
    Source: this library; SciPy's `scipy.spatial.distance.cdist`, metric sqeuclidean.
    """
    domain(D.m, D.n, D.k)
    O[D.m, D.n] += _difference(A[D.m, D.k], B[D.n, D.k]) * _difference(A[D.m, D.k], B[D.n, D.k])


@structured_op
def pairwise_manhattan_distance(
    A=TensorDef(T1, S.M, S.K),
    B=TensorDef(T2, S.N, S.K),
    O=TensorDef(U, S.M, S.N, output=True),
):
    """Manhattan distance of each row of A to each row of B, added to O.

        O[m, n] += sum over k of |A[m, k] - B[n, k]|

    Shapes: A (M, K), B (N, K), O (M, N).
    Dtypes: floats and integers; A and B are cast to that of O before the difference.
    Source: this library; SciPy's `scipy.spatial.distance.cdist`, metric cityblock.
    """
    domain(D.m, D.n, D.k)
    O[D.m, D.n] += _absolute_difference(A[D.m, D.k], B[D.n, D.k])


@structured_op
def pairwise_chebyshev_distance(
    A=TensorDef(T1, S.M, S.K),
    B=TensorDef(T2, S.N, S.K),
    O=TensorDef(U, S.M, S.N, output=True),
):
    """Chebyshev distance of each row of A to each row of B.

        O[m, n] = the maximum of O[m, n] and, over k, |A[m, k] - B[n, k]|

    Shapes: A (M, K), B (N, K), O (M, N).
    Dtypes: floats and integers; A and B are cast to that of O before the difference.
    Source: this library; SciPy's `scipy.spatial.distance.cdist`, metric chebyshev.
    """
    domain(D.m, D.n, D.k)
    O[D.m, D.n] = ReduceFn.max_signed[D.k](_absolute_difference(A[D.m, D.k], B[D.n, D.k]))


@structured_op
def squared_euclidean_distance_from_products(
    G=TensorDef(T1, S.M, S.N),
    a=TensorDef(T1, S.M),
    b=TensorDef(T1, S.N),
    O=TensorDef(T1, S.M, S.N, output=True),
):
    """Squared Euclidean distances from inner products and squared norms.

        O[m, n] = max(a[m] + b[n] - 2 * G[m, n], 0)

    Quicker than `pairwise_squared_euclidean_distance` and less exact for rows that are near to
    each other: digits cancel.

    Shapes: G (M, N) the products of rows, a (M) and b (N) their squared norms, O (M, N).
    Dtypes: floats and integers; all alike.
    Source: this library; scikit-learn's `euclidean_distances`.
    """
    domain(D.m, D.n)
    twice = 2 * G[D.m, D.n]
    O[D.m, D.n] = BinaryFn.max_signed(a[D.m] + b[D.n], twice) - twice


@structured_op
def cosine_similarity_from_products(
    G=TensorDef(T1, S.M, S.N),
    a=TensorDef(T1, S.M),
    b=TensorDef(T1, S.N),
    O=TensorDef(T1, S.M, S.N, output=True),
):
    """Cosines of the angles between rows, from inner products and squared norms.

        O[m, n] = G[m, n] / (sqrt(a[m]) * sqrt(b[n]))

    Shapes: G (M, N) the products of rows, a (M) and b (N) their squared norms, O (M, N).
    Dtypes: any float; all alike. A row of zeros gives NaN.
    Source: this library; scikit-learn's `cosine_similarity`, which gives 0 for a row of zeros.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = G[D.m, D.n] / (UnaryFn.sqrt(a[D.m]) * UnaryFn.sqrt(b[D.n]))


@structured_op
def hamming_distance(A=TensorDef(T1, S.K), B=TensorDef(T1, S.K), O=TensorDef(I64, output=True)):
    """Number of places where two vectors differ, added to the scalar O.

        O += sum over k of 1 where A[k] != B[k], else 0

    Shapes: A (K), B (K), O ().
    Dtypes: A and B any number or booleans, alike; O int64. NaN differs from everything.
    Source: this library; SciPy's `scipy.spatial.distance.hamming`, times K.
    """
    O[None] += TypeFn.cast_unsigned(I64, BinaryFn.ne(A[D.k], B[D.k]))


@structured_op
def pairwise_hamming_distance(
    A=TensorDef(T1, S.M, S.K),
    B=TensorDef(T1, S.N, S.K),
    O=TensorDef(I64, S.M, S.N, output=True),
):
    """Number of places where each row of A and each row of B differ, added to O.

        O[m, n] += sum over k of 1 where A[m, k] != B[n, k], else 0

    Shapes: A (M, K), B (N, K), O (M, N).
    Dtypes: A and B any number or booleans, alike; O int64. NaN differs from everything.
    Source: this library; SciPy's `scipy.spatial.distance.cdist`, metric hamming, times K.
    """
    domain(D.m, D.n, D.k)
    O[D.m, D.n] += TypeFn.cast_unsigned(I64, BinaryFn.ne(A[D.m, D.k], B[D.n, D.k]))
