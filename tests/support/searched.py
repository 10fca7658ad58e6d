"""A kernel whose groups were searched for, and taken: tiles of rows keep a product in a cache."""

from __future__ import annotations

from typing import Any

import numpy as np

import linalg_ext as lx


def searched_sums() -> lx.Kernel:
    """Sums over rows of exponentials of a product, for calls on one thread."""

    def sums(x: Any, w: Any) -> Any:
        return np.exp(x @ w).sum(axis=-1)

    x, w = (np.ones(shape, np.float32) for shape in [(16400, 16), (16, 260)])
    with lx.threads.using(1):
        return lx.compile(lx.jit(sums).lower(x, w).module, search=True)
