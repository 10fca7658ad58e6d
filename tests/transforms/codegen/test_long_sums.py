"""Sums of millions of floats are as exact as NumPy's along rows, in whatever way they are added.

Exact is what sums in f64, or in NumPy's longest floats for those of f64, give. Millions of numbers
near 1000, one after another in f32, are off by some thousand units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.transforms.codegen.base.blocked_sums import BLOCK

N = 4_200_000
Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def near_1000() -> Array:
    """Millions of f32 from [1000, 1001)."""
    return np.random.default_rng(0).random(N, dtype=np.float32) + np.float32(1000)


@pytest.fixture(scope="module")
def small() -> Array:
    """Millions of f32 from [0, 1)."""
    return np.random.default_rng(1).random(N, dtype=np.float32)


def off_by(found: Any, exact: Any) -> float:
    """The largest relative error, in units of the last place of 1."""
    found, exact = np.asarray(found), np.asarray(exact)
    unit = float(np.finfo(found.dtype).eps)
    wide = np.clongdouble if np.iscomplexobj(found) else np.longdouble
    return float(np.max(np.abs(found.astype(wide) - exact) / np.abs(exact))) / unit


ALONG: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "var": lambda x: x.var(),
    "std": lambda x: x.std(),
    "norm": lambda x: np.sqrt((x * x).sum()),
    "backwards": lambda x: x[::-1].sum(),
    "every other": lambda x: x[::2].sum(),
    "of rows": lambda x: x.reshape(10, -1).sum(1),
    "of all axes": lambda x: x.reshape(10, 1000, -1).sum((0, 1, 2)),
    "of outer axes": lambda x: x.reshape(10, 10000, -1).sum((0, 1)),
    "of rows of part of an array": lambda x: x.reshape(-1, 1000)[:, :900].sum(),
    "first axis, 2 columns": lambda x: x.reshape(-1, 2).sum(0),
    "variance, first axis, 2 columns": lambda x: x.reshape(-1, 2).var(0),
    "first axis, 5 columns": lambda x: x.reshape(-1, 5).sum(0),
    "first axis, 100 columns": lambda x: x.reshape(-1, 100).sum(0),
    "variance, first axis, 100 columns": lambda x: x.reshape(-1, 100).var(0),
    "first axis, 1000 columns": lambda x: x.reshape(-1, 1000).sum(0),
    "middle axis": lambda x: x.reshape(2, -1, 50).sum(1),
    "where": lambda x: x.sum(where=x > 1000.5),
    "several at once": lambda x: x.sum() + (x * 2).sum() + x.max(),
}


@pytest.mark.parametrize("is_open", [False, True], ids=["known sizes", "open sizes"])
@pytest.mark.parametrize("name", ALONG)
def test_along_axes(name: str, is_open: bool, near_1000: Array) -> None:
    function = ALONG[name]
    exact = function(near_1000.astype(np.float64))
    found = lx.jit(function, dynamic=True)(near_1000) if is_open else lx.jit(function)(near_1000)
    assert off_by(found, exact) < 2


def test_numpys_norm(near_1000: Array) -> None:
    exact = np.sqrt((near_1000.astype(np.float64) ** 2).sum())
    assert off_by(lx.jit(lambda x: np.linalg.norm(x))(near_1000), exact) < 2


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_on_several_threads(threads: int, near_1000: Array) -> None:
    wide, narrow = near_1000.reshape(10, -1), near_1000.reshape(-1, 2)
    with lx.threads.using(threads):
        for rows, axis in ((wide, 1), (narrow, 0)):
            for function in (lambda x, a=axis: x.sum(a), lambda x, a=axis: x.var(a)):
                exact = function(rows.astype(np.float64))
                assert off_by(lx.jit(function)(rows), exact) < 2


PRODUCTS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "vectors": ((N,), (N,)),
    "matrix and vector": ((4, N // 4), (N // 4,)),
    "vector and matrix": ((N // 4,), (N // 4, 4)),
    "2 x k, k x 2": ((2, N // 2), (N // 2, 2)),
    "16 x k, k x 16": ((16, N // 16), (N // 16, 16)),
    "1 x k, k x 7": ((1, N // 7), (N // 7, 7)),
}


@pytest.mark.parametrize("is_open", [False, True], ids=["known sizes", "open sizes"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_great_depth(name: str, is_open: bool, near_1000: Array, small: Array) -> None:
    for numbers in (near_1000, small):
        a, b = (numbers[: int(np.prod(shape))].reshape(shape) for shape in PRODUCTS[name])
        exact = a.astype(np.float64) @ b.astype(np.float64)
        jitted = lx.jit(lambda x, y: x @ y, dynamic=is_open)
        # A block of such a product is up to 1,024 numbers one after another, as in BLAS.
        assert off_by(jitted(a, b), exact) < 4


def test_a_deep_product_with_a_bias(small: Array) -> None:
    a, b = small[: 16 * 100_000].reshape(16, -1), small[-16 * 100_000 :].reshape(-1, 16)
    bias = np.linspace(-1, 1, 16, dtype=np.float32)
    exact = np.maximum(a.astype(np.float64) @ b + bias, 0)
    for is_open in (False, True):
        jitted = lx.jit(lambda x, y, z: np.maximum(x @ y + z, 0), dynamic=is_open)
        assert off_by(jitted(a, b, bias), exact) < 8


def test_inner_products_by_einsum(small: Array) -> None:
    a, b = small[: N // 2], small[N // 2 :]
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert off_by(lx.einsum("i,i->", a, b, backend="kernel"), exact) < 2
    assert off_by(lx.jit(lambda x, y: np.einsum("i,i->", x, y))(a, b), exact) < 2


@pytest.mark.parametrize("is_open", [False, True], ids=["known sizes", "open sizes"])
def test_softmax_of_a_long_row(is_open: bool, small: Array) -> None:
    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max())
        return e / e.sum()

    exact = softmax(small.astype(np.float64))
    assert off_by(lx.jit(softmax, dynamic=is_open)(small), exact) < 4


def test_layer_norm_of_long_rows(near_1000: Array) -> None:
    def normalized(x: Any) -> Any:
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)

    rows = near_1000.reshape(10, -1)
    exact = normalized(rows.astype(np.float64))
    # The mean of numbers near 1000 is known to 6e-5, and is what is subtracted.
    found = lx.jit(normalized)(rows)
    assert np.abs(found - exact).max() < 5e-4


SCANS: dict[str, Callable[[Any], Any]] = {
    "along a row": lambda x: np.cumsum(x),
    "along rows": lambda x: np.cumsum(x.reshape(10, -1), axis=1),
    "backwards": lambda x: np.cumsum(x[::-1]),
    "every other": lambda x: np.cumsum(x[::2]),
}


@pytest.mark.parametrize("is_open", [False, True], ids=["known sizes", "open sizes"])
@pytest.mark.parametrize("name", SCANS)
def test_running_sums(name: str, is_open: bool, near_1000: Array) -> None:
    function = SCANS[name]
    exact = function(near_1000.astype(np.float64))
    assert off_by(lx.jit(function, dynamic=is_open)(near_1000), exact) < 4


COMPLEX: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "variance": lambda x: x.var(),
    "product": lambda x: x @ x,
    "vdot": lambda x: np.vdot(x, x),
    "first axis": lambda x: x.reshape(-1, 10).sum(0),
    "running sum": lambda x: np.cumsum(x),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name: str, near_1000: Array, small: Array) -> None:
    numbers = (near_1000[:2_000_000] + 1j * small[:2_000_000]).astype(np.complex64)
    function = COMPLEX[name]
    assert off_by(lx.jit(function)(numbers), function(numbers.astype(np.complex128))) < 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(),
        lambda x: x.reshape(-1, 10).sum(0),
        lambda x: x[::2].sum(),
        lambda x: np.cumsum(x),
        lambda x: x @ x,
    ],
    ids=["row", "first axis", "every other", "running sum", "product"],
)
def test_doubles(function: Callable[[Any], Any]) -> None:
    numbers = np.random.default_rng(2).random(2_000_000) + 1000
    exact = function(numbers.astype(np.longdouble))
    assert off_by(lx.jit(function)(numbers), exact) < 3


MODULES = {
    "dot": "linalg.dot ins(%a, %a : tensor<?xf32>, tensor<?xf32>)",
    "reduce": "linalg.reduce ins(%a : tensor<?xf32>)",
    "generic": """linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
        iterator_types = ["reduction"]} ins(%a : tensor<?xf32>)""",
}
BODIES = {
    "dot": "outs(%i : tensor<f32>) -> tensor<f32>",
    "reduce": """outs(%i : tensor<f32>) dimensions = [0]
        (%x: f32, %o: f32) { %s = arith.addf %o, %x : f32 linalg.yield %s : f32 }""",
    "generic": """outs(%i : tensor<f32>) {
        ^bb0(%x: f32, %o: f32):
          %s = arith.addf %o, %x : f32
          linalg.yield %s : f32
        } -> tensor<f32>""",
}


@pytest.mark.parametrize("size", ["?", str(N)])
@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str, size: str, near_1000: Array) -> None:
    text = f"""
    func.func @f(%a: tensor<?xf32>) -> tensor<f32> {{
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<f32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
      %r = {MODULES[name]} {BODIES[name]}
      return %r : tensor<f32>
    }}""".replace("tensor<?xf32>", f"tensor<{size}xf32>")
    wide = near_1000.astype(np.float64)
    exact = wide @ wide if name == "dot" else wide.sum()
    assert off_by(lx.compile(text)(near_1000), exact) < 2


@pytest.mark.parametrize("is_open", [False, True], ids=["known sizes", "open sizes"])
def test_what_is_not_finite(is_open: bool) -> None:
    functions: list[Callable[[Any], Any]] = [
        lambda x: x.sum(),
        lambda x: x.reshape(-1, 10).sum(0),
        lambda x: x.reshape(-1, 100).sum(0),
        lambda x: x[::2].sum(),
        lambda x: np.cumsum(x),
    ]
    numbers = np.ones(300_000, np.float32)
    infinite, both, large = numbers.copy(), numbers.copy(), np.full_like(numbers, 3e38)
    infinite[1000] = both[1000] = np.inf
    both[200_000] = -np.inf
    for function in functions:
        jitted = lx.jit(function, dynamic=is_open)
        for given in (infinite, both, large, -large):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(np.isnan(jitted(given)), np.isnan(function(given)))
                np.testing.assert_array_equal(np.isinf(jitted(given)), np.isinf(function(given)))


def test_sums_that_cancel() -> None:
    numbers = np.zeros(100_000, np.float32)
    numbers[0], numbers[1:-1], numbers[-1] = 1e8, 1, -1e8
    for function in (lambda x: x.sum(), lambda x: x[::1, None].sum(0)[0]):
        exact = function(numbers.astype(np.float64))
        # Those of one block, of a lane, are added to 100,000,000, and rounded by 4 at most.
        assert abs(lx.jit(function)(numbers) - exact) <= 4 * BLOCK


def test_zeros_keep_their_sign() -> None:
    text = """
    func.func @f(%a: tensor<100000xf32>, %i: tensor<f32>) -> tensor<f32> {
      %r = linalg.reduce ins(%a : tensor<100000xf32>) outs(%i : tensor<f32>) dimensions = [0]
        (%x: f32, %o: f32) { %s = arith.addf %o, %x : f32 linalg.yield %s : f32 }
      return %r : tensor<f32>
    }"""
    kernel = lx.compile(text)
    zeros = np.full(100_000, -0.0, np.float32)
    assert np.signbit(kernel(zeros, np.float32(-0.0)))
    assert not np.signbit(kernel(zeros, np.float32(0.0)))
