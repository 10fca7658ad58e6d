"""Activation functions: one tensor, element by element, at any rank.

Each computes in the type of its operand. Those for floats alone refuse integers by the functions
that they apply (exp, erf, tanh, reciprocal).
"""

from linalg_ext.opdsl import T1, BinaryFn, ScalarDef, TensorDef, UnaryFn, structured_op

__all__ = [
    "elu",
    "gelu",
    "gelu_tanh",
    "leaky_relu",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "softplus",
    "softsign",
]


def _softplus(x):
    """log(1 + exp(x)), without an overflow for large x."""
    return BinaryFn.max_signed(x, 0) + UnaryFn.log(1 + UnaryFn.exp(-UnaryFn.abs(x)))


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
