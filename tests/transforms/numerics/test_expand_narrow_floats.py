"""Casts between float formats: exhaustive where they are narrow, once rounded, bit for bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernels import EIGHT_BIT, FLOATS, elementwise, run, same_bits

NARROW = ("bf16", "f16", *EIGHT_BIT)
RNG = np.random.default_rng(17)


def every(name: str) -> Any:
    """All numbers of a narrow format."""
    dtype = np.dtype(FLOATS[name])
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return np.arange(1 << (8 * dtype.itemsize), dtype=np.uint32).astype(unsigned).view(dtype)


@pytest.mark.parametrize("name", NARROW)
def test_widening_is_exact(name: str) -> None:
    body = f"%r = arith.extf %x : {name} to f32\n%d = arith.extf %x : {name} to f64"
    x = every(name)
    single, double = elementwise({"x": name}, {"r": "f32", "d": "f64"}, body)(x)
    with np.errstate(invalid="ignore"):
        same_bits(single, x.astype(np.float32))
        same_bits(double, x.astype(np.float64))


def hard(name: str, wide: Any) -> Any:
    """Numbers, midpoints, their neighbours, and any bits at all."""
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = every(name).astype(np.float64)
        numbers = np.sort(numbers[np.isfinite(numbers)])
        if numbers.size > 5000:
            numbers = RNG.choice(numbers, 5000)
            numbers = np.sort(numbers)
        exact = every(name).astype(np.float64)
        exact = np.unique(exact[np.isfinite(exact)])
        at = np.searchsorted(exact, numbers)
        following = exact[np.minimum(at + 1, exact.size - 1)]
        middles = ((numbers + following) / 2).astype(wide)
        width = np.dtype(wide).itemsize
        bits = RNG.integers(0, 1 << (8 * width), 20_000, f"u{width}", endpoint=False).view(wide)
        largest = float(ml_dtypes.finfo(FLOATS[name]).max)
        over = largest * np.geomspace(0.9, 3, 301)
        smallest = float(ml_dtypes.finfo(FLOATS[name]).smallest_subnormal)
        under = smallest * np.geomspace(0.1, 3, 301)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan]
        values = np.concatenate([numbers, over, -over, under, -under, special]).astype(wide)
        values = np.concatenate([values, middles])
        neighbours = [np.nextafter(values, wide(s)) for s in (np.inf, -np.inf)]
        return np.concatenate([values, *neighbours, bits])


@pytest.mark.parametrize("name", NARROW)
def test_from_f32_rounds_to_the_nearest_even(name: str) -> None:
    x = hard(name, np.float32)
    made = elementwise({"x": "f32"}, {"r": name}, f"%r = arith.truncf %x : f32 to {name}")(x)
    with np.errstate(all="ignore"):
        same_bits(made, x.astype(FLOATS[name]))


def nearest(x: Any, name: str) -> Any:
    """A double in a narrow format, rounded once, found by comparing with every number of it.

    Only for what is in range.
    """
    with np.errstate(invalid="ignore"):
        numbers = every(name)
        exact = numbers.astype(np.float64)
    keep = np.isfinite(exact) & ~np.signbit(exact)
    order = np.argsort(exact[keep], kind="stable")
    numbers, exact = numbers[keep][order], exact[keep][order]
    odd = numbers.view(f"u{numbers.dtype.itemsize}") % 2 == 1
    magnitude = np.abs(x)
    above = np.clip(np.searchsorted(exact, magnitude), 1, exact.size - 1)
    low, high = exact[above - 1], exact[above]
    up = (high - magnitude < magnitude - low) | (
        (high - magnitude == magnitude - low) & odd[above - 1]
    )
    return np.copysign(np.where(up, high, low), x)


@pytest.mark.parametrize("name", [n for n in NARROW if n != "f8E8M0FNU"])
def test_from_f64_rounds_once(name: str) -> None:
    x = hard(name, np.float64)
    info = ml_dtypes.finfo(FLOATS[name])
    x = x[np.isfinite(x) & (np.abs(x) <= float(info.max))]
    made = elementwise({"x": "f64"}, {"r": name}, f"%r = arith.truncf %x : f64 to {name}")(x)
    np.testing.assert_array_equal(made.astype(np.float64), nearest(x, name))


def test_no_double_rounding() -> None:
    """Just above a midpoint, by less than f32 can tell: through f32 it would go down to even."""
    x = np.array([1 + 2.0**-8 + 2.0**-40, -(1 + 2.0**-8 + 2.0**-40), 1 + 2.0**-11 + 2.0**-50])
    body = "%b = arith.truncf %x : f64 to bf16\n%h = arith.truncf %x : f64 to f16"
    bfloat, half = elementwise({"x": "f64"}, {"b": "bf16", "h": "f16"}, body)(x)
    assert bfloat.astype(float).tolist()[:2] == [1 + 2.0**-7, -1 - 2.0**-7]
    assert float(half[2]) == 1 + 2.0**-10
    np.testing.assert_array_equal(half, x.astype(np.float16))


@pytest.mark.parametrize("name", NARROW)
def test_specials_of_f64(name: str) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300, -1e-300, 0.0, -0.0])
    made = elementwise({"x": "f64"}, {"r": name}, f"%r = arith.truncf %x : f64 to {name}")(x)
    with np.errstate(all="ignore"):
        expected = x.astype(FLOATS[name])
    if name == "f8E8M0FNU":  # ml_dtypes rounds to f32 first, and makes it zero, which there is not
        expected[5] = 2.0**-127
    same_bits(made, expected)


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E5M2", "f8E4M3FN"])
def test_sums_round_at_each_step(name: str) -> None:
    dtype = FLOATS[name]
    text = f"""
    func.func @f(%a: tensor<300x{name}>) -> tensor<{name}> {{
      %zero = arith.constant dense<0.0> : tensor<{name}>
      %0 = linalg.reduce ins(%a : tensor<300x{name}>) outs(%zero : tensor<{name}>) dimensions = [0]
        (%x: {name}, %o: {name}) {{ %s = arith.addf %o, %x : {name}  linalg.yield %s : {name} }}
      return %0 : tensor<{name}>
    }}"""
    a = np.full(300, 1.3).astype(dtype)
    total = dtype(0)
    for value in a:
        total = dtype(np.float32(total) + np.float32(value))
    rounded_once = a.astype(np.float64).sum().astype(dtype)
    assert total != rounded_once, "these numbers cannot tell"
    assert run(text, a, opt_level=2)[()] == total


def test_vectors() -> None:
    text = """
    func.func @f(%a: tensor<2x3xf32>) -> (tensor<2x3xf8E4M3FN>, tensor<2x3xf32>) {
      %c0 = arith.constant 0 : index
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<2x3xf8E4M3FN>
      %w = tensor.empty() : tensor<2x3xf32>
      %x = vector.transfer_read %a[%c0, %c0], %z {in_bounds = [true, true]}
        : tensor<2x3xf32>, vector<2x3xf32>
      %n = arith.truncf %x : vector<2x3xf32> to vector<2x3xf8E4M3FN>
      %s = arith.addf %n, %n : vector<2x3xf8E4M3FN>
      %u = arith.extf %s : vector<2x3xf8E4M3FN> to vector<2x3xf32>
      %0 = vector.transfer_write %n, %e[%c0, %c0] {in_bounds = [true, true]}
        : vector<2x3xf8E4M3FN>, tensor<2x3xf8E4M3FN>
      %1 = vector.transfer_write %u, %w[%c0, %c0] {in_bounds = [true, true]}
        : vector<2x3xf32>, tensor<2x3xf32>
      return %0, %1 : tensor<2x3xf8E4M3FN>, tensor<2x3xf32>
    }"""
    a = RNG.normal(0, 10, (2, 3)).astype(np.float32)
    narrow, doubled = run(text, a)
    same_bits(narrow, a.astype(ml_dtypes.float8_e4m3fn))
    np.testing.assert_array_equal(doubled, (narrow + narrow).astype(np.float32))


@pytest.mark.parametrize("name", EIGHT_BIT)
def test_between_narrow_formats(name: str) -> None:
    body, types = "", {}
    for other in ("bf16", "f16", "f8E5M2", "f8E4M3FN"):
        if np.dtype(FLOATS[other]).itemsize == 2:
            body += f"%{other} = arith.extf %x : {name} to {other}\n"
        elif other != name:
            body += f"%{other} = arith.convertf %x : {name} to {other}\n"
        if f"%{other} " in body:
            types[other] = other
    x = every(name)
    made = elementwise({"x": name}, types, body)(x)
    for other, actual in zip(types, made, strict=True):
        with np.errstate(all="ignore"):
            same_bits(actual, x.astype(np.float32).astype(FLOATS[other]))
