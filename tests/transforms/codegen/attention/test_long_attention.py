"""Attention over so many keys that the sums of their blocks are added with compensation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from attention_texts import AttentionText
from kernels import kernel

Array = np.ndarray[Any, np.dtype[Any]]

UNIT = 2.0**-23
"""The distance from 1 to the next f32."""


def attention(query: Array, key: Array, value: Array) -> Array:
    scores = query @ key.T
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    result: Array = powers / powers.sum(-1, keepdims=True) @ value
    return result


@pytest.mark.parametrize("keys", [1_000_000, lx.Dim("keys")])
def test_the_error_does_not_grow_with_the_keys(keys: Any) -> None:
    specs = [lx.ShapeDtype(shape, "f32") for shape in ((16, 4), (keys, 4), (keys, 4))]
    compiled = lx.jit(attention).lower(*specs).compile()
    assert "nest @linalg_ext_attention" in str(compiled.explain())
    draw = np.random.default_rng(0)
    query, key, value = (
        draw.random(shape, np.float32) for shape in ((16, 4), (1_000_000, 4), (1_000_000, 4))
    )
    value += 1000
    exact = attention(*(operand.astype(np.float64) for operand in (query, key, value)))
    # One product after another in blocks of 672; block after block the error is 20 units.
    assert np.abs(compiled(query, key, value) / exact - 1).max() < 4 * UNIT


def test_what_is_infinite_stays_so_and_masked_rows_are_not_numbers() -> None:
    sizes = {"b": 1, "q": 8, "k": 66_000, "d": 4, "e": 16}
    one = AttentionText(sizes, mask="bqk")
    query, key, value, mask = one.operands()
    value[0, 123, 5], value[0, 456, 7], value[0, 66_000 - 1, 7] = np.inf, -np.inf, np.inf
    mask[0, 2] = -np.inf
    operands = query, key, value, mask
    with np.errstate(invalid="ignore"):
        expected = one.reference(*operands)
    got = kernel(one.text)(*operands)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    assert np.isnan(got[0, 2]).all()
    assert np.isinf(got[0, 1, 5])
    assert np.isnan(got[0, 1, 7])
