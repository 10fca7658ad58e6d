"""Random numbers by a key; PyTorch draws them by a state of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks.bars.case import Case, torch
from benchmarks.peers import Array

_COUNT = 4 << 20


def cases() -> Iterator[Case]:
    """Yield cases of each distribution and of each float."""
    for name, ours, in_numpy, in_torch in (
        ("uniform", lx.random.uniform, "random", "rand"),
        ("normal", lx.random.normal, "standard_normal", "randn"),
    ):
        for dtype, kind in (("f4", "f32"), ("f8", "f64")):
            yield _case(f"random {name}, 4M {kind}", ours, in_numpy, in_torch, np.dtype(dtype))


def _case(name: str, ours: Any, in_numpy: str, in_torch: str, dtype: np.dtype[Any]) -> Case:
    traced = lx.jit(lambda key: ours(key, (_COUNT,), dtype))

    def by_numpy(key: Any, out: Any = None) -> Any:
        return getattr(np.random.default_rng(key), in_numpy)(_COUNT, dtype, out=out)

    def by_torch(key: Any, out: Any = None) -> Any:
        options = {"dtype": getattr(torch(), dtype.name)} if out is None else {"out": out}
        return getattr(torch(), in_torch)(_COUNT, **options)

    def by_jax(key: Any) -> Any:
        import jax.random

        own = jax.random.wrap_key_data(key)
        return getattr(jax.random, ours.__name__)(own, (_COUNT,), dtype)

    return Case(
        name,
        ((2,),),
        lambda key, out=None: traced(key, out=out),
        {"numpy": by_numpy, "torch": by_torch, "jax": by_jax},
        "u4",
        reused={"numpy": by_numpy, "torch": by_torch},
        compared=_distribution,
    )


def _distribution(numbers: Array) -> Array:
    """Return the mean, the deviation and quantiles, which are alike for any 4M numbers."""
    return np.array([numbers.mean(), numbers.std(), *np.quantile(numbers, [0.1, 0.3, 0.5, 0.9])])
