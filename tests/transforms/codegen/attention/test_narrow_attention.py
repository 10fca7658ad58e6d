"""Attention of 16-bit floats that is computed in f32."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.transforms.codegen.attention._expressions import Applied, Number, unrounded, widened

NARROW = [np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)]


def softmax(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def attention(query: Any, key: Any, value: Any) -> Any:
    query, key, value = (each.astype(np.float32) for each in (query, key, value))
    return softmax(query @ key.swapaxes(-1, -2) * np.float32(0.25)) @ value


def rounding(query: Any, key: Any, value: Any) -> Any:
    """The same, all that lies in memory between two ops rounded."""
    narrow, wide = query.dtype, np.float32
    scores = (query.astype(wide) @ key.astype(wide).swapaxes(-1, -2)).astype(narrow)
    weights = softmax(scores.astype(wide)).astype(narrow)
    return (weights.astype(wide) @ value.astype(wide)).astype(narrow)


def operands(dtype: Any, *sizes: int) -> list[Any]:
    random = np.random.default_rng(0)
    return [random.standard_normal(sizes, np.float32).astype(dtype) for _ in range(3)]


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("sizes", [(2, 9, 16), (3, 64, 32), (1, 70, 5), (1, 530, 8)], ids=str)
@pytest.mark.parametrize("function", [attention, rounding])
def test_as_accurate_as_f32(function: Any, sizes: tuple[int, ...], dtype: Any) -> None:
    given = operands(dtype, *sizes)
    compiled = lx.jit(function).lower(*given).compile()
    assert "nest @linalg_ext_attention" in str(compiled.explain())
    result = compiled(*given)
    exact = softmax_in_doubles(function, given)
    # What is left is the rounding of the result itself.
    half_unit = float(ml_dtypes.finfo(dtype).eps) / 2 if result.dtype == dtype else 0.0
    np.testing.assert_allclose(
        result.astype(np.float64), exact, rtol=half_unit + 2e-4, atol=half_unit * 1e-2 + 1e-5
    )


def softmax_in_doubles(function: Any, given: list[Any]) -> Any:
    query, key, value = (each.astype(np.float64) for each in given)
    scale = 0.25 if function is attention else 1.0
    return softmax(query @ key.swapaxes(-1, -2) * scale) @ value


def test_numbers_and_casts_become_f32() -> None:
    with ir.Context():
        half = Applied("arith.truncf", "", (Number("1.0 : f32"),), "bf16")
        scaled = Applied("arith.mulf", "", (half, Number("1.250000e-01 : bf16")), "bf16")
        assert widened(scaled) == Applied(
            "arith.mulf", "", (Number("1.0 : f32"), Number("1.250000e-01 : f32")), "f32"
        )
        assert widened(Number("0xFF80 : bf16")) == Number("0xFF800000 : f32")


def test_what_is_not_rounded_to_a_narrow_type_stays() -> None:
    inner = Number("1.0 : f64")
    single = Applied("arith.truncf", "", (inner,), "f32")
    double = Applied("arith.extf", "", (single,), "f64")
    assert unrounded(double) is double
    narrow = Applied("arith.truncf", "", (Number("1.0 : f32"),), "f16")
    assert unrounded(Applied("arith.extf", "", (narrow,), "f32")) == Number("1.0 : f32")
