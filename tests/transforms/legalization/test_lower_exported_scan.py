"""tm_tensor.scan: cumulative ops along any dimension, of any number of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import run
from linalg_ext import compile

RNG = np.random.default_rng(0)


def scan(axis: int, rank: int, *, inclusive: str = "true", body: str = "addf") -> str:
    open_ = "x".join("?" * rank)
    rest = "x".join("?" * (rank - 1) + "")
    whole, part = f"tensor<{open_}xf32>", f"tensor<{rest}xf32>" if rank > 1 else "tensor<f32>"
    return f"""
    func.func @f(%x: {whole}, %y: {whole}, %t: {part}) -> ({whole}, {part}) {{
      %r:2 = tm_tensor.scan dimension({axis}) inclusive({inclusive}) ins(%x : {whole})
          outs(%y, %t : {whole}, {part}) {{
      ^bb0(%a: f32, %b: f32):
        %s = arith.{body} %a, %b : f32
        tm_tensor.yield %s : f32
      }} -> {whole}, {part}
      return %r#0, %r#1 : {whole}, {part}
    }}"""


def operands(shape: tuple[int, ...], axis: int) -> tuple[Any, Any, Any]:
    x = RNG.random(shape, np.float32)
    rest = tuple(size for at, size in enumerate(shape) if at != axis)
    return x, np.zeros_like(x), np.full(rest, 3, np.float32)


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 1, 4)])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_inclusive(shape: tuple[int, ...], axis: int) -> None:
    x, y, t = operands(shape, axis)
    found, last = run(scan(axis, 3), x, y, t)
    np.testing.assert_allclose(found, np.cumsum(x, axis), rtol=1e-5)
    np.testing.assert_array_equal(last, found.take(-1, axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_exclusive_starts_from_the_accumulator(axis: int) -> None:
    x, y, t = operands((3, 4), axis)
    found, _ = run(scan(axis, 2, inclusive="false"), x, y, t)
    before = np.insert(np.cumsum(x, axis), 0, 0, axis).take(range(x.shape[axis]), axis)
    np.testing.assert_allclose(found, before + 3, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_carried_value_is_the_first_argument(axis: int) -> None:
    x, y, t = operands((3, 4), axis)
    found, _ = run(scan(axis, 2, body="subf"), x, y, t)
    np.testing.assert_allclose(found, np.subtract.accumulate(x, axis), rtol=1e-5)


def test_of_a_vector() -> None:
    x, y, t = operands((7,), 0)
    found, last = run(scan(0, 1, body="mulf"), x, y, t)
    np.testing.assert_allclose(found, np.cumprod(x), rtol=1e-5)
    assert last == found[-1]


def test_of_nothing() -> None:
    text = scan(1, 2).replace("-> (tensor<?x?xf32>, tensor<?xf32>) {", "-> tensor<?x?xf32> {")
    text = text.replace(
        "return %r#0, %r#1 : tensor<?x?xf32>, tensor<?xf32>", "return %r#0 : tensor<?x?xf32>"
    )
    x, y, t = operands((3, 0), 1)
    assert run(text, x, y, t).shape == (3, 0)


def test_a_text_that_nobody_vouches_for_is_read_by_the_guard() -> None:
    x, y, t = operands((2, 3), 1)
    found, _ = compile(scan(1, 2))(x, y, t)
    np.testing.assert_allclose(found, np.cumsum(x, 1), rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("body", ["addf", "mulf"])
def test_an_element_is_rounded_once(axis: int, body: str) -> None:
    x, y, t = operands((300, 400), axis)
    x = x + 0.7 if body == "mulf" else x - 0.3
    y, t = np.zeros_like(x), np.full_like(t, body == "mulf")
    found, _ = run(scan(axis, 2, body=body), x, y, t)
    whole = x.astype(np.float64)
    exact = np.cumsum(whole, axis) if body == "addf" else np.cumprod(whole, axis)
    np.testing.assert_array_max_ulp(found, exact.astype(np.float32), 1)


def test_narrow_floats_are_carried_in_f32() -> None:
    x = RNG.standard_normal((3, 2000)).astype(np.float16)
    text = scan(1, 2).replace("f32", "f16")
    found, _ = run(text, x, np.zeros_like(x), np.zeros(3, np.float16))
    exact = np.cumsum(x.astype(np.float32), 1).astype(np.float16)
    np.testing.assert_allclose(found, exact, rtol=2e-3, atol=1e-3)
