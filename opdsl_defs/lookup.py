"""Rows of a table by labels, counts and sums by labels: all by comparing them with positions."""

from linalg_ext.opdsl import (
    I64,
    T1,
    BinaryFn,
    D,
    S,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    domain,
    structured_op,
)

from ._values import position

__all__ = [
    "embedding",
    "histogram",
    "segment_sum",
]


@structured_op
def embedding(
    A=TensorDef(T, S.K, S.N), labels=TensorDef(T1, S.M), O=TensorDef(T, S.M, S.N, output=True)
):
    """The rows of a table that labels name, added to O: an embedding.

        O[m, n] += A[labels[m], n]

    A structured op indexes by positions alone: it compares each label with every row of the table.
    Compiled the row is looked up. A row of -inf or NaN elsewhere in the table does no harm.

    Shapes: A (K, N), labels (M), O (M, N); a label outside of [0, K) adds nothing.
    Dtypes: A and O any number, alike; labels signed integers.
    Source: this library; PyTorch's `torch.nn.functional.embedding`.
    """
    domain(D.m, D.n, D.k)
    is_named = BinaryFn.eq(TypeFn.cast_signed(I64, labels[D.m]), position(D.k))
    O[D.m, D.n] += TernaryFn.select(is_named, A[D.k, D.n], 0)


@structured_op
def histogram(labels=TensorDef(T1, S.M), O=TensorDef(I64, S.N, output=True)):
    """Counts of each label, added to O.

        O[n] += sum over m of 1 where labels[m] = n, else 0

    Shapes: labels (M), O (N): give it, for N follows from nothing else; others are not counted.
    Dtypes: labels signed integers; O int64.
    Source: this library; NumPy's `numpy.bincount`.
    """
    domain(D.n, D.m)
    is_met = BinaryFn.eq(TypeFn.cast_signed(I64, labels[D.m]), position(D.n))
    O[D.n] += TypeFn.cast_unsigned(I64, is_met)


@structured_op
def segment_sum(
    A=TensorDef(T, S.M, S.N), labels=TensorDef(T1, S.M), O=TensorDef(T, S.K, S.N, output=True)
):
    """Sum of the rows of each label, added to O.

        O[k, n] += sum over m of A[m, n] where labels[m] = k

    Shapes: A (M, N), labels (M), O (K, N): give it, for K follows from nothing else.
    Dtypes: A and O any number, alike; labels signed integers.
    Source: this library; TensorFlow's `tf.math.unsorted_segment_sum`.
    """
    domain(D.k, D.n, D.m)
    is_met = BinaryFn.eq(TypeFn.cast_signed(I64, labels[D.m]), position(D.k))
    O[D.k, D.n] += TernaryFn.select(is_met, A[D.m, D.n], 0)
