"""Losses: of each element, and cross entropies of the rows of a matrix."""

from linalg_ext.opdsl import (
    I64,
    T1,
    T2,
    BinaryFn,
    D,
    S,
    ScalarDef,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    UnaryFn,
    domain,
    structured_op,
)

from ._values import position

__all__ = [
    "absolute_error",
    "binary_cross_entropy",
    "binary_cross_entropy_of_logits",
    "hinge_loss",
    "huber_loss",
    "kullback_leibler_divergence",
    "log_cosh_loss",
    "row_cross_entropy",
    "row_cross_entropy_of_probabilities",
    "row_entropy",
    "row_negative_log_likelihood",
    "smooth_l1_loss",
]


def _is_label(label, dim):
    """Return whether a label names a position."""
    return BinaryFn.eq(TypeFn.cast_signed(I64, label), position(dim))


@structured_op
def absolute_error(I=TensorDef(T1), target=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Distance of each element to its target.

        O = |I - target|

    Shapes: I, target and O any, alike.
    Dtypes: floats and integers; all alike.
    Source: this library; PyTorch's `torch.nn.L1Loss`, unreduced.
    """
    O[None] = BinaryFn.max(I[None], target[None]) - BinaryFn.min(I[None], target[None])


@structured_op
def huber_loss(
    I=TensorDef(T1), target=TensorDef(T1), delta=ScalarDef(T1), O=TensorDef(T1, output=True)
):
    """Squared error of each element where it is small, linear where it is large.

        O = (I - target) ** 2 / 2 where |I - target| < delta,
            else delta * (|I - target| - delta / 2)

    Shapes: delta a scalar; I, target and O any, alike.
    Dtypes: any float; all alike.
    Source: this library; Huber, Annals of Mathematical Statistics 35, 1964.
    """
    error = UnaryFn.abs(I[None] - target[None])
    linear = delta * (error - 0.5 * delta)
    O[None] = TernaryFn.select(error < delta, 0.5 * error * error, linear)


@structured_op
def smooth_l1_loss(
    I=TensorDef(T1), target=TensorDef(T1), beta=ScalarDef(T1), O=TensorDef(T1, output=True)
):
    """Squared error of each element over beta where it is small, absolute where it is large.

        O = (I - target) ** 2 / (2 * beta) where |I - target| < beta,
            else |I - target| - beta / 2

    Shapes: beta a scalar; I, target and O any, alike.
    Dtypes: any float; all alike. beta is positive.
    Source: this library; PyTorch's `torch.nn.SmoothL1Loss`, unreduced.
    """
    error = UnaryFn.abs(I[None] - target[None])
    squared = 0.5 * error * error / beta
    O[None] = TernaryFn.select(error < beta, squared, error - 0.5 * beta)


@structured_op
def log_cosh_loss(I=TensorDef(T1), target=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Logarithm of the hyperbolic cosine of each error, without an overflow.

        O = log(cosh(I - target)) = |e| + log1p(exp(-2 * |e|)) - log(2), e = I - target

    Shapes: I, target and O any, alike.
    Dtypes: any float; all alike.
    Source: this library; Keras' `LogCosh`, unreduced.
    """
    error = UnaryFn.abs(I[None] - target[None])
    O[None] = error + UnaryFn.log1p(UnaryFn.exp(-2 * error)) - 0.6931471805599453


@structured_op
def hinge_loss(I=TensorDef(T1), target=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Shortfall of each score to the margin on the side of its label.

        O = max(0, 1 - I * target)

    Shapes: I, target and O any, alike.
    Dtypes: floats and integers; all alike. A target is 1 or -1.
    Source: this library; scikit-learn's `hinge_loss`, unreduced.
    """
    O[None] = 1 - BinaryFn.min(I[None] * target[None], 1)


@structured_op
def binary_cross_entropy(I=TensorDef(T1), target=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Cross entropy of each probability and its target.

        O = -(target * log(I) + (1 - target) * log(1 - I)), 0 * log(0) being 0

    Shapes: I, target and O any, alike.
    Dtypes: any float; all alike. I and target are between 0 and 1.
    Source: this library; PyTorch's `torch.nn.BCELoss`, unreduced and not limited.
    """
    p, q = I[None], target[None]
    positive = TernaryFn.select(BinaryFn.eq(q, 0), 0, q * UnaryFn.log(p))
    negative = TernaryFn.select(BinaryFn.eq(q, 1), 0, (1 - q) * UnaryFn.log1p(-p))
    O[None] = -(positive + negative)


@structured_op
def binary_cross_entropy_of_logits(
    I=TensorDef(T1), target=TensorDef(T1), O=TensorDef(T1, output=True)
):
    """Cross entropy of each logit's probability and its target, without an overflow.

        O = max(I, 0) - I * target + log1p(exp(-|I|))

    Shapes: I, target and O any, alike.
    Dtypes: any float; all alike.
    Source: this library; PyTorch's `torch.nn.BCEWithLogitsLoss`, unreduced.
    """
    x = I[None]
    O[None] = BinaryFn.max(x, 0) - x * target[None] + UnaryFn.log1p(UnaryFn.exp(-UnaryFn.abs(x)))


@structured_op
def kullback_leibler_divergence(
    I=TensorDef(T1), target=TensorDef(T1), O=TensorDef(T1, output=True)
):
    """Relative entropy of each target to a log-probability.

        O = target * (log(target) - I), and 0 where target is 0

    Shapes: I, target and O any, alike.
    Dtypes: any float; all alike.
    Source: this library; PyTorch's `torch.nn.KLDivLoss`, unreduced.
    """
    q = target[None]
    O[None] = TernaryFn.select(BinaryFn.eq(q, 0), 0, q * (UnaryFn.log(q) - I[None]))


@structured_op
def row_negative_log_likelihood(
    X=TensorDef(T, S.M, S.N),
    labels=TensorDef(T2, S.M),
    O=TensorDef(T, S.M, output=True),
):
    """The element of each row at its label, subtracted from O.

        O[m] += -X[m, labels[m]]

    Shapes: X (M, N) log-probabilities, labels (M), O (M); a label outside of [0, N) gives 0.
    Dtypes: X and O any number, alike; labels signed integers.
    Source: this library; PyTorch's `torch.nn.NLLLoss`, unreduced.
    """
    domain(D.m, D.n)
    O[D.m] += TernaryFn.select(_is_label(labels[D.m], D.n), 0 - X[D.m, D.n], 0)


@structured_op
def row_cross_entropy(
    X=TensorDef(T, S.M, S.N),
    maximum=TensorDef(T, S.M),
    total=TensorDef(T, S.M),
    labels=TensorDef(T2, S.M),
    O=TensorDef(T, S.M, output=True),
):
    """Cross entropy of the softmax of each row and its label, added to O.

        O[m] += log(total[m]) + maximum[m] - X[m, labels[m]]

    Shapes: X (M, N) logits, maximum (M) as `row_max` and total (M) as `row_sum_of_exponentials`
    give them, labels (M), O (M); a label outside of [0, N) gives 0.
    Dtypes: any float, all but labels alike; labels signed integers.
    Source: this library; PyTorch's `torch.nn.CrossEntropyLoss`, unreduced.
    """
    domain(D.m, D.n)
    loss = UnaryFn.log(total[D.m]) + maximum[D.m] - X[D.m, D.n]
    O[D.m] += TernaryFn.select(_is_label(labels[D.m], D.n), loss, 0)


@structured_op
def row_cross_entropy_of_probabilities(
    X=TensorDef(T, S.M, S.N),
    target=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.M, output=True),
):
    """Cross entropy of each row of log-probabilities and its row of probabilities, added to O.

        O[m] += sum over n of -target[m, n] * X[m, n], 0 where target is 0

    Shapes: X and target (M, N), O (M).
    Dtypes: any float; all alike.
    Source: this library; PyTorch's `torch.nn.CrossEntropyLoss` of probabilities, unreduced.
    """
    domain(D.m, D.n)
    q = target[D.m, D.n]
    O[D.m] += TernaryFn.select(BinaryFn.eq(q, 0), 0, -q * X[D.m, D.n])


@structured_op
def row_entropy(X=TensorDef(T, S.M, S.N), O=TensorDef(T, S.M, output=True)):
    """Entropy of each row of probabilities, added to O.

        O[m] += sum over n of -X[m, n] * log(X[m, n]), 0 where X is 0

    Shapes: X (M, N), O (M).
    Dtypes: any float; X and O alike.
    Source: this library; SciPy's `scipy.stats.entropy`, axis 1, without its normalization.
    """
    domain(D.m, D.n)
    p = X[D.m, D.n]
    O[D.m] += TernaryFn.select(BinaryFn.eq(p, 0), 0, -p * UnaryFn.log(p))
