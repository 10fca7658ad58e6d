"""Results of contractions that are rounded, quantized or activated before they are in memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from kernels import entry_of, kernel
from linalg_ext import target
from resources import skip_machine

DTYPES = {"i8": np.int8, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}

QUANTIZE = """
        %low = arith.constant -128.0 : f32
        %high = arith.constant 127.0 : f32
        %w = arith.sitofp %x : i32 to f32
        %t = arith.mulf %w, %y : f32
        %r = math.roundeven %t : f32
        %l = arith.maximumf %r, %low : f32
        %h = arith.minimumf %l, %high : f32
        %v = arith.fptosi %h : f32 to i8
        linalg.yield %v : i8"""
ROUND = """
        %t = arith.mulf %x, %y : f32
        %v = arith.truncf %t : f32 to {0}
        linalg.yield %v : {0}"""


def text(source: str, sums: str, result: str, sizes: tuple[Any, Any, Any], body: str) -> str:
    """A product of `source`, summed in `sums`, that `body` makes a `result` of."""
    m, n, k = sizes
    zero = "0.0" if sums.startswith("f") else "0"
    c, d = f"tensor<{m}x{n}x{sums}>", f"tensor<{m}x{n}x{result}>"
    a, b = f"tensor<{m}x{k}x{source}>", f"tensor<{k}x{n}x{source}>"
    return f"""
    func.func @f(%a: {a}, %b: {b}, %s: f32) -> {d} {{
      %z = arith.constant {zero} : {sums}
      %e = tensor.empty() : {c}
      %g = tensor.empty() : {d}
      %f = linalg.fill ins(%z : {sums}) outs(%e : {c}) -> {c}
      %c = linalg.matmul ins(%a, %b : {a}, {b}) outs(%f : {c}) -> {c}
      %r = linalg.generic {{
          indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>,
                           affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}}
        ins(%c, %s : {c}, f32) outs(%g : {d}) {{
      ^bb0(%x: {sums}, %y: f32, %o: {result}): {body}
      }} -> {d}
      return %r : {d}
    }}"""


def is_one_call(compiled: Any) -> bool:
    """Return whether all is done in a nest, and nothing is in memory between."""
    entry = entry_of(compiled)
    return "scf.for" not in entry and "memref.alloc" not in entry and "call @" in entry


SIZES = [(64, 64, 64), (13, 37, 1100), (70, 130, 3000), (5, 3, 600)]
"""One block of the depth and several, edges of rows and of columns."""


@pytest.mark.parametrize("sizes", SIZES)
def test_quantized(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    random = np.random.default_rng(0)
    a, b = random.integers(-128, 128, (m, k), np.int8), random.integers(-128, 128, (k, n), np.int8)
    scale = np.float32(2.0**-9)
    compiled = kernel(text("i8", "i32", "i8", sizes, QUANTIZE))
    assert is_one_call(compiled)
    sums = (a.astype(np.int32) @ b.astype(np.int32)).astype(np.float32)
    wanted = np.clip(np.rint(sums * scale), -128, 127).astype(np.int8)
    np.testing.assert_array_equal(compiled(a, b, scale), wanted)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_rounded_once(sizes: tuple[int, int, int], element: str) -> None:
    """A sum that were rounded between blocks of the depth would be another number."""
    m, n, k = sizes
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, s).astype(DTYPES[element]) for s in ((m, k), (k, n)))
    compiled = kernel(text(element, "f32", element, sizes, ROUND.format(element)))
    assert is_one_call(compiled)
    sums = a.astype(np.float32) @ b.astype(np.float32)  # exact
    wanted = (sums * np.float32(0.75)).astype(DTYPES[element])
    np.testing.assert_array_equal(compiled(a, b, np.float32(0.75)), wanted)


def test_a_depth_that_is_not_known_is_rounded_afterwards() -> None:
    """Its sums may need several blocks, and between those they are in memory."""
    body = ROUND.format("f16")
    compiled = kernel(text("f16", "f32", "f16", (20, 40, "?"), body))
    assert not is_one_call(compiled)
    a, b = np.ones((20, 700), np.float16), np.ones((700, 40), np.float16)
    assert (compiled(a, b, np.float32(0.5)) == 350).all()


@pytest.mark.parametrize("machine", ["avx2", "generic-x86-64"])
def test_other_machines(machine: str) -> None:
    if target.named(machine).missing_on(target.host()):
        skip_machine(machine)
    with target.using(machine):
        a, b = np.full((9, 50), 7, np.int8), np.full((50, 21), -3, np.int8)
        got = kernel(text("i8", "i32", "i8", (9, 21, 50), QUANTIZE))(a, b, np.float32(0.1))
        np.testing.assert_array_equal(got, np.full((9, 21), -105, np.int8))


@pytest.mark.parametrize("sizes", [(64, 80, 96), (13, 35, 71), (70, 37, 1500)])
def test_activations(sizes: tuple[int, int, int]) -> None:
    """Long ones, in a loop over the tile, after one block of the depth and after several."""
    m, n, k = sizes
    random = np.random.default_rng(1)
    a, b = (random.standard_normal(shape).astype(np.float32) / 8 for shape in ((m, k), (k, n)))
    bias = random.standard_normal(n).astype(np.float32)

    @lx.jit
    def layer(a: Any, b: Any, bias: Any) -> Any:
        return lx.ops.silu(lx.einsum("mk,kn->mn", a, b) + bias)

    assert is_one_call(layer.lower(a, b, bias).compile())
    sums = a.astype(np.float64) @ b + bias
    np.testing.assert_allclose(layer(a, b, bias), sums / (1 + np.exp(-sums)), rtol=1e-4, atol=1e-5)


def test_nan_and_infinity_go_through_an_activation() -> None:
    a, b = np.ones((7, 20), np.float32), np.ones((20, 19), np.float32)
    a[6, 3], b[5, 18] = np.nan, np.inf

    @lx.jit
    def layer(a: Any, b: Any) -> Any:
        return lx.ops.silu(lx.einsum("mk,kn->mn", a, b))

    got = layer(a, b)
    assert np.isnan(got[6]).all()
    assert np.isposinf(got[:6, 18]).all()
    assert np.isfinite(got[:6, :18]).all()
