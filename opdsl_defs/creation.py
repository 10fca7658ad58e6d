"""Tensors made from numbers and positions: filled, random, ranges, identity, masks, one-hot."""

from linalg_ext.opdsl import (
    F64,
    I32,
    I64,
    T1,
    BinaryFn,
    Canonicalizer,
    D,
    FillOpInterface,
    S,
    ScalarDef,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    UnaryFn,
    const,
    defines,
    domain,
    implements,
    index,
    size,
    structured_op,
)

__all__ = [
    "arange",
    "eye",
    "fill",
    "fill_rng_2d",
    "hann_window",
    "indices_2d",
    "linspace",
    "logspace",
    "one_hot",
    "sinusoidal_positions",
    "tri",
]


def _position(dim):
    return TypeFn.cast_signed(I64, index(dim))


def _is_zero(number):
    """1 where a 64-bit integer is 0, else 0; right even where the subtraction wraps around."""
    return BinaryFn.max_signed(1 - BinaryFn.max_signed(number, 0 - number), 0)


@structured_op
def fill(value=ScalarDef(T), O=TensorDef(T, output=True)):
    """A tensor of one number.

        O = value

    Shapes: value a scalar; O any.
    Dtypes: any; value and O alike.
    Source: upstream's `linalg.fill`.
    """
    implements(FillOpInterface)
    defines(Canonicalizer)
    O[None] = value


@structured_op
def fill_rng_2d(
    min=ScalarDef(F64),
    max=ScalarDef(F64),
    seed=ScalarDef(I32),
    O=TensorDef(T, S.M, S.N, output=True),
):
    """A matrix of pseudo-random numbers between two bounds, the same for equal seeds.

        r(x) = x * 1103515245 + 12345 in 32 bits
        O[m, n] = min + (max - min) * (r(r(m + seed) + n) + 2147483647) * 2.3283064e-10

    A linear congruential generator, started again at each element from its position: quick, and
    good enough for test data only.

    Shapes: min, max and seed scalars, O (M, N).
    Dtypes: min and max float64, seed int32; O any number, cast from float64.
    Source: upstream's `linalg.fill_rng_2d`.
    """
    domain(D.m, D.n)
    multiplier = TypeFn.cast_signed(I32, const(1103515245))
    increment = TypeFn.cast_signed(I32, const(12345))
    row = (TypeFn.cast_signed(I32, index(D.m)) + seed) * multiplier + increment
    element = (TypeFn.cast_signed(I32, index(D.n)) + row) * multiplier + increment
    step = TypeFn.cast_signed(F64, const(2.3283064e-10))
    offset = TypeFn.cast_signed(F64, const(2147483647))
    scale = (max - min) * step
    O[D.m, D.n] = TypeFn.cast_signed(T, (offset + TypeFn.cast_signed(F64, element)) * scale + min)


@structured_op
def arange(start=ScalarDef(T), step=ScalarDef(T), O=TensorDef(T, S.N, output=True)):
    """Numbers at equal distances.

        O[n] = start + n * step

    Shapes: start and step scalars, O (N).
    Dtypes: any number; all alike. The position n is cast to it.
    Source: this library; NumPy's `numpy.arange`, with a length for the end.
    """
    O[D.n] = start + TypeFn.cast_signed(T, index(D.n)) * step


@structured_op
def eye(O=TensorDef(T, S.M, S.N, output=True)):
    """A matrix with ones on its diagonal and zeros elsewhere.

        O[m, n] = 1 where m = n, else 0

    Shapes: O (M, N).
    Dtypes: any number.
    Source: this library; NumPy's `numpy.eye`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = TypeFn.cast_signed(T, _is_zero(_position(D.m) - _position(D.n)))


@structured_op
def tri(offset=ScalarDef(I64), O=TensorDef(T, S.M, S.N, output=True)):
    """A matrix with ones at and below a diagonal and zeros above: a causal mask.

        O[m, n] = 1 where n <= m + offset, else 0

    Shapes: offset a scalar, 0 for the main diagonal, less for one below it; O (M, N).
    Dtypes: offset int64, far from the ends of its range; O any number.
    Source: this library; NumPy's `numpy.tri`.
    """
    domain(D.m, D.n)
    below = _position(D.m) - _position(D.n) + offset + 1
    O[D.m, D.n] = TypeFn.cast_signed(T, BinaryFn.min_signed(BinaryFn.max_signed(below, 0), 1))


@structured_op
def one_hot(
    labels=TensorDef(T1, S.M),
    O=TensorDef(T, S.M, S.N, output=True),
):
    """Rows of zeros, but for a one at the place that a label gives.

        O[m, n] = 1 where n = labels[m], else 0

    Shapes: labels (M), O (M, N); a label below 0 or at N and above gives a row of zeros.
    Dtypes: labels signed integers; O any number.
    Source: this library; PyTorch's `torch.nn.functional.one_hot`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = TypeFn.cast_signed(
        T, _is_zero(TypeFn.cast_signed(I64, labels[D.m]) - _position(D.n))
    )


@structured_op
def linspace(start=ScalarDef(T), stop=ScalarDef(T), O=TensorDef(T, S.N, output=True)):
    """Numbers at equal distances, from one to another.

        O[n] = start + (stop - start) * (n / (N - 1))

    Shapes: start and stop scalars, O (N), N > 1: give it, for N follows from nothing else.
    Dtypes: any float; all alike.
    Source: this library; NumPy's `numpy.linspace`.
    """
    distance = UnaryFn.reciprocal(TypeFn.cast_signed(T, size(S.N) - 1))
    O[D.n] = start + (stop - start) * (TypeFn.cast_signed(T, index(D.n)) * distance)


@structured_op
def logspace(
    start=ScalarDef(T), stop=ScalarDef(T), base=ScalarDef(T), O=TensorDef(T, S.N, output=True)
):
    """Numbers at equal ratios, from one power of a base to another.

        O[n] = base ** (start + (stop - start) * (n / (N - 1)))

    Shapes: start, stop and base scalars, O (N), N > 1: give it, for N follows from nothing else.
    Dtypes: any float; all alike.
    Source: this library; NumPy's `numpy.logspace`.
    """
    distance = UnaryFn.reciprocal(TypeFn.cast_signed(T, size(S.N) - 1))
    exponent = start + (stop - start) * (TypeFn.cast_signed(T, index(D.n)) * distance)
    O[D.n] = BinaryFn.powf(base, exponent)


@structured_op
def indices_2d(
    O=TensorDef(I64, S.M, S.N, output=True), columns=TensorDef(I64, S.M, S.N, output=True)
):
    """The place of each element of a matrix: its row and its column.

        O[m, n] = m
        columns[m, n] = n

    Shapes: O and columns (M, N): give them, for M and N follow from nothing else.
    Dtypes: O and columns int64.
    Source: this library; NumPy's `numpy.indices`.
    """
    domain(D.m, D.n)
    O[D.m, D.n] = _position(D.m)
    columns[D.m, D.n] = _position(D.n)


@structured_op
def sinusoidal_positions(base=ScalarDef(T), O=TensorDef(T, S.M, S.N, output=True)):
    """Sines and cosines of positions, at wavelengths that grow with the column.

        O[m, n] = sin(m / base ** (n / N)) where n is even, else cos(m / base ** ((n - 1) / N))

    Shapes: base a scalar, 10000 most often, O (M, N): give it, which says how large.
    Dtypes: any float; base and O alike.
    Source: this library; Vaswani et al., NIPS 2017.
    """
    domain(D.m, D.n)
    odd = BinaryFn.rem(_position(D.n), 2)
    exponent = TypeFn.cast_signed(T, _position(D.n) - odd) / TypeFn.cast_signed(T, size(S.N))
    angle = TypeFn.cast_signed(T, index(D.m)) / BinaryFn.powf(base, exponent)
    O[D.m, D.n] = TernaryFn.select(BinaryFn.eq(odd, 0), UnaryFn.sin(angle), UnaryFn.cos(angle))


@structured_op
def hann_window(O=TensorDef(T, S.N, output=True)):
    """A raised cosine that begins and ends at zero.

        O[n] = (1 - cos(2 * pi * n / (N - 1))) / 2

    Shapes: O (N), N > 1: give it, for N follows from nothing else.
    Dtypes: any float.
    Source: this library; NumPy's `numpy.hanning`.
    """
    distance = UnaryFn.reciprocal(TypeFn.cast_signed(T, size(S.N) - 1))
    angle = 6.283185307179586 * (TypeFn.cast_signed(T, index(D.n)) * distance)
    O[D.n] = 0.5 - 0.5 * UnaryFn.cos(angle)
