"""Whether what loops were raised to does what they did."""

from __future__ import annotations

from typing import Any

import numpy as np

import linalg_ext as lx
from linalg_ext.module import Module


def same_effect(text: str, module: Module, *shapes: tuple[int, ...]) -> None:
    """Check that `@f` of two modules does the same to `f32` arrays, and gives the same."""
    found = [_effect(lx.parse(text), shapes), _effect(module, shapes)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def _effect(module: Module, shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    rng = np.random.default_rng(7)
    arrays = [rng.random(shape, dtype=np.float32) for shape in shapes]
    given = lx.compile(module, "f")(*arrays)
    results = given if isinstance(given, tuple) else () if given is None else (given,)
    return [*arrays, *results]
