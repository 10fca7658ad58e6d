"""Powers whose exponent is known: what they become, and how exact that is."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from kernels import elementwise, kernel, ulps
from linalg_ext.module import Module
from linalg_ext.transforms.numerics import expand_known_powers as file

EXPONENTS = [*range(-3, 8), -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]
TYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
}


def numbers(dtype: Any) -> np.ndarray[Any, Any]:
    """Numbers of every size, and all odd ones."""
    limits, bits = ml_dtypes.finfo(dtype), np.dtype(f"i{np.dtype(dtype).itemsize}")
    whole = np.iinfo(bits)
    random = np.random.default_rng(0).integers(whole.min, whole.max, 1 << 14, bits, endpoint=True)
    odd: list[Any] = [0, 1, 2, np.inf, np.nan, limits.max, limits.tiny, limits.smallest_subnormal]
    near = np.random.default_rng(1).uniform(-3, 3, 1 << 12)
    special = np.array([*map(float, odd), *near])
    return np.concatenate([random.view(dtype), *(x.astype(dtype) for x in (special, -special))])


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_of_every_kind(type_: str, exponent: float) -> None:
    dtype = TYPES[type_]
    run = elementwise(
        {"x": type_},
        {"y": type_},
        f"%e = arith.constant {float(exponent)} : {type_}\n%y = math.powf %x, %e : {type_}",
    )
    assert "math.powf" not in run.as_text("linalg")
    x = numbers(dtype)
    exact = x.astype(np.float64).astype(np.longdouble) ** np.longdouble(exponent)
    expected = exact.astype(np.float64).astype(dtype)
    actual = run(x)
    assert ulps(actual, expected).max() <= (1 if x.itemsize == 2 else 4)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual)[is_number], np.signbit(expected)[is_number])


def test_exponents_in_every_element_and_vectors() -> None:
    module = Module.parse(
        """
        func.func @f(%x: vector<8xf32>) -> vector<8xf32> {
          %e = arith.constant dense<3.0> : vector<8xf32>
          %y = math.powf %x, %e : vector<8xf32>
          return %y : vector<8xf32>
        }""",
        trusted=True,
    )
    assert file.expand_known_powers(module)
    assert str(module).count("arith.mulf") == 2
    full = kernel(
        """
        func.func @f(%x: tensor<40xf32>) -> tensor<40xf32> {
          %e = arith.constant dense<2.0> : tensor<40xf32>
          %o = tensor.empty() : tensor<40xf32>
          %y = linalg.powf ins(%x, %e : tensor<40xf32>, tensor<40xf32>)
                           outs(%o : tensor<40xf32>) -> tensor<40xf32>
          return %y : tensor<40xf32>
        }"""
    )
    assert "math.powf" not in full.as_text("linalg")
    x = np.linspace(-3, 3, 40, dtype=np.float32)
    np.testing.assert_array_equal(full(x), x * x)


@pytest.mark.parametrize(
    ("exponent", "reason"),
    [
        ("%y", "not known"),
        ("8.0", "exponent is 8"),
        ("-4.0", "exponent is -4"),
        ("4.5", "exponent is 4.5"),
        ("-3.5", "exponent is -3.5"),
        ("0.25", "exponent is 0.25"),
        ("0x7F800000", "exponent is inf"),
        ("0x7FC00000", "exponent is nan"),
    ],
)
def test_what_is_left(exponent: str, reason: str) -> None:
    known = "" if exponent == "%y" else f"%e = arith.constant {exponent} : f32\n"
    module = Module.parse(
        f"func.func @f(%x: f32, %y: f32) -> f32 {{\n{known}"
        f"%r = math.powf %x, {'%e' if known else '%y'} : f32\nreturn %r : f32\n}}",
        trusted=True,
    )
    report = file.expand_known_powers(module)
    assert not report
    assert reason in str(report)


def test_code_of_numpy_gets_them() -> None:
    x = np.linspace(0.5, 100, 1000).astype(np.float16)
    actual = lx.jit(lambda x: x**1.5)(x)
    np.testing.assert_array_equal(actual, (x.astype(np.float64) ** 1.5).astype(np.float16))
