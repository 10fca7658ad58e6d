"""What each op of the library computes, as a formula in NumPy that knows nothing of the op.

The ops that slide a window over their input are in `window_formulas.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ANY = "f i"
FLOAT = "f"
INTEGER = "i"


@dataclass(frozen=True)
class Formula:
    """An op's value.

    Attributes:
        axes: the operands' axes as letters, `mk,kn->mn`; none for a scalar.
        value: of the inputs, cast to the dtype of the output.
        into: how the value is combined with what the output held; None where it replaces it.
        kinds: the kinds of numbers that the op takes.
        shape: of the output, where its axes are not plain letters.
        attributes: those of the call.
        start: what each output of several held before.
    """

    axes: str
    value: Callable[..., Any]
    into: Callable[[Any, Any], Any] | None = None
    kinds: str = ANY
    shape: tuple[int, ...] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    start: tuple[float, ...] = ()


def _einsum(axes: str, into: Any = np.add) -> Formula:
    return Formula(axes, lambda *arrays: np.einsum(axes, *arrays), into)


def _unary(value: Callable[[Any], Any], kinds: str = FLOAT) -> Formula:
    return Formula("xy->xy", value, None, kinds)


def _binary(value: Callable[[Any, Any], Any], kinds: str = ANY) -> Formula:
    return Formula("xy,xy->xy", value, None, kinds)


def _truncated_division(x: Any, y: Any) -> Any:
    return x / y if x.dtype.kind == "f" else np.trunc(x / y).astype(x.dtype)


def _unsigned(x: Any) -> Any:
    return x.view(f"u{x.dtype.itemsize}")


def _generator(x: Any) -> Any:
    return (x * 1103515245 + 12345) % 2**32


def _random(low: Any, high: Any, seed: Any, m: int = 4, n: int = 5) -> Any:
    rows = _generator(np.arange(m)[:, None] + int(seed))
    bits = _generator(np.arange(n)[None, :] + rows)
    signed = np.where(bits >= 2**31, bits - 2**32, bits)
    return (signed + 2147483647.0) * ((high - low) * 2.3283064e-10) + low


def _softmax(x: Any) -> Any:
    shifted = np.exp(x - x.max(1, keepdims=True))
    return shifted / shifted.sum(1, keepdims=True), x.max(1), shifted.sum(1)


def _layer_norm(x: Any, weight: Any, bias: Any, epsilon: Any) -> Any:
    mean = x.mean(1)
    variance = ((x - mean[:, None]) ** 2).mean(1)  # of complex numbers, too
    return _normalized(x, mean[:, None], variance[:, None], weight, bias, epsilon), mean, variance


def _distances(a: Any, b: Any) -> Any:
    return np.maximum(a[:, None], b) - np.minimum(a[:, None], b)


def _softplus(x: Any) -> Any:
    return np.logaddexp(0, x)


def _row_norms(x: Any, order: Any) -> Any:
    return np.linalg.norm(x, order, axis=1)


def _rows(value: Callable[..., Any], kinds: str = ANY, into: Any = None) -> Formula:
    return Formula("mn->m", lambda a: value(a, axis=1), into, kinds)


def _columns(value: Callable[..., Any], into: Any) -> Formula:
    return Formula("mn->n", lambda a: value(a, axis=0), into)


def _normalized(x: Any, mean: Any, variance: Any, weight: Any, bias: Any, epsilon: Any) -> Any:
    return (x - mean) / np.sqrt(variance + epsilon) * weight + bias


def _per_channel(x: Any, *arguments: Any) -> Any:
    mean, variance, weight, bias = (each[:, None, None] for each in arguments[:-1])
    return _normalized(x, mean, variance, weight, bias, arguments[-1])


_erf = np.vectorize(math.erf, otypes=[np.float64])

FORMULAS: dict[str, Formula] = {
    # unary.py
    "copy": _unary(lambda x: x, ANY),
    "elemwise_unary": _unary(np.exp),
    "exp": _unary(np.exp),
    "log": _unary(np.log),
    "abs": _unary(np.abs),
    "ceil": _unary(np.ceil),
    "floor": _unary(np.floor),
    "negf": _unary(lambda x: -x),
    "reciprocal": _unary(np.reciprocal),
    "round": _unary(lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5)),
    "sqrt": _unary(np.sqrt),
    "rsqrt": _unary(lambda x: x**-0.5),
    "square": _unary(lambda x: x**2),
    "tanh": _unary(np.tanh),
    "erf": _unary(_erf),
    # elementwise.py
    "elemwise_binary": _binary(lambda x, y: x + y),
    "add": _binary(lambda x, y: x + y),
    "sub": _binary(lambda x, y: x - y),
    "mul": _binary(lambda x, y: x * y),
    "div": _binary(_truncated_division),
    "div_unsigned": _binary(lambda x, y: _unsigned(x) // _unsigned(y), INTEGER),
    "max": _binary(np.maximum),
    "min": _binary(np.minimum),
    "max_unsigned": _binary(lambda x, y: np.maximum(_unsigned(x), _unsigned(y)), INTEGER),
    "min_unsigned": _binary(lambda x, y: np.minimum(_unsigned(x), _unsigned(y)), INTEGER),
    "powf": _binary(np.power, FLOAT),
    "select": Formula("xy,xy,xy->xy", lambda c, x, y: np.where(c, x, y)),
    "squared_difference": _binary(lambda x, y: (x - y) ** 2),
    "axpy": Formula(",xy,xy->xy", lambda a, x, y: a * x + y),
    "multiply_add": Formula("xy,xy,xy->xy", lambda a, b, c: a * b + c),
    "lerp": Formula("xy,xy,->xy", lambda a, b, w: (1 - w) * a + w * b, None, FLOAT),
    "clip": Formula("xy,,->xy", lambda x, low, high: np.minimum(np.maximum(x, low), high)),
    # activation.py
    "relu": _unary(lambda x: np.where(x > 0, x, 0), ANY),
    "relu6": _unary(lambda x: np.clip(x, 0, 6), ANY),
    "leaky_relu": Formula("xy,->xy", lambda x, s: np.where(x > 0, x, s * x), None, FLOAT),
    "elu": Formula("xy,->xy", lambda x, a: np.where(x > 0, x, a * np.expm1(x)), None, FLOAT),
    "sigmoid": _unary(lambda x: (np.tanh(x / 2) + 1) / 2),
    "log_sigmoid": _unary(lambda x: -_softplus(-x)),
    "silu": _unary(lambda x: x * np.exp(-_softplus(-x))),
    "gelu": _unary(lambda x: x * (1 + _erf(x / math.sqrt(2))) / 2),
    "gelu_tanh": _unary(
        lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "softplus": _unary(_softplus),
    "mish": _unary(lambda x: x * np.tanh(_softplus(x))),
    "softsign": _unary(lambda x: x / (1 + np.abs(x))),
    # contraction.py
    "matmul": _einsum("mk,kn->mn"),
    "matmul_transpose_a": _einsum("km,kn->mn"),
    "matmul_transpose_b": _einsum("mk,nk->mn"),
    "batch_matmul": _einsum("bmk,bkn->bmn"),
    "batch_matmul_transpose_a": _einsum("bkm,bkn->bmn"),
    "batch_matmul_transpose_b": _einsum("bmk,bnk->bmn"),
    "batch_reduce_matmul": _einsum("bmk,bkn->mn"),
    "matvec": _einsum("mn,n->m"),
    "vecmat": _einsum("m,mn->n"),
    "batch_matvec": _einsum("bmk,bk->bm"),
    "batch_vecmat": _einsum("bk,bkn->bn"),
    "dot": _einsum("m,m->"),
    "mmt4d": _einsum("mkpr,nkqr->mnpq"),
    "batch_mmt4d": _einsum("bmkpr,bnkqr->bmnpq"),
    # product.py
    "outer": _einsum("m,n->mn", None),
    "batch_outer": _einsum("bm,bn->bmn", None),
    "kron": Formula("mn,pq->mpnq", lambda a, b: np.kron(a, b).reshape(4, 2, 5, 3)),
    "khatri_rao": _einsum("mn,pn->mpn", None),
    "bilinear": _einsum("ni,fij,nj->nf"),
    "mttkrp": _einsum("ijk,jr,kr->ir"),
    "sampled_matmul": Formula("mn,mk,kn->mn", lambda w, a, b: w * (a @ b), np.add),
    "matmul_min_plus": Formula(
        "mk,kn->mn", lambda a, b: np.min(a[:, :, None] + b[None], axis=1), np.minimum
    ),
    "matmul_max_plus": Formula(
        "mk,kn->mn", lambda a, b: np.max(a[:, :, None] + b[None], axis=1), np.maximum
    ),
    # attention.py
    "attention_scores": _einsum("bhqd,bhkd->bhqk"),
    "scaled_attention_scores": Formula(
        "bhqd,bhkd,->bhqk", lambda q, k, s: s * (q @ k.swapaxes(2, 3)), np.add
    ),
    "attention_values": _einsum("bhqk,bhkd->bhqd"),
    "grouped_query_attention_scores": _einsum("bhgqd,bhkd->bhgqk"),
    "grouped_query_attention_values": _einsum("bhgqk,bhkd->bhgqd"),
    # quantization.py
    "quantized_matmul": Formula("mk,kn,,->mn", lambda a, b, x, y: (a - x) @ (b - y), np.add),
    "quantized_batch_matmul": Formula(
        "bmk,bkn,,->bmn", lambda a, b, x, y: (a - x) @ (b - y), np.add
    ),
    # distance.py
    "squared_euclidean_distance": Formula("k,k->", lambda a, b: np.sum((a - b) ** 2), np.add),
    "pairwise_squared_euclidean_distance": Formula(
        "mk,nk->mn", lambda a, b: np.sum((a[:, None] - b[None]) ** 2, axis=2), np.add
    ),
    "pairwise_manhattan_distance": Formula(
        "mk,nk->mn", lambda a, b: np.sum(_distances(a, b), axis=2), np.add
    ),
    "pairwise_chebyshev_distance": Formula(
        "mk,nk->mn", lambda a, b: np.max(_distances(a, b), axis=2), np.maximum
    ),
    "squared_euclidean_distance_from_products": Formula(
        "mn,m,n->mn", lambda g, a, b: np.maximum(a[:, None] + b, g + g) - (g + g)
    ),
    "cosine_similarity_from_products": Formula(
        "mn,m,n->mn", lambda g, a, b: g / np.sqrt(np.outer(a, b)), None, FLOAT
    ),
    # reduction.py
    "row_sum": _rows(np.sum, into=np.add),
    "row_product": _rows(np.prod, into=np.multiply),
    "row_max": _rows(np.max, into=np.maximum),
    "row_min": _rows(np.min, into=np.minimum),
    "column_sum": _columns(np.sum, np.add),
    "column_max": _columns(np.max, np.maximum),
    "column_min": _columns(np.min, np.minimum),
    "row_sum_of_squares": Formula("mn->m", lambda a: np.einsum("mn,mn->m", a, a), np.add),
    "row_sum_of_absolutes": Formula("mn->m", lambda a: _row_norms(a, 1), np.add),
    "row_max_of_absolutes": Formula("mn->m", lambda a: _row_norms(a, np.inf), np.maximum),
    "diagonal": Formula("mm->m", np.diagonal),
    "trace": Formula("mm->", np.trace, np.add),
    # normalization.py
    "bias_add": Formula("mn,n->mn", lambda x, b: x + b),
    "softmax_exponentials": Formula(
        "mn,m->mn", lambda x, top: np.exp(x) / np.exp(top)[:, None], None, FLOAT
    ),
    "row_sum_of_exponentials": Formula(
        "mn,m->m", lambda x, top: np.exp(x).sum(1) / np.exp(top), np.add, FLOAT
    ),
    "softmax_normalize": Formula("mn,m->mn", lambda e, s: (e.T / s).T, None, FLOAT),
    "log_softmax_normalize": Formula(
        "mn,m,m->mn", lambda x, top, s: x - (top + np.log(s))[:, None], None, FLOAT
    ),
    "row_sum_of_squared_deviations": Formula(
        "mn,m->m", lambda x, mean: np.sum((x - mean[:, None]) ** 2, axis=1), np.add
    ),
    "layer_normalize": Formula(
        "mn,m,m,n,n,->mn",
        lambda x, mean, variance, w, b, e: _normalized(
            x, mean[:, None], variance[:, None], w, b, e
        ),
        None,
        FLOAT,
    ),
    "rms_normalize": Formula(
        "mn,m,n,->mn", lambda x, s, w, e: x * w / np.sqrt(s + e)[:, None], None, FLOAT
    ),
    "row_softmax": Formula("mn->mn,m,m", _softmax, None, FLOAT, start=(0, -99, 0)),
    "layer_norm": Formula("mn,n,n,->mn,m,m", _layer_norm, None, FLOAT, start=(0, 0, 0)),
    "rms_norm": Formula(
        "mn,n,->mn,m",
        lambda x, w, e: (x * w / np.sqrt((x * x).mean(1) + e)[:, None], (x * x).mean(1)),
        None,
        FLOAT,
        start=(0, 0),
    ),
    "batch_normalize_nchw": Formula("nchw,c,c,c,c,->nchw", _per_channel, None, FLOAT),
    "batch_normalize_nhwc": Formula("nhwc,c,c,c,c,->nhwc", _normalized, None, FLOAT),
    # creation.py
    "fill": Formula("->xy", lambda value: np.full((3, 2), value)),
    "fill_rng_2d": Formula(",,->mn", _random),
    "arange": Formula(",->n", lambda start, step: start + step * np.arange(5)),
    "eye": Formula("->mn", lambda: np.eye(4, 5)),
    "tri": Formula("->mn", lambda k: np.tri(4, 5, int(k))),
    "one_hot": Formula(
        "m->mn", lambda labels: labels[:, None] == np.arange(5)[None], None, INTEGER
    ),
}

SIZES = dict(
    zip("mnkbpqrhdgijfcwxy", (4, 5, 3, 2, 2, 3, 2, 2, 3, 2, 2, 3, 2, 3, 2, 3, 2), strict=True)
)
"""The size of each axis."""

POSITIVE = {
    "log",
    "sqrt",
    "rsqrt",
    "powf",
    "layer_norm",
    "layer_normalize",
    "rms_norm",
    "rms_normalize",
} | {name for name in FORMULAS if name.startswith(("batch_normalize", "cosine", "log_softmax"))}
"""Ops whose operands must be positive."""
