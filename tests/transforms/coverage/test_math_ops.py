"""Every op of the dialect `math`, on scalars of every kind of float and on vectors."""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernels import FLOATS, elementwise, run, ulps
from linalg_ext.bindings import provider

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])

UNARY: dict[str, Callable[[Any], Any]] = {
    "absf": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": _erf,
    "erfc": _erfc,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "roundeven": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "powf": np.power,
}
PREDICATES: dict[str, Callable[[Any], Any]] = {
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
}
OTHER = {"absi", "ctlz", "ctpop", "cttz", "ipowi", "fpowi", "fma", "clampf", "sincos", "isnormal"}
EXACT = {"absf", "ceil", "floor", "round", "roundeven", "trunc", "copysign", "sqrt"}
LEVELS = ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2")


def inputs(name: str) -> Any:
    dtype = FLOATS[name]
    rng = np.random.default_rng(7)
    ordinary = np.concatenate(
        [rng.uniform(-1, 1, 40), rng.uniform(-9, 9, 40), rng.normal(0, 99, 9)]
    )
    info = ml_dtypes.finfo(dtype)
    edges = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, float(info.max), float(info.min)]
    tiny = [float(info.tiny), float(info.smallest_subnormal)]
    special = [np.nan] if "FN" in name else [np.nan, np.inf, -np.inf]
    with np.errstate(all="ignore"):
        return np.array([*ordinary, *edges, *tiny, *special]).astype(dtype)


def rounded(function: Callable[..., Any], dtype: Any, *values: Any) -> Any:
    """In double precision, rounded once; narrow formats in single precision, as MLIR does."""
    with np.errstate(all="ignore"):
        wide = function(*(value.astype(np.float64) for value in values))
        return np.asarray(wide).astype(dtype)


def test_the_tables_name_every_op() -> None:
    module = importlib.import_module(f"{provider()}.dialects._math_ops_gen")
    names = {
        value.OPERATION_NAME.removeprefix("math.")
        for _, value in inspect.getmembers(module, inspect.isclass)
        if hasattr(value, "OPERATION_NAME")
    }
    assert names == {*UNARY, *BINARY, *PREDICATES, *OTHER}


@pytest.fixture(scope="module")
def unary() -> Callable[[str], dict[str, Any]]:
    made: dict[str, dict[str, Any]] = {}

    def get(name: str) -> dict[str, Any]:
        if name not in made:
            body = "\n".join(f"%{op} = math.{op} %x : {name}" for op in (*UNARY, *PREDICATES))
            types = {**dict.fromkeys(UNARY, name), **dict.fromkeys(PREDICATES, "i1")}
            made[name] = dict(
                zip(types, elementwise({"x": name}, types, body)(inputs(name)), strict=True)
            )
        return made[name]

    return get


@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("name", LEVELS)
def test_functions_of_one_number(unary: Any, name: str, op: str) -> None:
    dtype = FLOATS[name]
    x = inputs(name)
    actual, expected = unary(name)[op], rounded(UNARY[op], dtype, x)
    allowed = 0 if op in EXACT else 4 if name == "f64" else 3 if name == "f32" else 1
    bad = ulps(actual, expected) > allowed
    assert not bad.any(), f"{op}({x[bad]}) = {actual[bad]}, not {expected[bad]}"


@pytest.mark.parametrize("op", PREDICATES)
@pytest.mark.parametrize("name", LEVELS)
def test_predicates(unary: Any, name: str, op: str) -> None:
    np.testing.assert_array_equal(unary(name)[op], PREDICATES[op](inputs(name)))


@pytest.mark.parametrize("name", LEVELS)
def test_functions_of_several_numbers(name: str) -> None:
    dtype = FLOATS[name]
    x = inputs(name)
    y, z = np.roll(x, 17), np.roll(x, 31)
    types = dict.fromkeys((*BINARY, "fma", "clampf", "sin", "cos"), name) | {"isnormal": "i1"}
    body = "\n".join(f"%{op} = math.{op} %x, %y : {name}" for op in BINARY)
    body += f"""
    %fma = math.fma %x, %y, %z : {name}
    %low = arith.minimumf %y, %z : {name}
    %high = arith.maximumf %y, %z : {name}
    %clampf = math.clampf %x to [%low, %high] : {name}
    %sin, %cos = math.sincos %x : {name}
    %isnormal = math.isnormal %x : {name}
    """
    given = elementwise(dict.fromkeys("xyz", name), types, body)(x, y, z)
    results = dict(zip(types, given, strict=True))
    expected = {op: rounded(BINARY[op], dtype, x, y) for op in BINARY}
    expected["sin"], expected["cos"] = rounded(np.sin, dtype, x), rounded(np.cos, dtype, x)
    with np.errstate(all="ignore"):
        low, high = np.minimum(y, z), np.maximum(y, z)
        expected["clampf"] = np.where(np.isnan(low), low, np.minimum(np.maximum(x, low), high))
    for op, wanted in expected.items():
        allowed = 0 if op in (*EXACT, "clampf") else 4 if name == "f64" else 3
        bad = ulps(results[op], wanted.astype(dtype)) > allowed
        assert not bad.any(), f"{op}({x[bad]}, {y[bad]}) = {results[op][bad]}, not {wanted[bad]}"
    info = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        magnitude = np.abs(x)
        normal = (magnitude >= info.tiny) & (magnitude <= info.max)
    np.testing.assert_array_equal(results["isnormal"], normal)


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E4M3FN"])
def test_a_fused_multiply_add_rounds_once(name: str) -> None:
    dtype = FLOATS[name]
    rng = np.random.default_rng(3)
    x, y, z = (rng.uniform(0.5, 2, 500).astype(dtype) for _ in range(3))
    z[::2] *= 0.01
    body = f"%r = math.fma %x, %y, %z : {name}"
    fused = elementwise(dict.fromkeys("xyz", name), {"r": name}, body)(x, y, z)
    exact = x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)
    np.testing.assert_array_equal(fused.astype(np.float64), _nearest(exact, dtype))


def _nearest(exact: Any, dtype: Any) -> Any:
    """Rounded from double precision, without the detour through single precision."""
    numbers = np.arange(1 << (8 * np.dtype(dtype).itemsize), dtype=np.uint32)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    with np.errstate(invalid="ignore"):
        values = numbers.astype(unsigned).view(dtype).astype(np.float64)
    even = (numbers % 2 == 0)[np.isfinite(values)]
    values = values[np.isfinite(values)]
    order = np.lexsort((even, values))
    values, even = values[order], even[order]
    above = np.searchsorted(values, exact)
    low, high = values[above - 1], values[above]
    take_high = (high - exact < exact - low) | ((high - exact == exact - low) & even[above])
    return np.where(take_high, high, low)


@pytest.mark.parametrize("width", [1, 8, 16, 32, 64])
def test_integer_functions(width: int) -> None:
    name = f"i{width}"
    ops = ("absi", "ctlz", "ctpop", "cttz")
    body = "\n".join(f"%{op} = math.{op} %x : {name}" for op in ops)
    if width == 1:
        x = np.array([False, True])
        absi, ctlz, ctpop, cttz = elementwise({"x": name}, dict.fromkeys(ops, name), body)(x)
        assert [absi.tolist(), ctpop.tolist()] == [[False, True]] * 2
        assert [ctlz.tolist(), cttz.tolist()] == [[True, False]] * 2
        return
    dtype = np.dtype(f"i{width // 8}")
    least = np.iinfo(dtype).min
    x = np.array([0, 1, -1, 2, 5, -6, 96, least, np.iinfo(dtype).max], dtype)
    absi, ctlz, ctpop, cttz = elementwise({"x": name}, dict.fromkeys(ops, name), body)(x)
    np.testing.assert_array_equal(absi, np.abs(x))
    bits = [f"{int(value) % (1 << width):0{width}b}" for value in x]
    assert ctpop.tolist() == [text.count("1") for text in bits]
    lengths = [(width - len(t.lstrip("0")), width - len(t.rstrip("0"))) for t in bits]
    assert list(zip(ctlz.tolist(), cttz.tolist(), strict=True)) == lengths


def test_integer_powers() -> None:
    base = np.array([2, -3, 7, 0, 1, -1, 5, -1, 2], np.int64)
    power = np.array([10, 3, 0, 0, -4, -3, 1, -2, -1], np.int64)
    body = """
    %ipowi = math.ipowi %x, %y : i64
    %a = arith.trunci %y : i64 to i32
    %fpowi = math.fpowi %z, %a : f64, i32
    %w = arith.truncf %z : f64 to bf16
    %narrow = math.fpowi %w, %a : bf16, i32
    """
    operands = {"x": "i64", "y": "i64", "z": "f64"}
    results = {"ipowi": "i64", "fpowi": "f64", "narrow": "bf16"}
    compiled = elementwise(operands, results, body)
    integer, real, narrow = compiled(base, power, base.astype(np.float64))
    # A negative power of an integer is the quotient, rounded towards zero.
    assert integer.tolist()[:3] == [1024, -27, 1]
    assert integer.tolist()[4:] == [1, -1, 5, 1, 0]
    expected = base.astype(np.float64) ** power
    np.testing.assert_allclose(real, expected, rtol=1e-15)
    np.testing.assert_allclose(narrow.astype(float), expected, rtol=1e-2)


@pytest.mark.parametrize("name", ["f32", "f16"])
def test_vectors(name: str) -> None:
    ops = ("exp", "tanh", "sqrt", "erf", "expm1", "log1p", "rsqrt", "sin", "cbrt", "roundeven")
    lines = "\n".join(f"%{op} = math.{op} %x : vector<2x3x{name}>" for op in ops)
    stores = "\n".join(
        f"%t_{op} = vector.transfer_write %{op}, %e[%c0, %c0] {{in_bounds = [true, true]}}"
        f" : vector<2x3x{name}>, tensor<2x3x{name}>"
        for op in ops
    )
    tensors = ", ".join([f"tensor<2x3x{name}>"] * len(ops))
    text = f"""
    func.func @f(%a: tensor<2x3x{name}>) -> ({tensors}) {{
      %c0 = arith.constant 0 : index
      %p = arith.constant 0.0 : {name}
      %e = tensor.empty() : tensor<2x3x{name}>
      %x = vector.transfer_read %a[%c0, %c0], %p {{in_bounds = [true, true]}}
        : tensor<2x3x{name}>, vector<2x3x{name}>
      {lines}
      {stores}
      return {", ".join(f"%t_{op}" for op in ops)} : {tensors}
    }}
    """
    x = np.array([[0.25, 1, 2], [3, 0.001, 0.75]]).astype(FLOATS[name])
    for op, actual in zip(ops, run(text, x), strict=True):
        assert (ulps(actual, rounded(UNARY[op], FLOATS[name], x)) <= 3).all(), op
