"""A nest that stands for ops says so: what is in it has their locations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.explain.located_text import of_stage

A = np.ones((48, 48), np.float32)
IMAGE, FILTER = np.ones((1, 18, 18, 16), np.float32), np.ones((3, 3, 16, 32), np.float32)


def product(a: Any, b: Any) -> Any:
    c = a @ b
    return lx.ops.relu(c)


def products(a: Any, b: Any) -> Any:
    c = a @ b
    return b @ c


def attention(q: Any, k: Any) -> Any:
    scores = q @ k.T
    shifted = lx.ops.exp(lx.ops.sub(scores, lx.ops.row_max(scores), broadcast_rhs=[1]))
    return lx.ops.div(shifted, lx.ops.row_sum(shifted), broadcast_rhs=[1]) @ q


def convolution(x: Any, w: Any) -> Any:
    y = lx.ops.conv_2d_nhwc_hwcf(x, w)
    return lx.ops.relu(y)


@pytest.mark.parametrize(
    ("function", "arguments", "lines"),
    [
        (product, (A, A), {1, 2}),  # with its epilogue
        (products, (A, A), {1, 2}),  # one function, called twice
        (attention, (A, A), {1, 2, 3}),
        (convolution, (IMAGE, FILTER), {1, 2}),
    ],
)
def test_ops_of_a_nest_are_of_the_lines_that_it_computes(
    function: Any, arguments: tuple[Any, ...], lines: set[int]
) -> None:
    kernel = lx.jit(function).lower(*arguments).compile()
    (stage,) = (stage for stage in kernel.steps if stage.name == "loops")
    text = of_stage(stage)
    heads = [n for n, line in enumerate(text.lines) if "func.func private @linalg_ext_" in line]
    assert len(heads) == 1
    first = function.__code__.co_firstlineno
    # Constants that folding makes are of no place.
    loops = [line for line in text.statements(heads[0]) if "scf.for" in text.lines[line]]
    assert loops
    inside = [line for loop in loops for line in range(loop, text.ends[loop])]
    assert sum(bool(text.places[line]) for line in inside) > 0.9 * len(inside)
    for line in inside:
        assert {place.line - first for place in text.places[line]} in (lines, set())
        assert {place.file for place in text.places[line]} <= {__file__}
