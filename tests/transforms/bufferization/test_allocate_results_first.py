"""Results whose sizes only the run tells are computed in the memory that is handed out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.bufferization import prepare_destinations as file


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: np.exp(a) + b,
        lambda a, b: np.max(a * b, axis=-1),
        lambda a, b: a @ b.T,
        lambda a, b: (np.exp(a), a - b),
        lambda a, b: np.concatenate([np.exp(a), b]),
        lambda a, b: a,
        lambda a, b: (a + b).reshape(-1),
    ],
)
def test_open_sizes(function: Any) -> None:
    rng = np.random.default_rng(1)
    sizes = lx.Dim("m"), lx.Dim("k")
    opened = lx.jit(function, signature=[lx.ShapeDtype(sizes, "f32")] * 2)
    for shape in [(3, 5), (0, 4), (1, 33)]:
        a, b = rng.random((2, *shape), np.float32)
        found, wanted = opened(a, b), function(a, b)
        if not isinstance(wanted, tuple):
            found, wanted = (found,), (wanted,)
        for mine, numpys in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, numpys, rtol=1e-5)


def test_nothing_is_copied() -> None:
    sizes = lx.Dim("m"), lx.Dim("k")
    opened = lx.jit(lambda a: np.exp(a) + 1, signature=[lx.ShapeDtype(sizes, "f32")])
    kernel = opened.lower(np.ones((3, 4), np.float32)).compile()
    assert kernel.as_text("loops").count("memref.alloc") == 1
    assert "memref.copy" not in kernel.as_text("loops")


def test_a_size_that_is_computed_of_the_result_keeps_it_behind() -> None:
    before, _ = examples(file)[0]
    late = before.replace("memref.alloc(%n)", "memref.alloc(%late)").replace(
        "%m = memref", "%late = tensor.dim %r, %c0 : tensor<?xf32>\n      %m = memref"
    )
    module = Module.parse(late)
    assert not file.prepare_destinations(module)


def test_a_division_stays_where_it_is() -> None:
    before, _ = examples(file)[0]
    divided = before.replace("memref.alloc(%n)", "memref.alloc(%half)").replace(
        "%m = memref", "%half = arith.divui %n, %n : index\n      %m = memref"
    )
    module = Module.parse(divided)
    assert not file.prepare_destinations(module)
