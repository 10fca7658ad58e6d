"""Activation functions: one tensor, element by element, at any rank.

Each computes in the type of its operand. Those for floats alone refuse integers by the functions
that they apply (exp, erf, tanh, reciprocal), or by numbers such as 0.5 that no integer is.
"""

from linalg_ext.opdsl import (
    T1,
    BinaryFn,
    D,
    S,
    ScalarDef,
    TensorDef,
    TernaryFn,
    TypeFn,
    UnaryFn,
    domain,
    structured_op,
)

__all__ = [
    "celu",
    "elu",
    "gated_linear_unit",
    "gelu",
    "gelu_tanh",
    "hard_shrink",
    "hard_sigmoid",
    "hard_swish",
    "hard_tanh",
    "leaky_relu",
    "log_sigmoid",
    "mish",
    "parametric_relu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_shrink",
    "softplus",
    "softsign",
    "squared_relu",
    "swish_gated_linear_unit",
    "threshold",
]


def _softplus(x):
    """log(1 + exp(x)), without an overflow for large x."""
    return BinaryFn.max_signed(x, 0) + UnaryFn.log(1 + UnaryFn.exp(-UnaryFn.abs(x)))


def _hard_sigmoid(x):
    """`x / 6 + 1 / 2` within 0 and 1."""
    return TernaryFn.clamp(x * 0.16666666666666666 + 0.5, 0, 1)


@structured_op
def relu(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """The larger of each element and zero, integers as signed.

        O = max(I, 0)

    Shapes: any; I and O alike.
    Dtypes: floats and integers; I and O alike. NaN stays NaN.
    Source: this library; Nair and Hinton, ICML 2010.
    """
    O[None] = BinaryFn.max_signed(I[None], 0)


@structured_op
def relu6(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each element, limited to the interval from zero to six, integers as signed.

        O = min(max(I, 0), 6)

    Shapes: any; I and O alike.
    Dtypes: floats and integers; I and O alike. NaN stays NaN.
    Source: this library; PyTorch's `torch.nn.ReLU6`.
    """
    O[None] = BinaryFn.min_signed(BinaryFn.max_signed(I[None], 0), 6)


@structured_op
def leaky_relu(I=TensorDef(T1), slope=ScalarDef(T1), O=TensorDef(T1, output=True)):
    """Each element where it is positive, else scaled by a slope.

        O = max(I, 0) + slope * min(I, 0)

    Shapes: slope a scalar; I and O any, alike.
    Dtypes: any float; all alike. An infinite element of slope 0 gives NaN.
    Source: this library; Maas et al., ICML 2013.
    """
    O[None] = BinaryFn.max_signed(I[None], 0) + slope * BinaryFn.min_signed(I[None], 0)


@structured_op
def elu(I=TensorDef(T1), alpha=ScalarDef(T1), O=TensorDef(T1, output=True)):
    """Each element where it is positive, else an exponential that tends to -alpha.

        O = max(I, 0) + alpha * (exp(min(I, 0)) - 1)

    Shapes: alpha a scalar; I and O any, alike.
    Dtypes: any float; all alike.
    Source: this library; Clevert et al., ICLR 2016.
    """
    negative = UnaryFn.exp(BinaryFn.min_signed(I[None], 0)) - 1
    O[None] = BinaryFn.max_signed(I[None], 0) + alpha * negative


@structured_op
def sigmoid(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Logistic function of each element.

        O = 1 / (1 + exp(-I))

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. No overflow: exp(-I) may be inf, which gives 0.
    Source: this library; SciPy's `scipy.special.expit`.
    """
    O[None] = UnaryFn.reciprocal(1 + UnaryFn.exp(-I[None]))


@structured_op
def log_sigmoid(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Logarithm of the logistic function of each element.

        O = log(1 / (1 + exp(-I))) = min(I, 0) - log(1 + exp(-|I|))

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. The second form, which cannot overflow, is computed.
    Source: this library; SciPy's `scipy.special.log_expit`.
    """
    O[None] = BinaryFn.min_signed(I[None], 0) - UnaryFn.log(1 + UnaryFn.exp(-UnaryFn.abs(I[None])))


@structured_op
def silu(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each element times its logistic function, also known as swish.

        O = I / (1 + exp(-I))

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. -inf gives NaN.
    Source: this library; Elfwing et al., Neural Networks 107, 2018.
    """
    O[None] = I[None] / (1 + UnaryFn.exp(-I[None]))


@structured_op
def gelu(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Gaussian error linear unit of each element, by the error function.

        O = I / 2 * (1 + erf(I / sqrt(2)))

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. -inf gives NaN.
    Source: this library; Hendrycks and Gimpel, arXiv 1606.08415.
    """
    O[None] = 0.5 * I[None] * (1 + UnaryFn.erf(I[None] * 0.7071067811865476))


@structured_op
def gelu_tanh(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Gaussian error linear unit of each element, approximated by a hyperbolic tangent.

        O = I / 2 * (1 + tanh(sqrt(2 / pi) * (I + 0.044715 * I * I * I)))

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. Within 0.0005 of `gelu`; -inf gives NaN.
    Source: this library; Hendrycks and Gimpel, arXiv 1606.08415.
    """
    x = I[None]
    O[None] = 0.5 * x * (1 + UnaryFn.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


@structured_op
def softplus(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Logarithm of one plus the exponential of each element, a smooth `relu`.

        O = log(1 + exp(I)) = max(I, 0) + log(1 + exp(-|I|))

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. The second form, which cannot overflow, is computed.
    Source: this library; Dugas et al., NIPS 2000.
    """
    O[None] = _softplus(I[None])


@structured_op
def mish(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each element times the hyperbolic tangent of its softplus.

        O = I * tanh(log(1 + exp(I)))

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. -inf gives NaN.
    Source: this library; Misra, arXiv 1908.08681.
    """
    O[None] = I[None] * UnaryFn.tanh(_softplus(I[None]))


@structured_op
def softsign(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each element divided by one plus its absolute value.

        O = I / (1 + |I|)

    Shapes: any; I and O alike.
    Dtypes: any float; I and O alike. An infinite element gives NaN.
    Source: this library; PyTorch's `torch.nn.Softsign`.
    """
    O[None] = I[None] * UnaryFn.reciprocal(1 + UnaryFn.abs(I[None]))


@structured_op
def hard_tanh(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each element, limited to the interval from minus one to one.

        O = min(max(I, -1), 1)

    Shapes: I and O any, alike.
    Dtypes: floats and integers; I and O alike. NaN stays NaN.
    Source: this library; PyTorch's `torch.nn.Hardtanh`.
    """
    # No unsigned integer is below 0, and -1 is none.
    low = TernaryFn.select(I[None] < 0, TypeFn.cast_signed(T1, -1), TypeFn.cast_signed(T1, 0))
    O[None] = TernaryFn.clamp(I[None], low, 1)


@structured_op
def hard_sigmoid(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Logistic function of each element, by three straight lines.

        O = min(max(I / 6 + 1 / 2, 0), 1)

    Shapes: I and O any, alike.
    Dtypes: any float; I and O alike.
    Source: this library; Howard et al., ICCV 2019.
    """
    O[None] = _hard_sigmoid(I[None])


@structured_op
def threshold(
    I=TensorDef(T1), limit=ScalarDef(T1), value=ScalarDef(T1), O=TensorDef(T1, output=True)
):
    """Each element above a limit, a number in the place of the others.

        O = I where I > limit, else value

    Shapes: limit and value scalars; I and O any, alike.
    Dtypes: floats and integers; all alike. NaN gives value.
    Source: this library; PyTorch's `torch.nn.Threshold`.
    """
    O[None] = TernaryFn.select(I[None] > limit, I[None], value)


@structured_op
def soft_shrink(I=TensorDef(T1), amount=ScalarDef(T1), O=TensorDef(T1, output=True)):
    """Each element moved towards zero by an amount, no further than zero.

        O = I - amount where I > amount, I + amount where I < -amount, else 0

    Shapes: amount a scalar; I and O any, alike.
    Dtypes: floats and integers; all alike. NaN gives 0.
    Source: this library; PyTorch's `torch.nn.Softshrink`.
    """
    x = I[None]
    below = TernaryFn.select((x < 0) & (x < 0 - amount), x + amount, 0)
    O[None] = TernaryFn.select(x > amount, x - amount, below)


@structured_op
def hard_shrink(I=TensorDef(T1), amount=ScalarDef(T1), O=TensorDef(T1, output=True)):
    """Each element whose distance to zero exceeds an amount, zero in the place of the others.

        O = I where |I| > amount, else 0

    Shapes: amount a scalar; I and O any, alike.
    Dtypes: floats and integers; all alike. NaN gives 0.
    Source: this library; PyTorch's `torch.nn.Hardshrink`.
    """
    x = I[None]
    O[None] = TernaryFn.select((x > amount) | ((x < 0) & (x < 0 - amount)), x, 0)


@structured_op
def selu(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Exponential linear unit of each element, scaled to normalize itself.

        O = 1.0507 * (max(I, 0) + 1.67326 * (exp(min(I, 0)) - 1))

    Shapes: I and O any, alike.
    Dtypes: any float; I and O alike.
    Source: this library; Klambauer et al., NIPS 2017.
    """
    negative = 1.6732632423543772 * UnaryFn.expm1(BinaryFn.min(I[None], 0))
    O[None] = 1.0507009873554805 * (BinaryFn.max(I[None], 0) + negative)


@structured_op
def celu(I=TensorDef(T1), alpha=ScalarDef(T1), O=TensorDef(T1, output=True)):
    """Each element where it is positive, else an exponential that is smooth at zero.

        O = max(I, 0) + alpha * (exp(min(I, 0) / alpha) - 1)

    Shapes: alpha a scalar; I and O any, alike.
    Dtypes: any float; all alike.
    Source: this library; Barron, arXiv 1704.07483.
    """
    negative = UnaryFn.expm1(BinaryFn.min(I[None], 0) / alpha)
    O[None] = BinaryFn.max(I[None], 0) + alpha * negative


@structured_op
def hard_swish(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each element times its logistic function by three straight lines.

        O = I * min(max(I / 6 + 1 / 2, 0), 1)

    Shapes: I and O any, alike.
    Dtypes: any float; I and O alike.
    Source: this library; Howard et al., ICCV 2019.
    """
    O[None] = I[None] * _hard_sigmoid(I[None])


@structured_op
def squared_relu(I=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Square of the larger of each element and zero.

        O = max(I, 0) ** 2

    Shapes: I and O any, alike.
    Dtypes: floats and integers; I and O alike.
    Source: this library; So et al., NeurIPS 2021.
    """
    positive = BinaryFn.max(I[None], 0)
    O[None] = positive * positive


@structured_op
def parametric_relu(
    I=TensorDef(T1, S.M, S.N), slope=TensorDef(T1, S.N), O=TensorDef(T1, S.M, S.N, output=True)
):
    """Each element where it is positive, else scaled by the slope of its column.

        O[m, n] = I[m, n] where I[m, n] > 0, else slope[n] * I[m, n]

    Shapes: I and O (M, N), slope (N).
    Dtypes: any number but complex ones; all alike. NaN stays NaN.
    Source: this library; He et al., ICCV 2015.
    """
    domain(D.m, D.n)
    x = I[D.m, D.n]
    O[D.m, D.n] = TernaryFn.select(x > 0, x, slope[D.n] * x)


@structured_op
def gated_linear_unit(I=TensorDef(T1), gate=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each element times the logistic function of its gate.

        O = I / (1 + exp(-gate))

    Shapes: any; I, gate and O alike.
    Dtypes: any float; all alike.
    Source: this library; Dauphin et al., ICML 2017.
    """
    O[None] = I[None] * UnaryFn.reciprocal(1 + UnaryFn.exp(-gate[None]))


@structured_op
def swish_gated_linear_unit(I=TensorDef(T1), gate=TensorDef(T1), O=TensorDef(T1, output=True)):
    """Each element times its gate and the logistic function of the gate: SwiGLU.

        O = I * gate / (1 + exp(-gate))

    Shapes: any; I, gate and O alike.
    Dtypes: any float; all alike. A gate of -inf gives NaN.
    Source: this library; Shazeer, arXiv 2002.05202.
    """
    O[None] = I[None] * gate[None] * UnaryFn.reciprocal(1 + UnaryFn.exp(-gate[None]))
