"""Every op of the dialect `complex`, against NumPy in double precision."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
import pytest

from kernels import elementwise
from linalg_ext.bindings import provider

UNARY: dict[str, Any] = {
    "conj": np.conj,
    "cos": np.cos,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "neg": np.negative,
    "rsqrt": lambda z: 1 / np.sqrt(z),
    "sign": lambda z: z / np.abs(z),
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
REAL: dict[str, Any] = {"abs": np.abs, "angle": np.angle, "im": np.imag, "re": np.real}
BINARY: dict[str, Any] = {
    "add": np.add,
    "div": np.divide,
    "mul": np.multiply,
    "pow": np.power,
    "sub": np.subtract,
}
COMPARISONS: dict[str, Any] = {"eq": np.equal, "neq": np.not_equal}
HERE = {"constant", "create", "powi", "atan2"}
REFUSED = {"bitcast"}  # see test_refuse_unsupported.py

FORMATS: dict[str, Any] = {
    "f32": (np.complex64, np.float32, 1e-5),
    "f64": (np.complex128, np.float64, 1e-13),
}


def test_the_tables_name_every_op() -> None:
    module = importlib.import_module(f"{provider()}.dialects._complex_ops_gen")
    names = {
        value.OPERATION_NAME.removeprefix("complex.")
        for _, value in inspect.getmembers(module, inspect.isclass)
        if hasattr(value, "OPERATION_NAME")
    }
    assert names == {*UNARY, *REAL, *BINARY, *COMPARISONS, *HERE, *REFUSED}


@pytest.mark.parametrize("real", FORMATS)
def test_ordinary_numbers(real: str) -> None:
    dtype, _, tolerance = FORMATS[real]
    kind = f"complex<{real}>"
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(-2, 2, 60) + 1j * rng.uniform(-2, 2, 60) for _ in range(2))
    x, y = x.astype(dtype), y.astype(dtype)
    x[:4], y[:4] = [1, 1j, -3, -2j], [1, 1 + 2j, 2, -2j]
    body = "\n".join(f"%{op} = complex.{op} %x : {kind}" for op in (*UNARY, *REAL))
    body += "".join(f"\n%{op} = complex.{op} %x, %y : {kind}" for op in (*BINARY, *COMPARISONS))
    body += f"""
    %k = complex.constant [1.5 : {real}, -2.0 : {real}] : {kind}
    %i = complex.create %im, %re : {kind}
    %create = complex.mul %k, %i : {kind}
    %three = arith.constant 3 : i32
    %atan2 = complex.atan2 %x, %y : {kind}
    %powi = complex.powi %x, %three : {kind}, i32
    """
    types = {
        **dict.fromkeys((*UNARY, *BINARY), kind),
        **dict.fromkeys(REAL, real),
        **dict.fromkeys(COMPARISONS, "i1"),
        "create": kind,
        "powi": kind,
        "atan2": kind,
    }
    made = elementwise({"x": kind, "y": kind}, types, body)(x, y)
    results = dict(zip(types, made, strict=True))
    a, b = x.astype(np.complex128), y.astype(np.complex128)
    expected: dict[str, Any] = {op: f(a) for op, f in (UNARY | REAL).items()}
    expected |= {op: f(a, b) for op, f in (BINARY | COMPARISONS).items()}
    expected |= {"create": (1.5 - 2j) * (a.imag + 1j * a.real), "powi": a**3}
    expected["atan2"] = -1j * np.log((b + 1j * a) / np.sqrt(a * a + b * b))
    for op, wanted in expected.items():
        np.testing.assert_allclose(results[op], wanted, rtol=tolerance, atol=tolerance, err_msg=op)


@pytest.mark.parametrize("real", FORMATS)
def test_large_and_small_magnitudes(real: str) -> None:
    """Squares of these neither overflow nor vanish."""
    dtype, _, tolerance = FORMATS[real]
    kind = f"complex<{real}>"
    scale = {"f32": 1e30, "f64": 1e250}[real]
    base = np.array([1 + 1j, 1 - 2j, -3 + 0.5j, 2, 1j])
    x = np.concatenate([base * scale, base / scale]).astype(dtype)
    y = np.concatenate([base[::-1] * scale, base[::-1] / scale]).astype(dtype)
    body = "\n".join(f"%{op} = complex.{op} %x : {kind}" for op in ("abs", "sqrt", "log"))
    body += f"\n%div = complex.div %x, %y : {kind}"
    types = {"abs": real, "sqrt": kind, "log": kind, "div": kind}
    made = dict(zip(types, elementwise({"x": kind, "y": kind}, types, body)(x, y), strict=True))
    wide = np.concatenate([base, base]), np.concatenate([base[::-1], base[::-1]])
    np.testing.assert_allclose(made["div"], wide[0] / wide[1], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(made["abs"], np.hypot(x.real, x.imag), rtol=tolerance)
    np.testing.assert_allclose(made["sqrt"] ** 2, x, rtol=tolerance)
    logs = np.log(np.abs(wide[0])) + np.repeat([1, -1], 5) * np.log(scale)
    np.testing.assert_allclose(made["log"].real, logs, rtol=tolerance)
    np.testing.assert_allclose(made["log"].imag, np.angle(wide[0]), rtol=tolerance, atol=tolerance)


def test_edges() -> None:
    kind = "complex<f64>"
    body = f"""
    %pow = complex.pow %x, %y : {kind}
    %div = complex.div %x, %y : {kind}
    %abs = complex.abs %x : {kind}
    """
    types = {"pow": kind, "div": kind, "abs": "f64"}
    x = np.array([0, 0, 1 + 1j, complex(np.inf, 1), complex(-3, np.nan)])
    y = np.array([0, 2, 0, 2, 1])
    power, quotient, magnitude = elementwise({"x": kind, "y": kind}, types, body)(
        x, y.astype(complex)
    )
    assert power[:2].tolist() == [1, 0]
    assert not np.isfinite(quotient[2])
    assert np.isinf(quotient[3])
    assert magnitude[:4].tolist() == [0, 0, np.sqrt(2), np.inf]
    assert np.isnan(magnitude[4])
