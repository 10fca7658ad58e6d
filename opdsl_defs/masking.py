"""Elements kept or replaced by where they stand: triangles, bands, masks of attention scores.

Letters of attention: B batch, H heads, Q queries, K keys, D features.
"""

from linalg_ext.opdsl import (
    I1,
    I64,
    D,
    S,
    ScalarDef,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    domain,
    structured_op,
)

from ._values import length, position

__all__ = [
    "band",
    "causal_mask_scores",
    "length_mask_scores",
    "linear_bias_scores",
    "mask_scores",
    "rotary_embedding",
    "sliding_window_mask_scores",
    "tril",
    "triu",
]


@structured_op
def tril(A=TensorDef(T, S.M, S.N), offset=ScalarDef(I64), O=TensorDef(T, S.M, S.N, output=True)):
    """The elements of a matrix at and below a diagonal, and zeros elsewhere.

        O[m, n] = A[m, n] where n <= m + offset, else 0

    Shapes: A (M, N), O (M, N), offset a scalar, 0 for the main diagonal, less for one below it.
    Dtypes: any number; A and O alike; offset int64, far from the ends of its range.
    Source: this library; NumPy's `numpy.tril`.
    """
    domain(D.m, D.n)
    is_kept = position(D.n) <= position(D.m) + offset
    O[D.m, D.n] = TernaryFn.select(is_kept, A[D.m, D.n], 0)


@structured_op
def triu(A=TensorDef(T, S.M, S.N), offset=ScalarDef(I64), O=TensorDef(T, S.M, S.N, output=True)):
    """The elements of a matrix at and above a diagonal, and zeros elsewhere.

        O[m, n] = A[m, n] where n >= m + offset, else 0

    Shapes: A (M, N), O (M, N), offset a scalar, 0 for the main diagonal, less for one below it.
    Dtypes: any number; A and O alike; offset int64, far from the ends of its range.
    Source: this library; NumPy's `numpy.triu`.
    """
    domain(D.m, D.n)
    is_kept = position(D.n) >= position(D.m) + offset
    O[D.m, D.n] = TernaryFn.select(is_kept, A[D.m, D.n], 0)


@structured_op
def band(
    A=TensorDef(T, S.M, S.N),
    below=ScalarDef(I64),
    above=ScalarDef(I64),
    O=TensorDef(T, S.M, S.N, output=True),
):
    """The elements of a matrix near its main diagonal, and zeros elsewhere.

        O[m, n] = A[m, n] where m - below <= n <= m + above, else 0

    Shapes: A (M, N), O (M, N), below and above scalars: how many diagonals on each side stay.
    Dtypes: any number; A and O alike; below and above int64, far from the ends of its range.
    Source: this library; TensorFlow's `tf.linalg.band_part`.
    """
    domain(D.m, D.n)
    offset = position(D.n) - position(D.m)
    O[D.m, D.n] = TernaryFn.select((offset >= 0 - below) & (offset <= above), A[D.m, D.n], 0)


@structured_op
def causal_mask_scores(
    scores=TensorDef(T, S.B, S.H, S.Q, S.K),
    value=ScalarDef(T),
    O=TensorDef(T, S.B, S.H, S.Q, S.K, output=True),
):
    """Scores of the keys that a query may see, none from its future.

        O[b, h, q, k] = scores[b, h, q, k] where k <= q + K - Q, else value

    Shapes: scores and O (B, H, Q, K), value a scalar, minus infinity most often; the last query
    sees every key.
    Dtypes: any; all alike.
    Source: this library; Vaswani et al., NIPS 2017; with K > Q, a cache of keys.
    """
    domain(D.b, D.h, D.q, D.k)
    lag = position(D.q) + length(S.K) - length(S.Q) - position(D.k)
    is_seen = lag >= 0
    O[D.b, D.h, D.q, D.k] = TernaryFn.select(is_seen, scores[D.b, D.h, D.q, D.k], value)


@structured_op
def sliding_window_mask_scores(
    scores=TensorDef(T, S.B, S.H, S.Q, S.K),
    window=ScalarDef(I64),
    value=ScalarDef(T),
    O=TensorDef(T, S.B, S.H, S.Q, S.K, output=True),
):
    """Scores of the latest keys that a query may see, as many as a window has.

        O[b, h, q, k] = scores[b, h, q, k] where 0 <= q + K - Q - k < window, else value

    Shapes: scores and O (B, H, Q, K), value a scalar, minus infinity most often; window
    a scalar; the last query sees the last keys.
    Dtypes: any; all alike; window int64.
    Source: this library; Beltagy et al., arXiv 2004.05150.
    """
    domain(D.b, D.h, D.q, D.k)
    lag = position(D.q) + length(S.K) - length(S.Q) - position(D.k)
    is_seen = (lag >= 0) & (lag < window)
    O[D.b, D.h, D.q, D.k] = TernaryFn.select(is_seen, scores[D.b, D.h, D.q, D.k], value)


@structured_op
def length_mask_scores(
    scores=TensorDef(T, S.B, S.H, S.Q, S.K),
    lengths=TensorDef(I64, S.B),
    value=ScalarDef(T),
    O=TensorDef(T, S.B, S.H, S.Q, S.K, output=True),
):
    """Scores of the keys within the length of each sequence of a batch.

        O[b, h, q, k] = scores[b, h, q, k] where k < lengths[b], else value

    Shapes: scores and O (B, H, Q, K), value a scalar, minus infinity most often; lengths (B).
    Dtypes: any; all alike; lengths int64.
    Source: this library; the padding mask of PyTorch's `MultiheadAttention`.
    """
    domain(D.b, D.h, D.q, D.k)
    is_seen = position(D.k) < lengths[D.b]
    O[D.b, D.h, D.q, D.k] = TernaryFn.select(is_seen, scores[D.b, D.h, D.q, D.k], value)


@structured_op
def mask_scores(
    scores=TensorDef(T, S.B, S.H, S.Q, S.K),
    mask=TensorDef(I1, S.B, S.H, S.Q, S.K),
    value=ScalarDef(T),
    O=TensorDef(T, S.B, S.H, S.Q, S.K, output=True),
):
    """Scores where a mask is true, a number elsewhere.

        O[b, h, q, k] = scores[b, h, q, k] where mask[b, h, q, k], else value

    Shapes: scores and O (B, H, Q, K), value a scalar, minus infinity most often; mask (B, H, Q, K).
    Dtypes: any; all alike; mask boolean.
    Source: this library; PyTorch's `masked_fill`, of the mask's opposite.
    """
    domain(D.b, D.h, D.q, D.k)
    is_seen = mask[D.b, D.h, D.q, D.k]
    O[D.b, D.h, D.q, D.k] = TernaryFn.select(is_seen, scores[D.b, D.h, D.q, D.k], value)


@structured_op
def linear_bias_scores(
    scores=TensorDef(T, S.B, S.H, S.Q, S.K),
    slopes=TensorDef(T, S.H),
    O=TensorDef(T, S.B, S.H, S.Q, S.K, output=True),
):
    """Scores less their distance from the query to the key, by a slope for each head: ALiBi.

        O[b, h, q, k] = scores[b, h, q, k] - slopes[h] * (q + K - Q - k)

    Shapes: scores and O (B, H, Q, K), slopes (H); the last query is at the last key.
    Dtypes: any number; all alike.
    Source: this library; Press et al., ICLR 2022.
    """
    domain(D.b, D.h, D.q, D.k)
    lag = position(D.q) + length(S.K) - length(S.Q) - position(D.k)
    O[D.b, D.h, D.q, D.k] = scores[D.b, D.h, D.q, D.k] - slopes[D.h] * TypeFn.cast_signed(T, lag)


@structured_op
def rotary_embedding(
    X=TensorDef(T, S.B, S.H, S.Q, S.D),
    cosines=TensorDef(T, S.Q, S.D),
    sines=TensorDef(T, S.Q, S.D),
    O=TensorDef(T, S.B, S.H, S.Q, S.D, output=True),
):
    """Queries or keys turned by angles that their positions give, in halves: RoPE.

        O[b, h, q, d] = X[b, h, q, d] * cosines[q, d] + r(d) * sines[q, d]
        r(d) = -X[b, h, q, d + D / 2] where d < D / 2, else X[b, h, q, d - D / 2]

    Shapes: X (B, H, Q, D), cosines and sines (Q, D), O (B, H, Q, D); D is even.
    Dtypes: any float; all alike.
    Source: this library; Su et al., arXiv 2104.09864, as in GPT-NeoX.
    """
    domain(D.b, D.h, D.q, D.d)
    other = X[D.b, D.h, D.q, (D.d + S.D // 2) % S.D]
    turned = TernaryFn.select(position(D.d) < length(S.D) / 2, -other, other)
    O[D.b, D.h, D.q, D.d] = X[D.b, D.h, D.q, D.d] * cosines[D.q, D.d] + turned * sines[D.q, D.d]
