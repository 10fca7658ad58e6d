"""What upstream's lowerings of math and arith lack or do imprecisely."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from examples import examples
from kernels import FLOATS, elementwise, same_bits, ulps
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.vector_math.expand_vector_math import expand_vector_math
from linalg_ext.transforms.numerics import expand_math as file

GIVEN = {
    "math.isinf": "largest 0x7F7FFFFF : f32",
    "math.isnormal": "least 0x00800000 : f32\nlargest 0x7F7FFFFF : f32",
    "math.clampf": "",
    "math.fma": "",
    "math.expm1": "one 1.0 : f32",
    "arith.convertf": "",
    "arith.flush_denormals": "least 0x00800000 : f32\nzero 0.0 : f32",
    "arith.scaling_extf": "",
}


def test_all_examples_are_run() -> None:
    assert len(examples(file)) == len(GIVEN)


def test_what_upstream_lowers_well_is_left() -> None:
    module = Module.parse(
        """
        func.func @f(%x: f32, %y: f128) -> (f32, i1) {
          %0 = math.fma %x, %x, %x : f32
          %1 = math.isinf %y : f128
          return %0, %1 : f32, i1
        }""",
        trusted=True,
    )
    report = file.expand_math(module)
    assert not report
    assert report.matched == {"math.fma": 1, "math.isinf": 1}


@pytest.mark.parametrize(
    ("type_", "is_left"),
    [("vector<8xf32>", True), ("vector<8xbf16>", False), ("vector<[4]xf32>", False)],
)
def test_expm1_of_vectors_is_left_where_their_own_pass_takes_it(type_: str, is_left: bool) -> None:
    body = f"%r = math.expm1 %x : {type_}\nreturn %r : {type_}"
    module = Module.parse(f"func.func @f(%x: {type_}) -> {type_} {{\n{body}\n}}", trusted=True)
    assert bool(file.expand_math(module)) is not is_left
    assert bool(expand_vector_math(module)) is (is_left or "bf16" in type_)
    assert "math.expm1" not in str(module)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_expm1_keeps_its_digits_near_zero_and_its_limits(name: str) -> None:
    dtype = FLOATS[name]
    most = 88.7 if name == "f32" else 709.7
    x = np.concatenate(
        [
            np.geomspace(1e-38, most, 2000),
            -np.geomspace(1e-38, 900, 2000),
            [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2000],
        ]
    ).astype(dtype)
    actual = elementwise({"x": name}, {"r": name}, f"%r = math.expm1 %x : {name}")(x)
    with np.errstate(over="ignore"):
        assert ulps(actual, np.expm1(x)).max() <= 4
    np.testing.assert_array_equal(np.signbit(actual), np.signbit(x))


def test_scaling_and_flushing() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 20, 400).astype(np.float32)
    scale = (2.0 ** rng.integers(-6, 6, 400)).astype(ml_dtypes.float8_e8m0fnu)
    body = """
    %down = arith.scaling_truncf %x, %s : f32, f8E8M0FNU to f8E4M3FN
    %up = arith.scaling_extf %down, %s : f8E4M3FN, f8E8M0FNU to f32
    %wide = arith.extf %s : f8E8M0FNU to f32
    %odd = arith.constant 3.0 : f32
    %tripled = arith.mulf %wide, %odd : f32
    %other = arith.scaling_extf %down, %tripled : f8E4M3FN, f32 to bf16
    %small = arith.truncf %x : f32 to f8E5M2
    %flushed = arith.flush_denormals %small : f8E5M2
    """
    types = {"down": "f8E4M3FN", "up": "f32", "other": "bf16", "flushed": "f8E5M2"}
    down, up, other, flushed = elementwise({"x": "f32", "s": "f8E8M0FNU"}, types, body)(x, scale)
    factor = scale.astype(np.float32)
    expected = (x / factor).astype(ml_dtypes.float8_e4m3fn)
    same_bits(down, expected)
    np.testing.assert_array_equal(up, expected.astype(np.float32) * factor)
    nearest = (3 * factor).astype(ml_dtypes.float8_e8m0fnu).astype(np.float32)
    same_bits(other, (expected.astype(np.float32) * nearest).astype(ml_dtypes.bfloat16))
    narrow = x.astype(ml_dtypes.float8_e5m2)
    tiny = np.abs(narrow.astype(np.float32)) < 2.0**-14
    same_bits(flushed, np.where(tiny, np.copysign(narrow.dtype.type(0), narrow), narrow))
