"""What the ops beyond upstream's language compute, as formulas in NumPy; see op_formulas.py."""

from __future__ import annotations

import numpy as np

from formula_functions import (
    angle,
    binary,
    blocks_to_pixels,
    channel_variance,
    dilated,
    elu,
    erfc,
    hard_sigmoid,
    huber,
    last,
    named,
    patches,
    picked,
    pixels_to_blocks,
    pooled,
    positions,
    quantized,
    rotated,
    scores,
    second,
    shaped,
    sigmoid,
    unary,
    where,
)
from op_formulas import ANY, FLOAT, INTEGER, Formula

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
    **{name: unary(getattr(np, name)) for name in ("sin", "cos", "tan", "sinh", "cosh")},
    **{f"a{name}": unary(getattr(np, f"arc{name}")) for name in ("sin", "cos", "tan")},
    **{f"a{name}": unary(getattr(np, f"arc{name}")) for name in ("sinh", "cosh", "tanh")},
    "atan2": binary(angle, FLOAT),
    # exponential.py
    **{
        name: unary(getattr(np, name))
        for name in ("exp2", "expm1", "log1p", "log2", "log10", "cbrt")
    },
    "logaddexp": binary(np.logaddexp, FLOAT),
    "hypot": binary(np.hypot, FLOAT),
    "xlogy": binary(lambda x, y: x * np.log(y), FLOAT),
    # unary.py
    "trunc": unary(np.trunc),
    "roundeven": unary(np.rint),
    "erfc": unary(erfc),
    "sign": unary(np.sign, ANY),
    # comparison.py
    **{name: binary(function) for name, function in COMPARISONS.items()},
    **{f"where_{name}": where(function) for name, function in COMPARISONS.items()},
    # floating_point.py
    "isnan": unary(np.isnan, ANY),
    "isinf": unary(np.isinf, ANY),
    "isfinite": unary(np.isfinite, ANY),
    "replace_nan": Formula("xy,->xy", lambda x, v: np.where(np.isnan(x), v, x)),
    "isclose": Formula("xy,xy,,->xy", lambda x, y, r, a: np.abs(x - y) <= a + r * np.abs(y)),
    "fmod": binary(np.fmod),
    "copysign": binary(np.copysign, FLOAT),
    "fused_multiply_add": Formula("xy,xy,xy->xy", lambda a, b, c: a * b + c),
    "heaviside": Formula("xy,->xy", lambda x, z: np.where(x == 0, z, x > 0)),
    "clamp": Formula("xy,xy,xy->xy", lambda x, a, b: np.minimum(np.maximum(x, a), b)),
    # logic.py
    "logical_and": binary(np.logical_and),
    "logical_or": binary(np.logical_or),
    "logical_xor": binary(np.logical_xor),
    "logical_not": unary(np.logical_not, ANY),
    "bitwise_and": binary(np.bitwise_and, INTEGER),
    "bitwise_or": binary(np.bitwise_or, INTEGER),
    "bitwise_xor": binary(np.bitwise_xor, INTEGER),
    "bitwise_not": unary(np.invert, INTEGER),
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
    "row_top_two": Formula("mn->m,m", lambda a: (a.max(1), second(a)), start=(-99, -99)),
    # scan.py
    "row_cumulative_sum": Formula("mn->mn", lambda a: a.cumsum(1), np.add),
    "row_cumulative_product": Formula("mn->mn", lambda a: a.cumprod(1), np.multiply),
    "row_cumulative_max": Formula("mn->mn", lambda a: np.maximum.accumulate(a, axis=1), np.maximum),
    "row_cumulative_min": Formula("mn->mn", lambda a: np.minimum.accumulate(a, axis=1), np.minimum),
    # global_pooling.py
    **{
        f"global_pooling_{layout}_{kind}": pooled(kind, layout)
        for kind in ("average", "max")
        for layout in ("nwc", "ncw", "nhwc", "nchw", "ndhwc", "ncdhw")
    },
    # resizing.py
    "upsample_nearest_nwc": shaped("nwc->", (5, 6, 3), lambda x: x.repeat(3, 1), factors=3),
    "upsample_nearest_ncw": shaped("ncw->", (5, 3, 4), lambda x: x.repeat(2, 2)),
    "upsample_nearest_nhwc": shaped(
        "nhwc->", (5, 4, 6, 3), lambda x: x.repeat(2, 1).repeat(3, 2), factors=(2, 3)
    ),
    "upsample_nearest_nchw": shaped(
        "nchw->", (5, 3, 4, 6), lambda x: x.repeat(2, 2).repeat(3, 3), factors=(2, 3)
    ),
    "dilate_nwc": shaped("nmc->", (5, 10, 3), lambda x: dilated(x, (1, 3, 1)), strides=3),
    "dilate_ncw": shaped("ncm->", (5, 3, 7), lambda x: dilated(x, (1, 1, 2)), strides=2),
    "dilate_nhwc": shaped(
        "nhmc->", (5, 3, 10, 3), lambda x: dilated(x, (1, 2, 3, 1)), strides=(2, 3)
    ),
    "dilate_nchw": shaped(
        "nchm->", (5, 3, 3, 10), lambda x: dilated(x, (1, 1, 2, 3)), strides=(2, 3)
    ),
    "pad_nwc": shaped(
        "nwc,->",
        (5, 5, 3),
        lambda x, v: np.pad(x, [(0, 0), (2, 1), (0, 0)], constant_values=v),
        low=2,
        high=1,
    ),
    "pad_ncw": shaped(
        "ncw,->",
        (5, 3, 3),
        lambda x, v: np.pad(x, [(0, 0), (0, 0), (0, 1)], constant_values=v),
        high=1,
    ),
    "pad_nhwc": shaped(
        "nhwc,->",
        (5, 3, 5, 3),
        lambda x, v: np.pad(x, [(0, 0), (0, 1), (1, 2), (0, 0)], constant_values=v),
        low=(0, 1),
        high=(1, 2),
    ),
    "pad_nchw": shaped(
        "nchw,->",
        (5, 3, 3, 5),
        lambda x, v: np.pad(x, [(0, 0), (0, 0), (0, 1), (1, 2)], constant_values=v),
        low=(0, 1),
        high=(1, 2),
    ),
    # patches.py
    "im2col_nwc": shaped(
        "xnc->",
        (3, 2, 2, 3),
        lambda x: np.moveaxis(patches(x, (1,), 2, 2), -1, 2),
        kernel=2,
        strides=2,
    ),
    "im2col_ncw": shaped(
        "xcn->",
        (3, 3, 2, 2),
        lambda x: np.moveaxis(patches(x, (2,), 2, 2), -1, 2),
        kernel=2,
        strides=2,
    ),
    "im2col_nhwc": shaped(
        "xnmc->",
        (3, 3, 2, 3, 3, 3),
        lambda x: np.moveaxis(patches(x, (1, 2), 3, 1), 3, 5),
        kernel=3,
    ),
    "im2col_nchw": shaped(
        "xcnm->",
        (3, 3, 2, 2, 2, 2),
        lambda x: patches(x, (2, 3), 2, 2).transpose(0, 1, 4, 5, 2, 3),
        kernel=2,
        strides=2,
    ),
    "depth_to_space_nchw": shaped("xmcn->", (3, 1, 6, 10), blocks_to_pixels),
    "depth_to_space_nhwc": shaped("xcnm->", (3, 6, 10, 1), last(blocks_to_pixels)),
    "space_to_depth_nchw": shaped("xcmh->", (3, 12, 2, 1), pixels_to_blocks),
    "space_to_depth_nhwc": shaped("xmhc->", (3, 2, 1, 12), last(pixels_to_blocks)),
    # rearrangement.py
    "flip": Formula("n->n", lambda x: x[::-1]),
    "flip_rows": Formula("mn->mn", lambda x: x[:, ::-1]),
    "flip_columns": Formula("mn->mn", lambda x: x[::-1]),
    "roll": shaped("n->", (5,), lambda x: np.roll(x, 7), shift=7),
    "roll_rows": shaped("mn->", (4, 5), lambda x: np.roll(x, 2, 1), shift=2),
    "tile": shaped("n->", (15,), lambda x: np.tile(x, 3), count=3),
    "tile_2d": shaped("mn->", (8, 15), lambda x: np.tile(x, (2, 3)), counts=(2, 3)),
    "repeat": shaped("n->", (15,), lambda x: np.repeat(x, 3), count=3),
    "repeat_rows": shaped("mn->", (8, 5), lambda x: np.repeat(x, 2, 0)),
    "take_every": shaped("n->", (3,), lambda x: x[::2]),
    "transpose_2d": Formula("nm->mn", np.transpose),
    "batch_transpose": Formula("bnm->bmn", lambda x: x.swapaxes(1, 2)),
    "nchw_to_nhwc": Formula("nchw->nhwc", lambda x: np.moveaxis(x, 1, 3)),
    "nhwc_to_nchw": Formula("nhwc->nchw", lambda x: np.moveaxis(x, 3, 1)),
    "broadcast_rows": Formula("n->mn", lambda x: np.broadcast_to(x, (4, 5))),
    "broadcast_columns": Formula("m->mn", lambda x: np.broadcast_to(x[:, None], (4, 5))),
    "concatenate": shaped("m,k->", (7,), lambda a, b: np.concatenate([a, b])),
    "concatenate_rows": shaped("mn,kn->", (7, 5), lambda a, b: np.concatenate([a, b])),
    "concatenate_columns": shaped("mn,mk->", (4, 8), lambda a, b: np.concatenate([a, b], 1)),
    # masking.py
    "tril": Formula("mn,->mn", lambda a, k: np.tril(a, int(k))),
    "triu": Formula("mn,->mn", lambda a, k: np.triu(a, int(k))),
    "band": Formula("mn,,->mn", lambda a, low, up: np.triu(np.tril(a, int(up)), -int(low))),
    "causal_mask_scores": Formula("bhqk,->bhqk", scores(lambda q, k: k <= q)),
    "sliding_window_mask_scores": Formula(
        "bhqk,,->bhqk", scores(lambda q, k, window: (k <= q) & (q - k < window))
    ),
    "length_mask_scores": Formula(
        "bhqk,b,->bhqk", scores(lambda q, k, n: k < n[:, None, None, None])
    ),
    "mask_scores": Formula("bhqk,bhqk,->bhqk", lambda s, mask, v: np.where(mask, s, v)),
    "linear_bias_scores": Formula(
        "bhqk,h->bhqk",
        lambda s, m: s - m[:, None, None] * (np.arange(3)[:, None] - np.arange(3)),
    ),
    "rotary_embedding": Formula("bhqm,qm,qm->bhqm", rotated),
    # loss.py
    "absolute_error": binary(lambda x, y: np.abs(x - y)),
    "huber_loss": Formula("xy,xy,->xy", lambda x, y, d: huber(x - y, d), None, FLOAT),
    "smooth_l1_loss": Formula("xy,xy,->xy", lambda x, y, b: huber(x - y, b) / b, None, FLOAT),
    "log_cosh_loss": binary(lambda x, y: np.log(np.cosh(x - y)), FLOAT),
    "hinge_loss": binary(lambda x, y: np.maximum(1 - x * y, 0)),
    "binary_cross_entropy": binary(lambda p, q: -q * np.log(p) - (1 - q) * np.log(1 - p), FLOAT),
    "binary_cross_entropy_of_logits": binary(lambda x, y: np.logaddexp(0, x) - x * y, FLOAT),
    "kullback_leibler_divergence": binary(lambda x, y: y * (np.log(y) - x), FLOAT),
    "row_negative_log_likelihood": Formula("mn,m->m", lambda x, y: -picked(x, y), np.add),
    "row_cross_entropy": Formula(
        "mn,m,m,m->m",
        lambda x, top, total, y: picked((np.log(total) + top)[:, None] - x, y),
        np.add,
        FLOAT,
    ),
    "row_cross_entropy_of_probabilities": Formula("mn,mn->m", lambda x, p: -(p * x).sum(1), np.add),
    "row_entropy": Formula("mn->m", lambda p: -(p * np.log(p)).sum(1), np.add, FLOAT),
    # activation.py
    "hard_tanh": unary(lambda x: np.clip(x, -1, 1), ANY),
    "hard_sigmoid": unary(hard_sigmoid),
    "hard_swish": unary(lambda x: x * hard_sigmoid(x)),
    "threshold": Formula("xy,,->xy", lambda x, limit, v: np.where(x > limit, x, v)),
    "soft_shrink": Formula(
        "xy,->xy", lambda x, a: np.where(x > a, x - a, np.where(x < -a, x + a, 0))
    ),
    "hard_shrink": Formula("xy,->xy", lambda x, a: np.where((x > a) | (x < -a), x, 0)),
    "selu": unary(lambda x: 1.0507009873554805 * (np.maximum(x, 0) + 1.6732632423543772 * elu(x))),
    "celu": Formula("xy,->xy", lambda x, a: np.maximum(x, 0) + a * elu(x / a), None, FLOAT),
    "squared_relu": unary(lambda x: np.maximum(x, 0) ** 2, ANY),
    "parametric_relu": Formula("mn,n->mn", lambda x, s: np.where(x > 0, x, s * x)),
    "gated_linear_unit": binary(lambda x, g: x * sigmoid(g), FLOAT),
    "swish_gated_linear_unit": binary(lambda x, g: x * g * sigmoid(g), FLOAT),
    # quantization.py
    "fake_quantize": Formula(
        "xy,,,,->xy",
        lambda x, s, z, low, high: (quantized(x, s, low, high, z) - z) * s,
        None,
        FLOAT,
    ),
    "dequantize_product": Formula("mn,m,n->mn", lambda a, r, c: a * r[:, None] * c),
    # conjugation.py
    "conjugate": unary(np.conj, ANY),
    "abs2": unary(lambda x: x * np.conj(x), ANY),
    "vdot": Formula("k,k->", np.vdot, np.add),
    "matmul_conjugate_transpose_a": Formula("km,kn->mn", lambda a, b: np.conj(a.T) @ b, np.add),
    "matmul_conjugate_transpose_b": Formula("mk,nk->mn", lambda a, b: a @ np.conj(b.T), np.add),
    "conjugate_transpose": Formula("nm->mn", lambda a: np.conj(a.T)),
    # creation.py
    "linspace": Formula(",->n", lambda a, b: np.linspace(a, b, 5), None, FLOAT),
    "logspace": Formula(",,->n", lambda a, b, base: base ** np.linspace(a, b, 5), None, FLOAT),
    "indices_2d": Formula("->mn,mn", lambda: tuple(np.indices((4, 5))), start=(0, 0)),
    "sinusoidal_positions": Formula("->mn", positions, None, FLOAT),
    "hann_window": Formula("->n", lambda: np.hanning(5), None, FLOAT),
    # lookup.py
    "embedding": Formula("kn,m->mn", lambda a, y: named(y, 3) @ a, np.add),
    "histogram": Formula("m->n", lambda y: named(y, 5).sum(0), np.add, INTEGER),
    "segment_sum": Formula("mn,m->kn", lambda a, y: named(y, 3).T @ a, np.add),
    # distance.py
    "hamming_distance": Formula("k,k->", lambda a, b: np.sum(a != b), np.add),
    "pairwise_hamming_distance": Formula(
        "mk,nk->mn", lambda a, b: (a[:, None] != b).sum(2), np.add
    ),
    # product.py
    "kron_2d": shaped("mn,pq->", (8, 15), np.kron),
    # normalization.py
    "row_mean_of_squares": Formula("mn->m", lambda x: (x * x).mean(1), np.add, FLOAT),
    "row_variance": Formula(
        "mn,m->m", lambda x, mean: ((x - mean[:, None]) ** 2).mean(1), np.add, FLOAT
    ),
    "channel_mean_nchw": Formula("nchw->c", lambda x: x.mean((0, 2, 3)), np.add, FLOAT),
    "channel_mean_nhwc": Formula("nhwc->c", lambda x: x.mean((0, 1, 2)), np.add, FLOAT),
    "channel_variance_nchw": Formula(
        "nchw,c->c", channel_variance((0, 2, 3), (3, 1, 1)), np.add, FLOAT
    ),
    "channel_variance_nhwc": Formula("nhwc,c->c", channel_variance((0, 1, 2), (3,)), np.add, FLOAT),
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
