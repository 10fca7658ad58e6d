"""Jitted functions and kernels on dask arrays: what they give, and which axes they are split along.

A function that is split where it must not be gives other numbers; one that is whole where it need
not be has fewer blocks than is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError, TraceError

RNG = np.random.default_rng(0)
X, W, BIAS = RNG.random((10, 12)), RNG.random((12, 6)), np.linspace(0, 1, 6)
SQUARE = RNG.random((9, 9))
A, V = da.from_array(X, chunks=(3, 5)), da.from_array(W, chunks=(5, 4))
Q = da.from_array(SQUARE, chunks=(4, 5))
FROM_OUTSIDE = np.arange(10.0)


@pytest.fixture(autouse=True)
def one_after_the_other() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def check(result: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert isinstance(result, da.Array)
    computed = np.asarray(result.compute())
    assert (result.shape, result.dtype) == (computed.shape, computed.dtype)
    assert (computed.shape, computed.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(computed, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "arrays", "blocks"),
    [
        (lambda x: np.tanh(x) * 2 + 1, (A,), (4, 3)),
        (lambda x, w, b: np.tanh(x @ w + b), (A, V, BIAS), (4, 2)),
        (lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True), (A,), (4, 1)),
        (lambda x: np.concatenate([x, x[:, 1:]], axis=1).T, (A,), (1, 4)),
        (lambda x: x[:, None, :] * x[:, :, None], (A,), (4, 1, 1)),
        (lambda x, y: np.where(x > y, x, y), (A, A[:1]), (4, 3)),
        # A size that is computed with is another for a block, and an array from outside longer.
        (lambda x: x / x.shape[0], (A,), (1, 3)),
        (lambda x: x * 2 if x.shape[0] > 5 else x * 3, (A,), (1, 3)),
        (lambda x: x + FROM_OUTSIDE[:, None], (A,), (1, 3)),
        (lambda x: x + np.ones((10, 1)), (A,), (1, 3)),
        # Blocks beside the diagonal have other blocks to meet.
        (lambda x: x + x.T, (Q,), (1, 1)),
        (lambda x: lx.loop(2, lambda i, v: v * 2, x), (A,), (1, 1)),
    ],
)
def test_split_where_it_may_be(
    function: Callable[..., Any], arrays: tuple[Any, ...], blocks: tuple[int, ...]
) -> None:
    whole = [array.compute() if isinstance(array, da.Array) else array for array in arrays]
    result = lx.jit(function)(*arrays)
    assert result.numblocks == blocks
    check(result, lx.jit(function)(*whole))


def test_containers_names_and_static_arguments() -> None:
    @lx.jit(static_argnames="times")
    def scaled(parameters: Any, times: int, *, shift: Any) -> Any:
        w = parameters["w"]
        return {"sum": w * times + shift, "row": (w.sum(axis=1),)}

    made = scaled({"w": A}, 3, shift=X)
    check(made["sum"], 4 * X)
    check(made["row"][0], X.sum(1))
    # Rows are in both results, columns in one.
    assert made["sum"].numblocks == (4, 1)


@pytest.mark.parametrize("options", [{"static_argnames": "times"}, {"static_argnums": 1}])
def test_static_arguments_by_name_and_by_position(options: Any) -> None:
    @lx.jit(**options)
    def doubled(x: Any, times: int) -> Any:
        for _ in range(times):
            x = x + x
        return x

    check(doubled(A, 3), 8 * X)


def test_open_sizes() -> None:
    check(lx.jit(lambda x: x * 2, dynamic=True)(A), 2 * X)
    n = lx.Dim("n")
    rows = lx.jit(lambda x: x * 2, signature=[lx.ShapeDtype((n, 12), np.float64)])
    check(rows(A.rechunk((3, -1))), 2 * X)


def test_mistakes_in_calls_of_functions() -> None:
    jitted = lx.jit(lambda x, y: x + y)
    with pytest.raises(ShapeError, match="add of shapes"):
        jitted(A, V)
    with pytest.raises(ShapeError, match="compute_chunk_sizes"):
        jitted(A[A[:, 0] > 0.5], A)
    with pytest.raises(ArgumentError, match="out= where an argument is a dask array"):
        jitted(A, A, out=X)
    with pytest.raises(ArityError):
        jitted(A)  # type: ignore[call-overload]
    with pytest.raises(TraceError, match=r"numpy\.unique"):
        lx.jit(np.unique)(A)
    with pytest.raises(ArgumentError, match="a dask array cannot be a constant"):
        lx.jit(lambda x: x + A)(X)


ADD_ROW = """
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @add_row(%x: tensor<?x12xf64>, %scale: f64, %row: tensor<12xf64>) -> tensor<?x12xf64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x12xf64>
  %e = tensor.empty(%n) : tensor<?x12xf64>
  %y = linalg.generic {
      indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
    ins(%x, %row : tensor<?x12xf64>, tensor<12xf64>) outs(%e : tensor<?x12xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %p = arith.mulf %a, %scale : f64
    %r = arith.addf %p, %b : f64
    linalg.yield %r : f64
  } -> tensor<?x12xf64>
  return %y : tensor<?x12xf64>
}
"""


@pytest.fixture(scope="module")
def add_row() -> lx.Kernel:
    return lx.compile(ADD_ROW)


def test_a_kernel_is_split_where_it_is_open(add_row: lx.Kernel) -> None:
    made = add_row(A, 2.0, X[0])
    assert made.numblocks == (4, 1)
    check(made, 2 * X + X[0])


def test_a_size_that_a_kernel_computes_with_is_whole() -> None:
    kernel = lx.compile("""
      func.func @by_size(%x: tensor<?xf64>) -> tensor<?xf64> {
        %c0 = arith.constant 0 : index
        %n = tensor.dim %x, %c0 : tensor<?xf64>
        %i = arith.index_cast %n : index to i64
        %f = arith.sitofp %i : i64 to f64
        %s = tensor.splat %f[%n] : tensor<?xf64>
        %y = arith.mulf %x, %s : tensor<?xf64>
        return %y : tensor<?xf64>
      }
    """)
    made = kernel(A[:, 0])
    assert made.numblocks == (1,)
    check(made, 10 * X[:, 0])


def test_mistakes_in_calls_of_kernels(add_row: lx.Kernel) -> None:
    with pytest.raises(ShapeError, match="is given an array of shape"):
        add_row(A[:, :5], 2.0, X[0])
    with pytest.raises(DTypeError, match="float32"):
        add_row(A.astype(np.float32), 2.0, X[0])
    with pytest.raises(ArityError, match="takes 3 arguments, got 1"):
        add_row(A)
    with pytest.raises(ArgumentError, match="out="):
        add_row(A, 2.0, X[0], out=X)
    writes = lx.compile("func.func @f(%x: memref<4xf32>) { return }")
    with pytest.raises(ArgumentError, match="it is not a function of tensors"):
        writes(da.ones(4, dtype=np.float32))
    slices = lx.compile("""
      func.func @first(%x: tensor<?xf64>, %n: index) -> tensor<?xf64> {
        %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf64> to tensor<?xf64>
        return %y : tensor<?xf64>
      }
    """)
    with pytest.raises(ShapeError, match="known only when it has run"):
        slices(A[:, 0], 3)
