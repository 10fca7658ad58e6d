"""What the ops beyond upstream's language compute, as formulas in NumPy; see op_formulas.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from op_formulas import ANY, FLOAT, INTEGER, Formula

_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _unary(value: Any, kinds: str = FLOAT) -> Formula:
    return Formula("xy->xy", value, None, kinds)


def _binary(value: Any, kinds: str = ANY) -> Formula:
    return Formula("xy,xy->xy", value, None, kinds)


def _where(compare: Any) -> Formula:
    return Formula("xy,xy,xy,xy->xy", lambda a, b, x, y: np.where(compare(a, b), x, y))


def _shaped(
    axes: str,
    shape: tuple[int, ...],
    value: Any,
    into: Any = None,
    kinds: str = ANY,
    **attributes: Any,
) -> Formula:
    return Formula(axes, value, into, kinds, shape, attributes)


def _sigmoid(x: Any) -> Any:
    return (np.tanh(x / 2) + 1) / 2


def _hard_sigmoid(x: Any) -> Any:
    return np.clip(x / 6 + 0.5, 0, 1)


def _elu(x: Any) -> Any:
    return np.expm1(np.minimum(x, 0))


def _huber(error: Any, delta: Any) -> Any:
    e = np.abs(error)
    return np.where(e < delta, e * e / 2, delta * (e - delta / 2))


def _dilated(x: Any, steps: tuple[int, ...]) -> Any:
    result = np.zeros(
        [(size - 1) * step + 1 for size, step in zip(x.shape, steps, strict=True)], x.dtype
    )
    result[tuple(slice(None, None, step) for step in steps)] = x
    return result


def _patches(x: Any, axes: tuple[int, ...], kernel: int, step: int) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, [kernel] * len(axes), axis=axes)
    return windows[tuple(slice(None, None, step if a in axes else 1) for a in range(x.ndim))]


def _blocks_to_pixels(x: Any) -> Any:
    n, c, h, w = x.shape
    return (
        x.reshape(n, c // 4, 2, 2, h, w)
        .transpose(0, 1, 4, 2, 5, 3)
        .reshape(n, c // 4, 2 * h, 2 * w)
    )


def _pixels_to_blocks(x: Any) -> Any:
    n, c, h, w = x.shape
    return (
        x.reshape(n, c, h // 2, 2, w // 2, 2)
        .transpose(0, 1, 3, 5, 2, 4)
        .reshape(n, 4 * c, h // 2, w // 2)
    )


def _last(function: Any) -> Any:
    """A function of channels first on channels last."""
    return lambda x: np.moveaxis(function(np.moveaxis(x, -1, 1)), 1, -1)


def _scores(seen: Any) -> Any:
    """Scores of 3 queries and 3 keys where a condition of the two holds, else a value."""
    q, k = np.arange(3)[:, None], np.arange(3)[None]
    return lambda s, *rest: np.where(seen(q, k, *rest[:-1]), s, rest[-1])


def _rotated(x: Any, c: Any, s: Any) -> Any:
    half = x.shape[-1] // 2
    return x * c + np.concatenate([-x[..., half:], x[..., :half]], -1) * s


def _positions(base: Any) -> Any:
    m, n = np.arange(4)[:, None], np.arange(5)[None]
    angle = m / base ** ((n - n % 2) / 5)
    return np.where(n % 2 == 0, np.sin(angle), np.cos(angle))


def _picked(x: Any, labels: Any) -> Any:
    """What each row holds at its label; 0 where there is none."""
    return np.where(labels.astype(int)[:, None] == np.arange(x.shape[1]), x, 0).sum(1)


def _named(labels: Any, count: int) -> Any:
    return (labels[:, None] == np.arange(count)).astype(int)


def _quantized(x: Any, scale: Any, low: Any, high: Any, zero: Any = 0) -> Any:
    return np.clip(np.rint(x / scale) + zero, low, high)


def _second(a: Any) -> Any:
    return np.sort(a, axis=1)[:, -2]


def _pooled(kind: str, layout: str) -> Formula:
    """A number for each channel of each image."""
    axes = tuple(i for i, letter in enumerate(layout) if letter in "dhw")
    if kind == "max":
        return Formula(f"{layout}->nc", lambda x: x.max(axes), np.maximum)
    return Formula(f"{layout}->nc", lambda x: x.mean(axes), np.add, FLOAT)


def _channel_variance(axes: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return lambda x, mean: ((x - mean.reshape(shape)) ** 2).mean(axes)


COMPARISONS = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}

WIDER: dict[str, Formula] = {
    # trigonometry.py
    **{name: _unary(getattr(np, name)) for name in ("sin", "cos", "tan", "sinh", "cosh")},
    **{f"a{name}": _unary(getattr(np, f"arc{name}")) for name in ("sin", "cos", "tan")},
    **{f"a{name}": _unary(getattr(np, f"arc{name}")) for name in ("sinh", "cosh", "tanh")},
    "atan2": _binary(np.arctan2, FLOAT),
    # exponential.py
    **{
        name: _unary(getattr(np, name))
        for name in ("exp2", "expm1", "log1p", "log2", "log10", "cbrt")
    },
    "logaddexp": _binary(np.logaddexp, FLOAT),
    "hypot": _binary(np.hypot, FLOAT),
    "xlogy": _binary(lambda x, y: x * np.log(y), FLOAT),
    # unary.py
    "trunc": _unary(np.trunc),
    "roundeven": _unary(np.rint),
    "erfc": _unary(_erfc),
    "sign": _unary(np.sign, ANY),
    # comparison.py
    **{name: _binary(function) for name, function in COMPARISONS.items()},
    **{f"where_{name}": _where(function) for name, function in COMPARISONS.items()},
    # floating_point.py
    "isnan": _unary(np.isnan, ANY),
    "isinf": _unary(np.isinf, ANY),
    "isfinite": _unary(np.isfinite, ANY),
    "replace_nan": Formula("xy,->xy", lambda x, v: np.where(np.isnan(x), v, x)),
    "isclose": Formula("xy,xy,,->xy", lambda x, y, r, a: np.abs(x - y) <= a + r * np.abs(y)),
    "fmod": _binary(np.fmod),
    "copysign": _binary(np.copysign, FLOAT),
    "fused_multiply_add": Formula("xy,xy,xy->xy", lambda a, b, c: a * b + c),
    "heaviside": Formula("xy,->xy", lambda x, z: np.where(x == 0, z, x > 0)),
    "clamp": Formula("xy,xy,xy->xy", lambda x, a, b: np.minimum(np.maximum(x, a), b)),
    # logic.py
    "logical_and": _binary(np.logical_and),
    "logical_or": _binary(np.logical_or),
    "logical_xor": _binary(np.logical_xor),
    "logical_not": _unary(np.logical_not, ANY),
    "bitwise_and": _binary(np.bitwise_and, INTEGER),
    "bitwise_or": _binary(np.bitwise_or, INTEGER),
    "bitwise_xor": _binary(np.bitwise_xor, INTEGER),
    "bitwise_not": _unary(np.invert, INTEGER),
    "row_any": Formula("mn->m", lambda a: a.any(1), np.logical_or),
    "row_all": Formula("mn->m", lambda a: a.all(1), np.logical_and),
    "column_any": Formula("mn->n", lambda a: a.any(0), np.logical_or),
    "column_all": Formula("mn->n", lambda a: a.all(0), np.logical_and),
    "row_count_nonzero": Formula("mn->m", lambda a: np.count_nonzero(a, axis=1), np.add),
    "column_count_nonzero": Formula("mn->n", lambda a: np.count_nonzero(a, axis=0), np.add),
    # reduction.py
    "row_mean": Formula("mn->m", lambda a: a.mean(1), np.add, FLOAT),
    "column_mean": Formula("mn->n", lambda a: a.mean(0), np.add, FLOAT),
    "column_product": Formula("mn->n", lambda a: a.prod(0), np.multiply),
    # extremum.py
    "row_argmax": Formula("mn->m,m", lambda a: (a.max(1), a.argmax(1)), start=(-99, 0)),
    "row_argmin": Formula("mn->m,m", lambda a: (a.min(1), a.argmin(1)), start=(99, 0)),
    "column_argmax": Formula("mn->n,n", lambda a: (a.max(0), a.argmax(0)), start=(-99, 0)),
    "column_argmin": Formula("mn->n,n", lambda a: (a.min(0), a.argmin(0)), start=(99, 0)),
    "row_min_max": Formula("mn->m,m", lambda a: (a.min(1), a.max(1)), start=(99, -99)),
    "column_min_max": Formula("mn->n,n", lambda a: (a.min(0), a.max(0)), start=(99, -99)),
    "row_top_two": Formula("mn->m,m", lambda a: (a.max(1), _second(a)), start=(-99, -99)),
    # scan.py
    "row_cumulative_sum": Formula("mn->mn", lambda a: a.cumsum(1), np.add),
    "row_cumulative_product": Formula("mn->mn", lambda a: a.cumprod(1), np.multiply),
    "row_cumulative_max": Formula("mn->mn", lambda a: np.maximum.accumulate(a, axis=1), np.maximum),
    "row_cumulative_min": Formula("mn->mn", lambda a: np.minimum.accumulate(a, axis=1), np.minimum),
    # global_pooling.py
    **{
        f"global_pooling_{layout}_{kind}": _pooled(kind, layout)
        for kind in ("average", "max")
        for layout in ("nwc", "ncw", "nhwc", "nchw", "ndhwc", "ncdhw")
    },
    # resizing.py
    "upsample_nearest_nwc": _shaped("nwc->", (5, 6, 3), lambda x: x.repeat(3, 1), factors=3),
    "upsample_nearest_ncw": _shaped("ncw->", (5, 3, 4), lambda x: x.repeat(2, 2)),
    "upsample_nearest_nhwc": _shaped(
        "nhwc->", (5, 4, 6, 3), lambda x: x.repeat(2, 1).repeat(3, 2), factors=(2, 3)
    ),
    "upsample_nearest_nchw": _shaped(
        "nchw->", (5, 3, 4, 6), lambda x: x.repeat(2, 2).repeat(3, 3), factors=(2, 3)
    ),
    "dilate_nwc": _shaped("nmc->", (5, 10, 3), lambda x: _dilated(x, (1, 3, 1)), strides=3),
    "dilate_ncw": _shaped("ncm->", (5, 3, 7), lambda x: _dilated(x, (1, 1, 2)), strides=2),
    "dilate_nhwc": _shaped(
        "nhmc->", (5, 3, 10, 3), lambda x: _dilated(x, (1, 2, 3, 1)), strides=(2, 3)
    ),
    "dilate_nchw": _shaped(
        "nchm->", (5, 3, 3, 10), lambda x: _dilated(x, (1, 1, 2, 3)), strides=(2, 3)
    ),
    "pad_nwc": _shaped(
        "nwc,->",
        (5, 5, 3),
        lambda x, v: np.pad(x, [(0, 0), (2, 1), (0, 0)], constant_values=v),
        low=2,
        high=1,
    ),
    "pad_ncw": _shaped(
        "ncw,->",
        (5, 3, 3),
        lambda x, v: np.pad(x, [(0, 0), (0, 0), (0, 1)], constant_values=v),
        high=1,
    ),
    "pad_nhwc": _shaped(
        "nhwc,->",
        (5, 3, 5, 3),
        lambda x, v: np.pad(x, [(0, 0), (0, 1), (1, 2), (0, 0)], constant_values=v),
        low=(0, 1),
        high=(1, 2),
    ),
    "pad_nchw": _shaped(
        "nchw,->",
        (5, 3, 3, 5),
        lambda x, v: np.pad(x, [(0, 0), (0, 0), (0, 1), (1, 2)], constant_values=v),
        low=(0, 1),
        high=(1, 2),
    ),
    # patches.py
    "im2col_nwc": _shaped(
        "xnc->",
        (3, 2, 2, 3),
        lambda x: np.moveaxis(_patches(x, (1,), 2, 2), -1, 2),
        kernel=2,
        strides=2,
    ),
    "im2col_ncw": _shaped(
        "xcn->",
        (3, 3, 2, 2),
        lambda x: np.moveaxis(_patches(x, (2,), 2, 2), -1, 2),
        kernel=2,
        strides=2,
    ),
    "im2col_nhwc": _shaped(
        "xnmc->",
        (3, 3, 2, 3, 3, 3),
        lambda x: np.moveaxis(_patches(x, (1, 2), 3, 1), 3, 5),
        kernel=3,
    ),
    "im2col_nchw": _shaped(
        "xcnm->",
        (3, 3, 2, 2, 2, 2),
        lambda x: _patches(x, (2, 3), 2, 2).transpose(0, 1, 4, 5, 2, 3),
        kernel=2,
        strides=2,
    ),
    "depth_to_space_nchw": _shaped("xmcn->", (3, 1, 6, 10), _blocks_to_pixels),
    "depth_to_space_nhwc": _shaped("xcnm->", (3, 6, 10, 1), _last(_blocks_to_pixels)),
    "space_to_depth_nchw": _shaped("xcmh->", (3, 12, 2, 1), _pixels_to_blocks),
    "space_to_depth_nhwc": _shaped("xmhc->", (3, 2, 1, 12), _last(_pixels_to_blocks)),
    # rearrangement.py
    "flip": Formula("n->n", lambda x: x[::-1]),
    "flip_rows": Formula("mn->mn", lambda x: x[:, ::-1]),
    "flip_columns": Formula("mn->mn", lambda x: x[::-1]),
    "roll": _shaped("n->", (5,), lambda x: np.roll(x, 7), shift=7),
    "roll_rows": _shaped("mn->", (4, 5), lambda x: np.roll(x, 2, 1), shift=2),
    "tile": _shaped("n->", (15,), lambda x: np.tile(x, 3), count=3),
    "tile_2d": _shaped("mn->", (8, 15), lambda x: np.tile(x, (2, 3)), counts=(2, 3)),
    "repeat": _shaped("n->", (15,), lambda x: np.repeat(x, 3), count=3),
    "repeat_rows": _shaped("mn->", (8, 5), lambda x: np.repeat(x, 2, 0)),
    "take_every": _shaped("n->", (3,), lambda x: x[::2]),
    "transpose_2d": Formula("nm->mn", np.transpose),
    "batch_transpose": Formula("bnm->bmn", lambda x: x.swapaxes(1, 2)),
    "nchw_to_nhwc": Formula("nchw->nhwc", lambda x: np.moveaxis(x, 1, 3)),
    "nhwc_to_nchw": Formula("nhwc->nchw", lambda x: np.moveaxis(x, 3, 1)),
    "broadcast_rows": Formula("n->mn", lambda x: np.broadcast_to(x, (4, 5))),
    "broadcast_columns": Formula("m->mn", lambda x: np.broadcast_to(x[:, None], (4, 5))),
    "concatenate": _shaped("m,k->", (7,), lambda a, b: np.concatenate([a, b])),
    "concatenate_rows": _shaped("mn,kn->", (7, 5), lambda a, b: np.concatenate([a, b])),
    "concatenate_columns": _shaped("mn,mk->", (4, 8), lambda a, b: np.concatenate([a, b], 1)),
    # masking.py
    "tril": Formula("mn,->mn", lambda a, k: np.tril(a, int(k))),
    "triu": Formula("mn,->mn", lambda a, k: np.triu(a, int(k))),
    "band": Formula("mn,,->mn", lambda a, low, up: np.triu(np.tril(a, int(up)), -int(low))),
    "causal_mask_scores": Formula("bhqk,->bhqk", _scores(lambda q, k: k <= q)),
    "sliding_window_mask_scores": Formula(
        "bhqk,,->bhqk", _scores(lambda q, k, window: (k <= q) & (q - k < window))
    ),
    "length_mask_scores": Formula(
        "bhqk,b,->bhqk", _scores(lambda q, k, n: k < n[:, None, None, None])
    ),
    "mask_scores": Formula("bhqk,bhqk,->bhqk", lambda s, mask, v: np.where(mask, s, v)),
    "linear_bias_scores": Formula(
        "bhqk,h->bhqk",
        lambda s, m: s - m[:, None, None] * (np.arange(3)[:, None] - np.arange(3)),
    ),
    "rotary_embedding": Formula("bhqm,qm,qm->bhqm", _rotated),
    # loss.py
    "absolute_error": _binary(lambda x, y: np.abs(x - y)),
    "huber_loss": Formula("xy,xy,->xy", lambda x, y, d: _huber(x - y, d), None, FLOAT),
    "smooth_l1_loss": Formula("xy,xy,->xy", lambda x, y, b: _huber(x - y, b) / b, None, FLOAT),
    "log_cosh_loss": _binary(lambda x, y: np.log(np.cosh(x - y)), FLOAT),
    "hinge_loss": _binary(lambda x, y: np.maximum(1 - x * y, 0)),
    "binary_cross_entropy": _binary(lambda p, q: -q * np.log(p) - (1 - q) * np.log(1 - p), FLOAT),
    "binary_cross_entropy_of_logits": _binary(lambda x, y: np.logaddexp(0, x) - x * y, FLOAT),
    "kullback_leibler_divergence": _binary(lambda x, y: y * (np.log(y) - x), FLOAT),
    "row_negative_log_likelihood": Formula("mn,m->m", lambda x, y: -_picked(x, y), np.add),
    "row_cross_entropy": Formula(
        "mn,m,m,m->m",
        lambda x, top, total, y: _picked((np.log(total) + top)[:, None] - x, y),
        np.add,
        FLOAT,
    ),
    "row_cross_entropy_of_probabilities": Formula("mn,mn->m", lambda x, p: -(p * x).sum(1), np.add),
    "row_entropy": Formula("mn->m", lambda p: -(p * np.log(p)).sum(1), np.add, FLOAT),
    # activation.py
    "hard_tanh": _unary(lambda x: np.clip(x, -1, 1), ANY),
    "hard_sigmoid": _unary(_hard_sigmoid),
    "hard_swish": _unary(lambda x: x * _hard_sigmoid(x)),
    "threshold": Formula("xy,,->xy", lambda x, limit, v: np.where(x > limit, x, v)),
    "soft_shrink": Formula(
        "xy,->xy", lambda x, a: np.where(x > a, x - a, np.where(x < -a, x + a, 0))
    ),
    "hard_shrink": Formula("xy,->xy", lambda x, a: np.where((x > a) | (x < -a), x, 0)),
    "selu": _unary(
        lambda x: 1.0507009873554805 * (np.maximum(x, 0) + 1.6732632423543772 * _elu(x))
    ),
    "celu": Formula("xy,->xy", lambda x, a: np.maximum(x, 0) + a * _elu(x / a), None, FLOAT),
    "squared_relu": _unary(lambda x: np.maximum(x, 0) ** 2, ANY),
    "parametric_relu": Formula("mn,n->mn", lambda x, s: np.where(x > 0, x, s * x)),
    "gated_linear_unit": _binary(lambda x, g: x * _sigmoid(g), FLOAT),
    "swish_gated_linear_unit": _binary(lambda x, g: x * g * _sigmoid(g), FLOAT),
    # quantization.py
    "fake_quantize": Formula(
        "xy,,,,->xy",
        lambda x, s, z, low, high: (_quantized(x, s, low, high, z) - z) * s,
        None,
        FLOAT,
    ),
    "dequantize_product": Formula("mn,m,n->mn", lambda a, r, c: a * r[:, None] * c),
    # conjugation.py
    "conjugate": _unary(np.conj, ANY),
    "abs2": _unary(lambda x: x * x, ANY),
    "vdot": Formula("k,k->", np.vdot, np.add),
    "matmul_conjugate_transpose_a": Formula("km,kn->mn", lambda a, b: a.T @ b, np.add),
    "matmul_conjugate_transpose_b": Formula("mk,nk->mn", lambda a, b: a @ b.T, np.add),
    "conjugate_transpose": Formula("nm->mn", np.transpose),
    # creation.py
    "linspace": Formula(",->n", lambda a, b: np.linspace(a, b, 5), None, FLOAT),
    "logspace": Formula(",,->n", lambda a, b, base: base ** np.linspace(a, b, 5), None, FLOAT),
    "indices_2d": Formula("->mn,mn", lambda: tuple(np.indices((4, 5))), start=(0, 0)),
    "sinusoidal_positions": Formula("->mn", _positions, None, FLOAT),
    "hann_window": Formula("->n", lambda: np.hanning(5), None, FLOAT),
    # lookup.py
    "embedding": Formula("kn,m->mn", lambda a, y: _named(y, 3) @ a, np.add),
    "histogram": Formula("m->n", lambda y: _named(y, 5).sum(0), np.add, INTEGER),
    "segment_sum": Formula("mn,m->kn", lambda a, y: _named(y, 3).T @ a, np.add),
    # distance.py
    "hamming_distance": Formula("k,k->", lambda a, b: np.sum(a != b), np.add),
    "pairwise_hamming_distance": Formula(
        "mk,nk->mn", lambda a, b: (a[:, None] != b).sum(2), np.add
    ),
    # product.py
    "kron_2d": _shaped("mn,pq->", (8, 15), np.kron),
    # normalization.py
    "row_mean_of_squares": Formula("mn->m", lambda x: (x * x).mean(1), np.add, FLOAT),
    "row_variance": Formula(
        "mn,m->m", lambda x, mean: ((x - mean[:, None]) ** 2).mean(1), np.add, FLOAT
    ),
    "channel_mean_nchw": Formula("nchw->c", lambda x: x.mean((0, 2, 3)), np.add, FLOAT),
    "channel_mean_nhwc": Formula("nhwc->c", lambda x: x.mean((0, 1, 2)), np.add, FLOAT),
    "channel_variance_nchw": Formula(
        "nchw,c->c", _channel_variance((0, 2, 3), (3, 1, 1)), np.add, FLOAT
    ),
    "channel_variance_nhwc": Formula(
        "nhwc,c->c", _channel_variance((0, 1, 2), (3,)), np.add, FLOAT
    ),
}

UNIT_INTERVAL = {"asin", "acos", "atanh", "binary_cross_entropy"}
"""Ops whose operands lie between 0 and 1."""

WIDER_POSITIVE = {
    "log1p",
    "log2",
    "log10",
    "xlogy",
    "acosh",
    "huber_loss",
    "smooth_l1_loss",
    "soft_shrink",
    "hard_shrink",
    "row_entropy",
    "row_cross_entropy",
    "kullback_leibler_divergence",
    "celu",
    "fake_quantize",
    "logspace",
    "sinusoidal_positions",
    "band",
    "isclose",
}
