"""Every op of the dialect `arith`, and all its casts, against NumPy."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernels import FLOATS, elementwise, same_bits
from linalg_ext.bindings import provider

WIDTHS = (8, 16, 32, 64)
SIGNED = {f"i{width}": np.dtype(f"i{width // 8}") for width in WIDTHS}

FLOAT_OPS: dict[str, Any] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}
COMPARISONS: dict[str, Any] = {
    "oeq": lambda x, y: x == y,
    "one": lambda x, y: (x < y) | (x > y),
    "olt": lambda x, y: x < y,
    "ole": lambda x, y: x <= y,
    "ogt": lambda x, y: x > y,
    "oge": lambda x, y: x >= y,
    "ord": lambda x, y: ~(np.isnan(x) | np.isnan(y)),
    "uno": lambda x, y: np.isnan(x) | np.isnan(y),
    "une": lambda x, y: x != y,
    "ueq": lambda x, y: ~((x < y) | (x > y)),
    "ult": lambda x, y: ~(x >= y),
    "ule": lambda x, y: ~(x > y),
    "ugt": lambda x, y: ~(x <= y),
    "uge": lambda x, y: ~(x < y),
}
INTEGER_OPS: dict[str, Any] = {
    "addi": lambda x, y: x + y,
    "subi": lambda x, y: x - y,
    "muli": lambda x, y: x * y,
    "andi": lambda x, y: x & y,
    "ori": lambda x, y: x | y,
    "xori": lambda x, y: x ^ y,
    "maxsi": np.maximum,
    "minsi": np.minimum,
}
UNSIGNED_OPS: dict[str, Any] = {"maxui": np.maximum, "minui": np.minimum}
ELSEWHERE = {
    # test_guard_integer_division.py
    *("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"),
    # test_expand_narrow_floats.py
    *("extf", "truncf"),
}
HERE = {
    *("constant", "bitcast", "select", "negf", "cmpf", "cmpi", "shli", "shrsi", "shrui"),
    *("extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "fptoui"),
    *("index_cast", "index_castui", "convertf", "flush_denormals", "scaling_extf"),
    *("scaling_truncf", "addui_extended", "subui_extended", "mulsi_extended", "mului_extended"),
}


def test_the_tables_name_every_op() -> None:
    module = importlib.import_module(f"{provider()}.dialects._arith_ops_gen")
    names = {
        value.OPERATION_NAME.removeprefix("arith.")
        for _, value in inspect.getmembers(module, inspect.isclass)
        if hasattr(value, "OPERATION_NAME")
    }
    assert names == {*FLOAT_OPS, *INTEGER_OPS, *UNSIGNED_OPS, *ELSEWHERE, *HERE}


def floats(name: str) -> Any:
    dtype = FLOATS[name]
    info = ml_dtypes.finfo(dtype)
    rng = np.random.default_rng(5)
    edges: list[Any] = [0.0, -0.0, 1, -1, info.max, info.min, info.tiny, info.smallest_subnormal]
    special = [np.nan] if "FN" in name else [np.nan, np.inf, -np.inf]
    values = [*rng.normal(0, 3, 20), *(float(edge) for edge in edges), *special]
    with np.errstate(all="ignore"):
        return np.array(values).astype(dtype)


@pytest.mark.parametrize("name", [name for name in FLOATS if "E8M0" not in name])
def test_floats(name: str) -> None:
    """All pairs, rounded once from single precision where the format is narrow."""
    dtype = FLOATS[name]
    x, y = (grid.ravel() for grid in np.meshgrid(floats(name), floats(name)))
    body = "\n".join(f"%{op} = arith.{op} %x, %y : {name}" for op in FLOAT_OPS)
    body += "\n".join(f"\n%{p} = arith.cmpf {p}, %x, %y : {name}" for p in COMPARISONS)
    body += f"\n%negf = arith.negf %x : {name}"
    types = dict.fromkeys(FLOAT_OPS, name) | dict.fromkeys(COMPARISONS, "i1") | {"negf": name}
    results = dict(zip(types, elementwise({"x": name, "y": name}, types, body)(x, y), strict=True))
    wide = dtype if np.dtype(dtype).itemsize > 2 else np.float32
    with np.errstate(all="ignore"):
        for op, function in FLOAT_OPS.items():
            expected = function(x.astype(wide), y.astype(wide)).astype(dtype)
            actual = results[op]
            if op.startswith(("max", "min")):  # either zero will do
                actual, expected = actual + dtype(0), expected + dtype(0)
            try:
                same_bits(actual, expected)
            except AssertionError as error:
                raise AssertionError(f"{op}: {error}") from None
        same_bits(results["negf"], np.negative(x))
    for predicate, function in COMPARISONS.items():
        expected = function(x.astype(wide), y.astype(wide))
        np.testing.assert_array_equal(results[predicate], expected, err_msg=predicate)


def integers(dtype: Any) -> Any:
    info = np.iinfo(dtype)
    rng = np.random.default_rng(11)
    edges = [0, 1, -1, 2, info.min, info.max, info.min + 1]
    return np.concatenate([np.array(edges, dtype), rng.integers(info.min, info.max, 12, dtype)])


@pytest.mark.parametrize("name", SIGNED)
def test_integers(name: str) -> None:
    dtype = SIGNED[name]
    width = 8 * dtype.itemsize
    x, y = (grid.ravel() for grid in np.meshgrid(integers(dtype), integers(dtype)))
    ux, uy = x.view(f"u{dtype.itemsize}"), y.view(f"u{dtype.itemsize}")
    predicates = {
        **dict.fromkeys(("eq", "ne", "slt", "sle", "sgt", "sge"), (x, y)),
        **dict.fromkeys(("ult", "ule", "ugt", "uge"), (ux, uy)),
    }
    shifts = ("shli", "shrsi", "shrui")
    extended = ("addui_extended", "subui_extended", "mulsi_extended", "mului_extended")
    simple = (*INTEGER_OPS, *UNSIGNED_OPS)
    body = "\n".join(f"%{op} = arith.{op} %x, %y : {name}" for op in simple)
    body += "".join(f"\n%{p} = arith.cmpi {p}, %x, %y : {name}" for p in predicates)
    body += f"\n%mask = arith.constant {width - 1} : {name}\n%by = arith.andi %y, %mask : {name}"
    body += "".join(f"\n%{op} = arith.{op} %x, %by : {name}" for op in shifts)
    for op in extended:
        kind = f"{name}, i1" if op.startswith(("add", "sub")) else name
        body += f"\n%{op}, %{op}_h = arith.{op} %x, %y : {kind}"
    types = dict.fromkeys((*simple, *shifts, *extended), name) | dict.fromkeys(predicates, "i1")
    types |= {"addui_extended_h": "i1", "subui_extended_h": "i1"}
    types |= {"mulsi_extended_h": name, "mului_extended_h": name}
    results = dict(zip(types, elementwise({"x": name, "y": name}, types, body)(x, y), strict=True))

    by = y & (width - 1)
    with np.errstate(over="ignore"):
        expected = {op: function(x, y) for op, function in INTEGER_OPS.items()}
        expected |= {op: function(ux, uy) for op, function in UNSIGNED_OPS.items()}
    expected |= {"shli": x << by, "shrsi": x >> by, "shrui": ux >> by.view(ux.dtype)}
    compare = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal"}
    compare |= {"gt": "greater", "ge": "greater_equal"}
    expected |= {p: getattr(np, compare[p.lstrip("su")])(*pair) for p, pair in predicates.items()}
    for op, wanted in expected.items():
        as_signed = wanted if wanted.dtype == bool else wanted.view(dtype)
        np.testing.assert_array_equal(results[op], as_signed, err_msg=op)
    modulus = 1 << width
    wide, unsigned = (
        list(zip(map(int, a), map(int, b), strict=True)) for a, b in ((x, y), (ux, uy))
    )
    signed_high = [(a * b) >> width for a, b in wide]
    unsigned_high = [(a * b) >> width for a, b in unsigned]
    assert results["mulsi_extended_h"].tolist() == signed_high
    assert [value % modulus for value in results["mului_extended_h"].tolist()] == unsigned_high
    assert results["addui_extended_h"].tolist() == [a + b >= modulus for a, b in unsigned]
    assert results["subui_extended_h"].tolist() == [a < b for a, b in unsigned]
    for op, sign in (("addui_extended", 1), ("subui_extended", -1)):
        low = [(a + sign * b) % modulus for a, b in unsigned]
        assert [value % modulus for value in results[op].tolist()] == low
    for op in ("mulsi_extended", "mului_extended"):
        assert [v % modulus for v in results[op].tolist()] == [a * b % modulus for a, b in unsigned]


def test_booleans() -> None:
    x, y = (grid.ravel() for grid in np.meshgrid([False, True], [False, True]))
    ops = {
        "addi": np.logical_xor,
        "subi": np.logical_xor,
        "muli": np.logical_and,
        "andi": np.logical_and,
        "ori": np.logical_or,
        "xori": np.logical_xor,
        "maxui": np.logical_or,
        "minui": np.logical_and,
        "maxsi": np.logical_and,  # True is -1
        "minsi": np.logical_or,
    }
    body = "\n".join(f"%{op} = arith.{op} %x, %y : i1" for op in ops)
    given = elementwise({"x": "i1", "y": "i1"}, dict.fromkeys(ops, "i1"), body)(x, y)
    for (op, function), actual in zip(ops.items(), given, strict=True):
        np.testing.assert_array_equal(actual, function(x, y), err_msg=op)


@pytest.mark.parametrize("name", SIGNED)
def test_casts_among_integers(name: str) -> None:
    dtype = SIGNED[name]
    body = ""
    types: dict[str, str] = {}
    for other, wide in SIGNED.items():
        if wide.itemsize > dtype.itemsize:
            body += f"%s_{other} = arith.extsi %x : {name} to {other}\n"
            body += f"%u_{other} = arith.extui %x : {name} to {other}\n"
            types |= {f"s_{other}": other, f"u_{other}": other}
        elif wide.itemsize < dtype.itemsize:
            body += f"%s_{other} = arith.trunci %x : {name} to {other}\n"
            types |= {f"s_{other}": other}
    body += f"%i = arith.index_cast %x : {name} to index\n"
    body += f"%u = arith.index_castui %x : {name} to index\n"
    body += f"%j = arith.index_cast %i : index to {name}\n"
    body += f"%bit = arith.trunci %x : {name} to i1\n"
    body += f"%s_bit = arith.extsi %bit : i1 to {name}\n%u_bit = arith.extui %bit : i1 to {name}\n"
    types |= {"i": "index", "u": "index", "j": name, "bit": "i1", "s_bit": name, "u_bit": name}
    x = integers(dtype)
    unsigned = x.view(f"u{dtype.itemsize}")
    results = dict(zip(types, elementwise({"x": name}, types, body)(x), strict=True))
    for key, kind in types.items():
        if kind in SIGNED and key not in ("j", "s_bit", "u_bit"):
            source = unsigned if key.startswith("u") else x
            np.testing.assert_array_equal(results[key], source.astype(SIGNED[kind]), err_msg=key)
    np.testing.assert_array_equal(results["i"], x.astype(np.int64))
    np.testing.assert_array_equal(results["u"], unsigned.astype(np.int64))
    np.testing.assert_array_equal(results["j"], x)
    odd = x % 2 != 0
    np.testing.assert_array_equal(results["bit"], odd)
    np.testing.assert_array_equal(results["s_bit"], -odd.astype(dtype))
    np.testing.assert_array_equal(results["u_bit"], odd.astype(dtype))


@pytest.mark.parametrize("name", [name for name in FLOATS if "E8M0" not in name])
def test_casts_between_integers_and_floats(name: str) -> None:
    """From integers: rounded once. To integers: towards zero, of what the integer can hold."""
    dtype = FLOATS[name]
    for integer, kind in SIGNED.items():
        body = f"""
        %s = arith.sitofp %x : {integer} to {name}
        %u = arith.uitofp %x : {integer} to {name}
        %ts = arith.fptosi %y : {name} to {integer}
        %tu = arith.fptoui %z : {name} to {integer}
        """
        x = integers(kind)
        if kind.itemsize == 8:
            x[:8] >>= 40
        most = min(float(ml_dtypes.finfo(dtype).max), 100.0)
        y = np.linspace(-most, most, x.size).astype(dtype)
        z = np.linspace(0, most, x.size).astype(dtype)
        types = {"s": name, "u": name, "ts": integer, "tu": integer}
        made = elementwise({"x": integer, "y": name, "z": name}, types, body)(x, y, z)
        unsigned = x.view(f"u{kind.itemsize}")
        wide = np.float64 if name == "f64" else np.float32
        with np.errstate(all="ignore"):
            if np.dtype(dtype).itemsize >= 2 and name != "bf16":
                np.testing.assert_array_equal(made[0], x.astype(dtype))
                np.testing.assert_array_equal(made[1], unsigned.astype(dtype))
            else:
                same_bits(made[0], x.astype(wide).astype(dtype))
                same_bits(made[1], unsigned.astype(wide).astype(dtype))
        np.testing.assert_array_equal(made[2], y.astype(np.float64).astype(kind))
        np.testing.assert_array_equal(
            made[3].view(unsigned.dtype), z.astype(np.float64).astype(unsigned.dtype)
        )


def test_bits_select_and_constants() -> None:
    body = """
    %one = arith.constant 1.5 : f32
    %bits = arith.bitcast %x : f32 to i32
    %back = arith.bitcast %bits : i32 to f32
    %small = arith.cmpf olt, %x, %one : f32
    %picked = arith.select %small, %one, %x : f32
    %half = arith.bitcast %h : i16 to bf16
    %h16 = arith.convertf %half : bf16 to f16
    """
    types = {"bits": "i32", "back": "f32", "picked": "f32", "half": "bf16", "h16": "f16"}
    x = np.array([1, -2.5, np.inf, 3e-40], np.float32)
    h = np.array([0x3F80, 0x4000, 0xC120, 0x0001], np.uint16).view(np.int16)
    bits, back, picked, half, h16 = elementwise({"x": "f32", "h": "i16"}, types, body)(x, h)
    np.testing.assert_array_equal(bits, x.view(np.int32))
    np.testing.assert_array_equal(back, x)
    np.testing.assert_array_equal(picked, np.maximum(x, 1.5))
    same_bits(half, h.view(ml_dtypes.bfloat16))
    same_bits(h16, half.astype(np.float32).astype(np.float16))
