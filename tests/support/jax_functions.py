"""Small functions of JAX, by family: each family is compiled as one function of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from resources import package

jax: Any = package("jax", "pip install 'linalg-ext[jax]'")
jnp, lax, nn = jax.numpy, jax.lax, jax.nn
special = package("jax.scipy.special", "pip install 'linalg-ext[jax]'")

_rng = np.random.default_rng(0)


def _normal(*shape: int) -> Any:
    return _rng.standard_normal(shape, dtype=np.float32)


x, y, w, v = _normal(4, 6), _normal(4, 6) + 2, _normal(6, 5), _normal(6)
i = np.array([0, 3, 1], np.int32)
n = _rng.integers(-9, 9, (4, 6)).astype(np.int32)
u = n.astype(np.uint8)
image, kernel = _normal(2, 3, 8, 8), _normal(4, 3, 3, 3)
last, grouped = _normal(2, 5, 5, 3), _normal(6, 1, 3, 3)
square = _normal(4, 4) + 2 * np.eye(4, dtype=np.float32)
positive = square @ square.T

Family = tuple[tuple[Any, ...], dict[str, Callable[..., Any]]]


def _pooled(a: Any) -> Any:
    return lax.reduce_window(a, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def _step(state: Any, row: Any) -> Any:
    state = jnp.tanh(state * 0.5 + row)
    return state, state * 2


FAMILIES: dict[str, Family] = {
    "elements": (
        (x, y, n),
        {
            "where": lambda x, y, n: jnp.where(x > 0, x, y),
            "log1p, expm1": lambda x, y, n: jnp.log1p(y * y) + jnp.expm1(x),
            "hyperbolic": lambda x, y, n: jnp.sinh(x),
            "erf": lambda x, y, n: special.erf(x),
            "gelu": lambda x, y, n: nn.gelu(x),
            "round": lambda x, y, n: jnp.round(x),
            "remainder": lambda x, y, n: jnp.remainder(x, y),
            "floor division": lambda x, y, n: n // 3 + n % 4,
            "powers": lambda x, y, n: (jnp.abs(y) ** 1.5, n**3),
            "bits": lambda x, y, n: (lax.population_count(n), lax.clz(n)),
            "arctan2": lambda x, y, n: jnp.arctan2(x, y),
            "as bits": lambda x, y, n: lax.bitcast_convert_type(x, jnp.int32),
            "complex": lambda x, y, n: jnp.abs(lax.complex(x, y) * lax.complex(y, x)),
            "narrower": lambda x, y, n: lax.reduce_precision(x, 5, 10),
        },
    ),
    "unsigned": (
        (u,),
        {
            "shifts": lambda u: (u >> 1) ^ (u << 2),
            "division": lambda u: u // 3,
            "maximum": lambda u: jnp.maximum(u, 7),
            "sum": lambda u: u.sum(1, dtype=jnp.uint8),
            "to float": lambda u: u.astype(jnp.float32),
        },
    ),
    "contractions": (
        (x, w, n, image),
        {
            "product": lambda x, w, n, a: x @ w,
            "einsum": lambda x, w, n, a: jnp.einsum("ij,jk->ki", x, w),
            "batches": lambda x, w, n, a: jnp.einsum("bcij,bckj->bcik", a, a),
            "integers": lambda x, w, n, a: n @ n.T,
            "narrow": lambda x, w, n, a: jnp.dot(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)),
            "mapped": lambda x, w, n, a: jax.vmap(lambda row: row @ w)(x),
            "gradient": lambda x, w, n, a: jax.grad(lambda x: (jnp.tanh(x @ w) ** 2).sum())(x),
        },
    ),
    "reductions": (
        (x, n),
        {
            "softmax": lambda x, n: nn.softmax(x) + nn.logsumexp(x),
            "norm": lambda x, n: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var() + 1e-5),
            "argmax": lambda x, n: jnp.argmax(x, 1),
            "max, prod": lambda x, n: x.max(0).sum() + x.prod(1),
            "all, any": lambda x, n: ((x > 0).all(1), jnp.any(n > 3)),
            "cumsum": lambda x, n: jnp.cumsum(x, 1),
            "cummax": lambda x, n: lax.cummax(x, axis=1, reverse=True),
            "scan by pairs": lambda x, n: lax.associative_scan(jnp.add, x),
        },
    ),
    "windows": (
        (image, kernel, grouped, last),
        {
            "same": lambda a, k, g, c: lax.conv(a, k, (1, 1), "SAME"),
            "dilated": lambda a, k, g, c: lax.conv_general_dilated(
                a, k, (2, 2), [(1, 2), (0, 1)], lhs_dilation=(2, 1), rhs_dilation=(1, 2)
            ),
            "groups": lambda a, k, g, c: lax.conv_general_dilated(
                a, g, (1, 1), "VALID", feature_group_count=3
            ),
            "channels last": lambda a, k, g, c: lax.conv_transpose(
                c, k.transpose(2, 3, 1, 0), (2, 2), "SAME"
            ),
            "maximum": lambda a, k, g, c: _pooled(a),
            "sums": lambda a, k, g, c: lax.reduce_window(
                a, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 2, 2), "SAME"
            ),
            "gradient": lambda a, k, g, c: jax.grad(lambda a: (_pooled(a) ** 2).sum())(a),
        },
    ),
    "places": (
        (x, i, n, np.int32(1)),
        {
            "rows": lambda x, i, n, k: x[i],
            "columns": lambda x, i, n, k: x[:, i],
            "pairs": lambda x, i, n, k: x[i, i + 1],
            "along": lambda x, i, n, k: jnp.take_along_axis(x, jnp.abs(n) % 6, 1),
            "slice": lambda x, i, n, k: lax.dynamic_slice(x, (k, k), (2, 3)),
            "update": lambda x, i, n, k: lax.dynamic_update_slice(x, x[:2, :2], (k, k + 9)),
            "set": lambda x, i, n, k: x.at[i].set(1.0),
            "add, outside": lambda x, i, n, k: x.at[i + 2, i].add(2.0),
            "max": lambda x, i, n, k: x.at[:, i].max(x[:, :3] + 1),
            "segments": lambda x, i, n, k: jax.ops.segment_sum(x[:3], i, 5),
            "bincount": lambda x, i, n, k: jnp.bincount(i, length=5),
        },
    ),
    "order": (
        (x, y, v),
        {
            "sort": lambda x, y, v: jnp.sort(x, 1),
            "argsort": lambda x, y, v: jnp.argsort(x, 0),
            "top k": lambda x, y, v: lax.top_k(x, 3),
            "two keys": lambda x, y, v: lax.sort((jnp.round(x), y), num_keys=2),
            "search": lambda x, y, v: jnp.searchsorted(jnp.sort(v), x),
        },
    ),
    "control": (
        (x, v, np.int32(1)),
        {
            "scan": lambda x, v, k: lax.scan(_step, jnp.zeros(6), x),
            "while": lambda x, v, k: lax.while_loop(
                lambda s: s[1] < 10, lambda s: (s[0] * 1.1, s[1] + k), (v, 0)
            ),
            "for": lambda x, v, k: lax.fori_loop(0, 5, lambda j, s: s + j, v),
            "cond": lambda x, v, k: lax.cond(v.sum() > 0, jnp.sin, jnp.cos, v),
            "switch": lambda x, v, k: lax.switch(k, [jnp.sin, jnp.cos, jnp.exp], v),
            "recomputed": lambda x, v, k: jax.grad(
                lambda v: jax.checkpoint(lambda v: jnp.sin(jnp.sin(v * k)))(v).sum()
            )(v),
            "map": lambda x, v, k: lax.map(lambda row: row.sum(), x),
        },
    ),
    "movement": (
        (x, y, i),
        {
            "pad": lambda x, y, i: lax.pad(x, 0.0, ((1, -1, 1), (0, 0, 2))),
            "reflect": lambda x, y, i: jnp.pad(x, 1, mode="reflect"),
            "join": lambda x, y, i: jnp.stack([jnp.concatenate([x, y], 1)] * 2),
            "backwards": lambda x, y, i: x[::-1, ::2],
            "roll": lambda x, y, i: jnp.roll(x, 2, 1),
            "triangle": lambda x, y, i: jnp.tril(x) + jnp.eye(4, 6),
            "repeat": lambda x, y, i: jnp.tile(jnp.repeat(x, 2, 1), (2, 1)),
            "one hot": lambda x, y, i: nn.one_hot(i, 5),
            "trace": lambda x, y, i: jnp.trace(x),
        },
    ),
    "spectra": (
        (x, y),
        {
            "complex": lambda x, y: jnp.fft.fft(lax.complex(x, y)),
            "real, and back": lambda x, y: (jnp.fft.rfft(x), jnp.fft.irfft(lax.complex(x, y))),
            "backwards": lambda x, y: jnp.fft.ifft(lax.complex(x, y), n=5, axis=0, norm="ortho"),
            "axes": lambda x, y: (jnp.fft.fft2(x), jnp.fft.irfftn(lax.complex(x, y), (3, 7))),
            "gradient": lambda x, y: jax.grad(lambda x: jnp.abs(jnp.fft.rfft(x)).sum())(x),
        },
    ),
    "decompositions": (
        (positive, square),
        {
            "cholesky": lambda p, s: jnp.linalg.cholesky(p),
            "not positive": lambda p, s: jnp.linalg.cholesky(-p),
            "solve": lambda p, s: jnp.linalg.solve(s, p[:, 0]),
            "inverse": lambda p, s: (jnp.linalg.inv(s), jnp.linalg.slogdet(s)),
            "qr": lambda p, s: jnp.linalg.qr(s[:, :3]),
            "eigh": lambda p, s: jnp.linalg.eigvalsh(p),
            "eig": lambda p, s: jnp.linalg.eigvals(s),
            "svd": lambda p, s: jnp.linalg.svd(s[:3], full_matrices=False),
            "batches": lambda p, s: jax.vmap(jnp.linalg.solve)(
                jnp.stack([p, s]), jnp.stack([s, p])
            ),
            "complex": lambda p, s: jnp.linalg.inv(lax.complex(s, p)),
            "triangles": lambda p, s: [
                jax.scipy.linalg.solve_triangular(p, s, lower=lower, trans=trans)
                for lower in (False, True)
                for trans in (0, 1)
            ],
            "gradient": lambda p, s: jax.grad(lambda s: jnp.linalg.inv(s).sum())(s),
            "exponential": lambda p, s: jax.scipy.linalg.expm(s),
            "in a loop": lambda p, s: lax.fori_loop(
                0, 3, lambda _, m: jnp.linalg.inv(m) + jnp.eye(4), p
            ),
        },
    ),
    "random": (
        (np.array([0, 42], np.uint32),),
        {"uniform": lambda k: jax.random.uniform(jax.random.wrap_key_data(k), (7,))},
    ),
}
"""By family: the arguments, and the functions of them by what they try."""
