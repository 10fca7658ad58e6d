"""The oracle's scalar functions against Python's own arithmetic, on every family of dtypes."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from core_ops import Array, core_ops, problem
from linalg_ext.definition import OpDefinition
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.numpy_functions import cast_values
from linalg_ext.definition.reference import evaluate

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
POINTS = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 3.0, -3.0]


def _apply(name: str, *inputs: Array, result: Any = None, **attributes: Any) -> Array:
    """An element-wise op of upstream's on vectors."""
    definition: OpDefinition = core_ops()[name].definition
    out = np.dtype(result or inputs[-1].dtype)
    names = [operand.name for operand in definition.inputs]
    dtypes = {
        str(operand.type_var): array.dtype
        for operand, array in zip(definition.inputs, inputs, strict=True)
    }
    dtypes.setdefault(str(definition.outputs[0].type_var), out)
    values = []
    for elements in zip(*inputs, strict=True):
        arrays = {k: np.asarray(v) for k, v in zip(names, elements, strict=True)}
        arrays[definition.outputs[0].name] = np.zeros((), out)
        (value,) = evaluate(
            definition, arrays, {}, dtypes, resolve_attributes(definition, attributes)
        )
        values.append(value)
    return np.array(values)


@pytest.mark.parametrize("dtype", FLOATS)
def test_round_is_away_from_zero(dtype: Any) -> None:
    x = np.array(POINTS).astype(dtype)
    expected = [math.copysign(math.floor(abs(float(v)) + 0.5), float(v)) for v in x]
    if dtype in (np.float64, np.float32):
        expected[POINTS.index(0.49999997)] = 0.0
    got = _apply("round", x)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.astype(np.float64), expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["erf", "tanh", "exp", "rsqrt", "reciprocal", "square", "abs"])
def test_functions_keep_their_dtype(name: str, dtype: Any) -> None:
    x = np.array([0.25, 1.0, 2.0]).astype(dtype)
    got = _apply(name, x)
    exact = {
        "erf": math.erf,
        "tanh": math.tanh,
        "exp": math.exp,
        "rsqrt": lambda v: 1 / math.sqrt(v),
        "reciprocal": lambda v: 1 / v,
        "square": lambda v: v * v,
        "abs": abs,
    }[name]
    assert got.dtype == x.dtype
    precision = float(ml_dtypes.finfo(dtype).eps)
    wanted = [exact(float(v)) for v in x]
    np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=2 * precision)


def test_integer_division_is_towards_zero() -> None:
    x, y = np.array([7, -7, 7, -7, 6], np.int32), np.array([2, 2, -2, -2, -3], np.int32)
    np.testing.assert_array_equal(_apply("div", x, y), [3, -3, -3, 3, -2])


def test_unsigned_division_and_order() -> None:
    x, y = np.array([-1, 7], np.int8), np.array([2, -1], np.int8)
    np.testing.assert_array_equal(_apply("div_unsigned", x, y), [127, 0])


def test_casts() -> None:
    bits = np.array([-1, 5], np.int8)
    np.testing.assert_array_equal(_apply("copy", bits, result=np.int32), [-1, 5])
    unsigned = _apply("copy", bits, result=np.int32, cast="cast_unsigned")
    np.testing.assert_array_equal(unsigned, [255, 5])
    as_float = _apply("copy", bits, result=np.float32, cast="cast_unsigned")
    np.testing.assert_array_equal(as_float, [255, 5])
    nibbles = _apply("copy", bits.astype(ml_dtypes.int4), result=np.int32, cast="cast_unsigned")
    np.testing.assert_array_equal(nibbles, [15, 5])
    np.testing.assert_array_equal(_apply("copy", np.array([True]), result=np.int32), [1])
    np.testing.assert_array_equal(
        _apply("copy", np.array([256, 0]), result=np.bool_), [True, False]
    )


def test_nan_wins_an_order() -> None:
    x, y = np.array([np.nan, 1.0]), np.array([1.0, np.nan])
    assert np.isnan(_apply("max", x, y)).all()
    assert np.isnan(_apply("min", x, y)).all()


def test_an_empty_reduction_leaves_the_start() -> None:
    case = problem(core_ops()["matvec"], np.float32, extents={"m": 2, "n": 1})
    arrays = {**case.arrays, "A": np.empty((2, 0), np.float32), "y": np.empty(0, np.float32)}
    got = evaluate(case.definition, arrays, {"m": 2, "n": 0}, case.dtypes, case.resolved)
    np.testing.assert_array_equal(got[0], case.arrays["x"])


def test_operands_are_not_written() -> None:
    case = problem(core_ops()["matvec"], np.float32)
    before = case.arrays["x"].copy()
    case.reference()
    np.testing.assert_array_equal(case.arrays["x"], before)


@pytest.mark.parametrize("source", [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float8_e4m3fn])
def test_casts_from_types_of_one_byte(source: Any) -> None:
    value = (
        np.array([1, 3]).astype(source)
        if source != ml_dtypes.float8_e4m3fn
        else np.array([1.5, 3]).astype(source)
    )
    for target in (ml_dtypes.int4, ml_dtypes.uint4, np.float32):
        cast = cast_values(value, np.dtype(target), "cast_signed")
        expected = value.astype(np.float32).astype(np.int8 if target != np.float32 else target)
        np.testing.assert_array_equal(cast.astype(np.float32), expected)
