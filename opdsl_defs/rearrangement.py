"""Elements in other places: turned over, repeated, transposed, side by side."""

from linalg_ext.opdsl import (
    D,
    IndexAttrDef,
    S,
    StructuredOp,
    T,
    TensorDef,
    TernaryFn,
    domain,
    structured_op,
)

from ._layouts import dims, listed, sizes
from ._values import declared, length, position

__all__ = [
    "batch_transpose",
    "broadcast_columns",
    "broadcast_rows",
    "concatenate",
    "concatenate_columns",
    "concatenate_rows",
    "flip",
    "flip_columns",
    "flip_rows",
    "nchw_to_nhwc",
    "nhwc_to_nchw",
    "repeat",
    "repeat_rows",
    "roll",
    "roll_rows",
    "take_every",
    "tile",
    "tile_2d",
    "transpose_2d",
]


@structured_op
def flip(I=TensorDef(T, S.N), O=TensorDef(T, S.N, output=True)):
    """A vector from its end to its beginning.

        O[n] = I[N - 1 - n]

    Shapes: I (N), O (N).
    Dtypes: any; I and O alike.
    Source: this library; NumPy's `numpy.flip`.
    """
    O[D.n] = I[S.N - 1 - D.n]


@structured_op
def flip_rows(I=TensorDef(T, S.M, S.N), O=TensorDef(T, S.M, S.N, output=True)):
    """Each row from its end to its beginning.

        O[m, n] = I[m, N - 1 - n]

    Shapes: I (M, N), O (M, N).
    Dtypes: any; I and O alike.
    Source: this library; NumPy's `numpy.fliplr`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = I[D.m, S.N - 1 - D.n]


@structured_op
def flip_columns(I=TensorDef(T, S.M, S.N), O=TensorDef(T, S.M, S.N, output=True)):
    """Each column from its end to its beginning.

        O[m, n] = I[M - 1 - m, n]

    Shapes: I (M, N), O (M, N).
    Dtypes: any; I and O alike.
    Source: this library; NumPy's `numpy.flipud`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = I[S.M - 1 - D.m, D.n]


@structured_op
def roll(
    I=TensorDef(T, S.N),
    O=TensorDef(T, S.N, output=True),
    shift=IndexAttrDef(S.K, default=[1], minimum=0),
):
    """A vector turned to the right: the last elements come first.

        O[n] = I[(n - K) mod N]

    Shapes: I (N), O (N).
    Dtypes: any; I and O alike.
    Attributes: shift = [K], 1 unless given; it may exceed N.
    Source: this library; NumPy's `numpy.roll`; to the left by N - K.
    """
    O[D.n] = I[(D.n - S.K) % S.N]


@structured_op
def roll_rows(
    I=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.M, S.N, output=True),
    shift=IndexAttrDef(S.K, default=[1], minimum=0),
):
    """Each row turned to the right: the last elements come first.

        O[m, n] = I[m, (n - K) mod N]

    Shapes: I (M, N), O (M, N).
    Dtypes: any; I and O alike.
    Attributes: shift = [K], 1 unless given; it may exceed N.
    Source: this library; NumPy's `numpy.roll`, axis 1.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = I[D.m, (D.n - S.K) % S.N]


@structured_op
def tile(
    I=TensorDef(T, S.N),
    O=TensorDef(T, S.N * S.K, output=True),
    count=IndexAttrDef(S.K, default=[2]),
):
    """A vector several times, one after the other.

        O[n] = I[n mod N]

    Shapes: I (N), O (N * K).
    Dtypes: any; I and O alike.
    Attributes: count = [K], 2 unless given.
    Source: this library; NumPy's `numpy.tile`.
    """
    O[D.n] = I[D.n % S.N]


@structured_op
def tile_2d(
    I=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.M * S.P, S.N * S.Q, output=True),
    counts=IndexAttrDef(S.P, S.Q, default=[2, 2]),
):
    """A matrix several times, below and beside itself.

        O[m, n] = I[m mod M, n mod N]

    Shapes: I (M, N), O (M * P, N * Q).
    Dtypes: any; I and O alike.
    Attributes: counts = (P, Q), both 2 unless given.
    Source: this library; NumPy's `numpy.tile`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = I[D.m % S.M, D.n % S.N]


@structured_op
def repeat(
    I=TensorDef(T, S.N),
    O=TensorDef(T, S.N * S.K, output=True),
    count=IndexAttrDef(S.K, default=[2]),
):
    """Each element of a vector several times.

        O[n] = I[n // K]

    Shapes: I (N), O (N * K).
    Dtypes: any; I and O alike.
    Attributes: count = [K], 2 unless given.
    Source: this library; NumPy's `numpy.repeat`.
    """
    O[D.n] = I[D.n // S.K]


@structured_op
def repeat_rows(
    I=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.M * S.K, S.N, output=True),
    count=IndexAttrDef(S.K, default=[2]),
):
    """Each row of a matrix several times.

        O[m, n] = I[m // K, n]

    Shapes: I (M, N), O (M * K, N).
    Dtypes: any; I and O alike.
    Attributes: count = [K], 2 unless given.
    Source: this library; NumPy's `numpy.repeat`, axis 0.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = I[D.m // S.K, D.n]


@structured_op
def take_every(
    I=TensorDef(T, S.N),
    O=TensorDef(T, (S.N - 1) // S.K + 1, output=True),
    step=IndexAttrDef(S.K, default=[2]),
):
    """Every so manieth element of a vector, beginning with the first.

        O[n] = I[n * K]

    Shapes: I (N), O ((N - 1) // K + 1).
    Dtypes: any; I and O alike.
    Attributes: step = [K], 2 unless given.
    Source: this library; NumPy's `array[::step]`.
    """
    O[D.n] = I[D.n * S.K]


@structured_op
def transpose_2d(I=TensorDef(T, S.N, S.M), O=TensorDef(T, S.M, S.N, output=True)):
    """A matrix with its rows for columns.

        O[m, n] = I[n, m]

    Shapes: I (N, M), O (M, N).
    Dtypes: any; I and O alike.
    Source: this library; as upstream's `linalg.transpose`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = I[D.n, D.m]


@structured_op
def batch_transpose(I=TensorDef(T, S.B, S.N, S.M), O=TensorDef(T, S.B, S.M, S.N, output=True)):
    """Each matrix of a batch with its rows for columns.

        O[b, m, n] = I[b, n, m]

    Shapes: I (B, N, M), O (B, M, N).
    Dtypes: any; I and O alike.
    Source: this library; as upstream's `linalg.transpose`.
    """
    domain(D.b, D.m, D.n)
    O[D.b, D.m, D.n] = I[D.b, D.n, D.m]


def _moved_channels(layout: str, result: str) -> StructuredOp:
    def op(I=TensorDef(T, *sizes(layout)), O=TensorDef(T, *sizes(result), output=True)):
        domain(*dims(result))
        O[dims(result)] = I[dims(layout)]

    places = ("first", "last") if layout == "nchw" else ("last", "first")
    words = f"""\
Images with their channels moved from {places[0]} to {places[1]}.

    O[{listed(result)}] = I[{listed(layout)}]

Shapes: I ({listed(sizes(layout))}), O ({listed(sizes(result))}).
Dtypes: any; I and O alike.
Source: this library; NumPy's `numpy.moveaxis`."""
    return declared(op, __name__, f"{layout}_to_{result}", words)


nchw_to_nhwc = _moved_channels("nchw", "nhwc")
nhwc_to_nchw = _moved_channels("nhwc", "nchw")


@structured_op
def broadcast_rows(I=TensorDef(T, S.N), O=TensorDef(T, S.M, S.N, output=True)):
    """A vector as each row of a matrix.

        O[m, n] = I[n]

    Shapes: I (N), O (M, N): give it, for M follows from nothing else.
    Dtypes: any; I and O alike.
    Source: this library; as upstream's `linalg.broadcast`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = I[D.n]


@structured_op
def broadcast_columns(I=TensorDef(T, S.M), O=TensorDef(T, S.M, S.N, output=True)):
    """A vector as each column of a matrix.

        O[m, n] = I[m]

    Shapes: I (M), O (M, N): give it, for N follows from nothing else.
    Dtypes: any; I and O alike.
    Source: this library; as upstream's `linalg.broadcast`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = I[D.m]


@structured_op
def concatenate(A=TensorDef(T, S.P), B=TensorDef(T, S.Q), O=TensorDef(T, S.P + S.Q, output=True)):
    """Two vectors, one after the other.

        O[n] = A[n] where n < P, else B[n - P]

    Shapes: A (P), B (Q), O (P + Q); A and B not empty.
    Dtypes: any; all alike.
    Source: this library; NumPy's `numpy.concatenate`.
    """
    is_first = position(D.n) < length(S.P)
    O[D.n] = TernaryFn.select(is_first, A[D.n % S.P], B[(D.n - S.P) % S.Q])


@structured_op
def concatenate_rows(
    A=TensorDef(T, S.P, S.N), B=TensorDef(T, S.Q, S.N), O=TensorDef(T, S.P + S.Q, S.N, output=True)
):
    """Two matrices, one below the other.

        O[m, n] = A[m, n] where m < P, else B[m - P, n]

    Shapes: A (P, N), B (Q, N), O (P + Q, N); A and B not empty.
    Dtypes: any; all alike.
    Source: this library; NumPy's `numpy.concatenate`, axis 0.
    """
    domain(D.m, D.n)
    is_first = position(D.m) < length(S.P)
    O[D.m, D.n] = TernaryFn.select(is_first, A[D.m % S.P, D.n], B[(D.m - S.P) % S.Q, D.n])


@structured_op
def concatenate_columns(
    A=TensorDef(T, S.M, S.P), B=TensorDef(T, S.M, S.Q), O=TensorDef(T, S.M, S.P + S.Q, output=True)
):
    """Two matrices, one beside the other.

        O[m, n] = A[m, n] where n < P, else B[m, n - P]

    Shapes: A (M, P), B (M, Q), O (M, P + Q); A and B not empty.
    Dtypes: any; all alike.
    Source: this library; NumPy's `numpy.concatenate`, axis 1.
    """
    domain(D.m, D.n)
    is_first = position(D.n) < length(S.P)
    O[D.m, D.n] = TernaryFn.select(is_first, A[D.m, D.n % S.P], B[D.m, (D.n - S.P) % S.Q])
