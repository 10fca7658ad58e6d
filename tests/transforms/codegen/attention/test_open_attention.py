"""Attention whose batch, queries or keys are known to the run alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ShapeError
from linalg_ext.tracing.lowered import Compiled

BATCH, QUERIES, KEYS = (lx.Dim(name) for name in ("batch", "queries", "keys"))

Array: TypeAlias = "np.ndarray[Any, Any]"


def attention(query: Array, key: Array, value: Array) -> Array:
    scores = query @ key.swapaxes(-1, -2) * 0.25
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    result: Array = powers / powers.sum(-1, keepdims=True) @ value
    return result


def biased(query: Array, key: Array, value: Array, bias: Array) -> Array:
    scores = query @ key.swapaxes(-1, -2) + bias
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    result: Array = powers / powers.sum(-1, keepdims=True) @ value
    return result


def compiled(
    function: Callable[..., Array], *shapes: tuple[Any, ...], dtype: str = "f32"
) -> Compiled:
    specs = [lx.ShapeDtype(shape, dtype) for shape in shapes]
    kernel = lx.jit(function).lower(*specs).compile()
    assert "nest @linalg_ext_attention" in str(kernel.explain())
    return kernel


def operands(batch: int, queries: int, keys: int, depth: int = 16) -> list[Array]:
    shapes = (batch, 3, queries, depth), (batch, 3, keys, depth), (batch, 3, keys, depth)
    random = np.random.default_rng(0)
    return [random.standard_normal(shape, np.float32) for shape in shapes]


def check(kernel: Compiled, function: Callable[..., Array], *given: Array) -> None:
    wanted = function(*(each.astype(np.float64) for each in given))
    relative, absolute = (2e-4, 2e-5) if given[0].dtype == np.float32 else (1e-11, 0)
    np.testing.assert_allclose(kernel(*given), wanted, rtol=relative, atol=absolute)


@pytest.fixture(scope="module")
def open_everywhere() -> Compiled:
    rows, others = (BATCH, 3, QUERIES, 16), (BATCH, 3, KEYS, 16)
    return compiled(attention, rows, others, others)


@pytest.mark.parametrize(
    ("batch", "queries", "keys"),
    [(2, 5, 7), (1, 1, 1), (3, 24, 64), (1, 25, 513), (1, 300, 1), (2, 1, 700), (1, 530, 1200)],
)
def test_all_sizes_open(open_everywhere: Compiled, batch: int, queries: int, keys: int) -> None:
    check(open_everywhere, attention, *operands(batch, queries, keys))


@pytest.mark.parametrize(("batch", "queries"), [(0, 4), (2, 0), (0, 0)])
def test_nothing_is_asked_for(open_everywhere: Compiled, batch: int, queries: int) -> None:
    assert open_everywhere(*operands(batch, queries, 5)).shape == (batch, 3, queries, 16)


def test_no_keys_have_no_largest_score(open_everywhere: Compiled) -> None:
    with pytest.raises(ValueError, match="no identity"):
        attention(*operands(2, 5, 0))
    with pytest.raises(ShapeError, match=r"max of no elements: .*keys is 0"):
        open_everywhere(*operands(2, 5, 0))


def test_the_batch_alone_is_open() -> None:
    shape = (BATCH, 3, 40, 16)
    kernel = compiled(attention, shape, shape, shape)
    for batch in (1, 4):
        check(kernel, attention, *operands(batch, 40, 40))


def test_a_bias_of_open_sizes() -> None:
    rows, others = (BATCH, 3, QUERIES, 16), (BATCH, 3, KEYS, 16)
    kernel = compiled(biased, rows, others, others, (QUERIES, KEYS))
    for queries, keys in ((6, 9), (40, 600)):
        bias = np.random.default_rng(1).standard_normal((queries, keys), np.float32)
        check(kernel, biased, *operands(2, queries, keys), bias)


def test_of_doubles() -> None:
    shape = (BATCH, QUERIES, 8)
    kernel = compiled(attention, shape, shape, shape, dtype="f64")
    random = np.random.default_rng(2)
    check(kernel, attention, *(random.standard_normal((3, 37, 8)) for _ in range(3)))


def test_several_threads_give_what_one_gives(open_everywhere: Compiled) -> None:
    given = operands(3, 200, 300)
    with lx.options(threads=1):
        one = open_everywhere(*given)
    with lx.options(threads=3):
        np.testing.assert_array_equal(open_everywhere(*given), one)
