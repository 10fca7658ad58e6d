"""Models of a single op: products, activations, norms, reductions, losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from torch_nets.subject import of

rand, ints = torch.randn, torch.randint


def _banded(n: int) -> Tensor:
    return rand(n, n).tril(1).triu(-2)


def _newgelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


PRODUCTS = [
    of("batched matrix product", torch.bmm, rand(3, 17, 9), rand(3, 9, 21)),
    of("tall and skinny product", lambda a, b: a @ b, rand(257, 5), rand(5, 3)),
    of("large inner dimension", lambda a, b: a @ b, rand(5, 3001), rand(3001, 7)),
    of("small inner dimension", lambda a, b: a @ b, rand(77, 2), rand(2, 91)),
    of("symmetric product", lambda a: a @ a.T, rand(23, 31)),
    of("product with a transposed first", lambda a, b: a.T @ b, rand(31, 19), rand(31, 13)),
    of("product with a transposed second", lambda a, b: a @ b.T, rand(31, 19), rand(13, 19)),
    of(
        "lower triangular product",
        lambda a, b: torch.tril(a @ b),
        rand(33, 33).tril(),
        rand(33, 33),
    ),
    of("banded product", lambda a, b: a @ b, _banded(29), rand(29, 11)),
    of("diagonal times matrix", lambda d, a: d.unsqueeze(1) * a, rand(37), rand(37, 15)),
    of("diagonal matrix, written out", lambda d, a: torch.diag(d) @ a, rand(37), rand(37, 15)),
    of("3-D tensor times matrix", lambda a, b: torch.matmul(a, b), rand(3, 17, 21), rand(21, 9)),
    of(
        "4-D einsum",
        lambda a, b: torch.einsum("bijl,lk->bijk", a, b),
        rand(2, 5, 7, 11),
        rand(11, 6),
    ),
    of("outer product", torch.outer, rand(19), rand(23)),
    of("inner product", torch.dot, rand(1003), rand(1003), batch=False),
    of("Kronecker product", torch.kron, rand(5, 3), rand(4, 7)),
    of("bilinear form", nn.Bilinear(7, 5, 9), rand(6, 7), rand(6, 5)),
    of(
        "trace of a product", lambda a, b: torch.trace(a @ b), rand(9, 13), rand(13, 9), batch=False
    ),
    of(
        "chain of three",
        torch.linalg.multi_dot,
        [rand(9, 31), rand(31, 4), rand(4, 17)],
        batch=False,
    ),
    of(
        "add, batch, reduce",
        lambda c, a, b: torch.addbmm(c, a, b, beta=0.5),
        rand(7, 9),
        rand(3, 7, 5),
        rand(3, 5, 9),
        batch=False,
    ),
    of("power of a matrix", lambda a: torch.matrix_power(a, 5), rand(7, 7) / 3),
    of("double precision", lambda a, b: a @ b, rand(33, 17).double(), rand(17, 9).double()),
    of("half precision", lambda a, b: a @ b, rand(33, 17).bfloat16(), rand(17, 9).bfloat16()),
    of("integers", lambda a, b: a @ b, ints(-9, 9, (13, 7)), ints(-9, 9, (7, 5))),
]

_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "elu": functional.elu,
    "selu": functional.selu,
    "celu": lambda x: functional.celu(x, 0.7),
    "hard sigmoid": functional.hardsigmoid,
    "hard tanh": lambda x: functional.hardtanh(x, -0.5, 0.75),
    "soft plus": lambda x: functional.softplus(x, 2.0, 5.0),
    "soft sign": functional.softsign,
    "soft shrink": lambda x: functional.softshrink(x, 0.3),
    "hard shrink": functional.hardshrink,
    "tanh shrink": functional.tanhshrink,
    "threshold": lambda x: functional.threshold(x, 0.1, -3.0),
    "log sigmoid": functional.logsigmoid,
    "swish": lambda x: x * torch.sigmoid(x),
    "mish": functional.mish,
    "new gelu": _newgelu,
    "glu": functional.glu,
    "relu6": functional.relu6,
    "prelu": nn.PReLU(8, 0.2),
    "randomized relu": lambda x: functional.rrelu(x, training=False),
    "log softmax": lambda x: functional.log_softmax(x, dim=1),
    "softmin": lambda x: functional.softmin(x, dim=-1),
    "softmax in f64": lambda x: functional.softmax(x, dim=1, dtype=torch.float64),
    "clamp by a tensor": lambda x: torch.clamp(x, min=x.mean(), max=x.amax() / 2),
    "nan to num": lambda x: torch.nan_to_num(x / (x > 0), 0.5, 9.0, -9.0),
    "sinc and erf": lambda x: torch.sinc(x) + torch.erfinv(torch.erf(x / 4)),
    "remainder": lambda x: torch.remainder(x, 0.7) + torch.fmod(x, -0.3),
    "floor division": lambda x: torch.div(x, 0.3, rounding_mode="floor"),
    "heaviside": lambda x: torch.heaviside(x, torch.tensor(0.5)),
    "gumbel of given noise": lambda x: functional.softmax(
        (x - torch.log(-torch.log(x.sigmoid()))) / 0.5, -1
    ),
}
ACTIVATIONS = [of(name, call, rand(5, 8, 6)) for name, call in _ELEMENTWISE.items()]

NORMS = [
    of("instance norm", nn.InstanceNorm2d(5), rand(3, 5, 9, 7)),
    of("instance norm with weights", nn.InstanceNorm1d(5, affine=True), rand(3, 5, 19)),
    of(
        "RMS norm over channels",
        lambda x: x / torch.sqrt(x.pow(2).mean(1, keepdim=True) + 1e-5),
        rand(3, 6, 5, 7),
    ),
    of("RMS norm", nn.RMSNorm(33), rand(4, 7, 33)),
    of("Frobenius norm", lambda x: x / torch.norm(x, p="fro"), rand(3, 6, 5, 7)),
    of("L1 norm", lambda x: x / x.abs().sum(1, keepdim=True), rand(4, 501)),
    of("L1 norm by mean", lambda x: functional.normalize(x, p=1.0, dim=1), rand(4, 501)),
    of("L3 norm", lambda x: torch.linalg.vector_norm(x, 3, dim=(1, 2)), rand(4, 5, 6)),
    of("layer norm of three dimensions", nn.LayerNorm((5, 4, 6)), rand(3, 5, 4, 6)),
    of("batch norm 1d", nn.BatchNorm1d(7), rand(9, 7, 11)),
    of("batch norm 3d without weights", nn.BatchNorm3d(4, affine=False), rand(2, 4, 3, 5, 6)),
    of("group norm of one", nn.GroupNorm(1, 6), rand(3, 6, 4, 5)),
    of("local response norm", nn.LocalResponseNorm(3), rand(2, 7, 5, 5)),
    of("weight norm", nn.utils.parametrizations.weight_norm(nn.Linear(7, 5)), rand(3, 7)),
    of("standardized", lambda x: (x - x.mean(0)) / x.std(0, unbiased=True), rand(17, 6)),
    of("variance and mean", lambda x: torch.var_mean(x, dim=(0, 2), correction=0), rand(4, 5, 6)),
]

REDUCTIONS = [
    of("mean over a dimension", lambda x: torch.mean(x, dim=1), rand(3, 17, 9)),
    of("max over a dimension", lambda x: torch.max(x, dim=1)[0], rand(3, 17, 9)),
    of("max and where", lambda x: torch.max(x, dim=2), rand(3, 17, 9)),
    of("min over a dimension", lambda x: torch.min(x, dim=0)[0], rand(3, 17, 9), batch=False),
    of("argmin", lambda x: torch.argmin(x, dim=1), rand(3, 17, 9)),
    of("argmax of all", torch.argmax, rand(3, 17, 9), batch=False),
    of("product over a dimension", lambda x: torch.prod(x, dim=1), rand(3, 17, 9)),
    of("median", lambda x: torch.median(x, dim=1)[0], rand(3, 17)),
    of("top k", lambda x: torch.topk(x, 4, dim=-1), rand(3, 17)),
    of("any and all", lambda x: ((x > 2).any(1), (x > -3).all(0)), rand(9, 7)),
    of("log-sum-exp", lambda x: torch.logsumexp(x, (1, 2)), rand(3, 7, 9)),
    of("count of nonzeros", lambda x: torch.count_nonzero(x > 0, dim=1), rand(3, 19)),
    of("reverse cumulative sum", lambda x: torch.cumsum(x.flip(1), 1).flip(1), rand(4, 301)),
    of(
        "exclusive cumulative sum",
        lambda x: torch.cat((torch.zeros_like(x[:, :1]), x), 1)[:, :-1].cumsum(1),
        rand(4, 301),
    ),
    of("cumulative product", lambda x: torch.cumprod(x, dim=1), rand(4, 57)),
    of("cumulative maximum", lambda x: torch.cummax(x, dim=1), rand(4, 57)),
    of("log of cumulated exponentials", lambda x: torch.logcumsumexp(x, 1), rand(4, 57)),
    of("cumulative sum of columns", lambda x: torch.cumsum(x, 0), rand(57, 13)),
    of("pairwise distances", lambda a, b: torch.cdist(a, b), rand(9, 5), rand(7, 5)),
    of("histogram", lambda x: torch.histc(x, 8, -2, 2), rand(301), batch=False),
    of("sorted", lambda x: torch.sort(x, dim=1, descending=True, stable=True), rand(4, 33)),
    of("difference", lambda x: torch.diff(x, n=2, dim=1), rand(4, 33)),
]

LOSSES = [
    of("mean squared error", functional.mse_loss, rand(7, 9), rand(7, 9)),
    of("smooth L1 (Huber)", functional.smooth_l1_loss, rand(7, 9), rand(7, 9)),
    of(
        "Huber with a delta",
        lambda a, b: functional.huber_loss(a, b, delta=0.4),
        rand(7, 9),
        rand(7, 9),
    ),
    of(
        "KL divergence",
        lambda a, b: functional.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean"),
        rand(7, 9),
        rand(7, 9),
    ),
    of(
        "cosine similarity loss",
        lambda a, b: torch.mean(1 - functional.cosine_similarity(a, b, dim=1)),
        rand(7, 9),
        rand(7, 9),
    ),
    of(
        "cosine embedding",
        lambda a, b, y: functional.cosine_embedding_loss(a, b, y, margin=0.1),
        rand(7, 9),
        rand(7, 9),
        ints(0, 2, (7,)) * 2 - 1,
    ),
    of(
        "hinge",
        lambda a, y: torch.mean(torch.clamp(1 - a * y, min=0)),
        rand(7, 9),
        (ints(0, 2, (7, 9)) * 2 - 1).float(),
    ),
    of(
        "binary cross entropy with logits",
        lambda a, y: functional.binary_cross_entropy_with_logits(
            a, y, pos_weight=torch.tensor(2.0)
        ),
        rand(7, 9),
        ints(0, 2, (7, 9)).float(),
    ),
    of(
        "binary cross entropy",
        lambda a, y: functional.binary_cross_entropy(a.sigmoid(), y),
        rand(7, 9),
        ints(0, 2, (7, 9)).float(),
    ),
    of(
        "negative log likelihood, weighted",
        lambda a, y, w: functional.nll_loss(a.log_softmax(1), y, w, ignore_index=2),
        rand(7, 5),
        ints(0, 5, (7,)),
        rand(5).abs(),
        batch=False,
    ),
    of(
        "cross entropy, smoothed",
        lambda a, y: functional.cross_entropy(a, y, label_smoothing=0.1),
        rand(7, 5),
        ints(0, 5, (7,)),
    ),
    of(
        "cross entropy of images",
        lambda a, y: functional.cross_entropy(a, y),
        rand(3, 5, 4, 6),
        ints(0, 5, (3, 4, 6)),
    ),
    of(
        "margin ranking",
        lambda a, b, y: functional.margin_ranking_loss(a, b, y, 0.2),
        rand(9),
        rand(9),
        (ints(0, 2, (9,)) * 2 - 1),
    ),
    of(
        "multi margin",
        lambda a, y: functional.multi_margin_loss(a, y),
        rand(7, 5),
        ints(0, 5, (7,)),
    ),
    of("Poisson", functional.poisson_nll_loss, rand(7, 5), rand(7, 5).abs()),
    of(
        "Gaussian",
        lambda a, b, v: functional.gaussian_nll_loss(a, b, v),
        rand(7, 5),
        rand(7, 5),
        rand(7, 5).abs() + 0.1,
    ),
    of(
        "soft margin", functional.soft_margin_loss, rand(7, 5), (ints(0, 2, (7, 5)) * 2 - 1).float()
    ),
    of(
        "CTC",
        lambda a, y: functional.ctc_loss(
            a.log_softmax(2), y, torch.tensor([9, 9]), torch.tensor([3, 2])
        ),
        rand(9, 2, 5),
        ints(1, 5, (2, 3)),
        batch=False,
    ),
]

SUBJECTS = [*PRODUCTS, *ACTIVATIONS, *NORMS, *REDUCTIONS, *LOSSES]
