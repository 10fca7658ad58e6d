"""Ops on dask arrays: compiled on blocks, in chunks that do and do not fit, and refused clearly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import ml_dtypes
import numpy as np
import pytest
from dask.delayed import delayed

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ArgumentTypeError, ArityError, DTypeError, ShapeError
from linalg_ext.frameworks.dask import blocks
from linalg_ext.frameworks.dask.ops import call_on_dask
from linalg_ext.opdsl import StructuredOp

RNG = np.random.default_rng(0)
X, Y = RNG.random((10, 12)), RNG.random((12, 7))
A, B = da.from_array(X, chunks=(3, 5)), da.from_array(Y, chunks=(4, 3))


@pytest.fixture(autouse=True)
def one_after_the_other() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def check(result: Any, expected: Any, rtol: float = 1e-12) -> None:
    """What is said of a result before it is computed is so."""
    expected = np.asarray(expected)
    assert isinstance(result, da.Array)
    computed = np.asarray(result.compute())
    assert (result.shape, result.dtype) == (computed.shape, computed.dtype)
    assert (computed.shape, computed.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(computed, expected, rtol=rtol)


@pytest.mark.parametrize("panel", [0, blocks.PANEL_BYTES])
def test_products_of_blocks_are_added_up(panel: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "PANEL_BYTES", panel)
    check(lx.ops.matmul(A, B), X @ Y)
    check(lx.ops.matmul(A, Y), X @ Y)
    check(lx.ops.matmul(X, B), X @ Y)
    check(lx.ops.matmul(A, B, init=da.ones((10, 7), chunks=6)), X @ Y + 1)
    check(lx.ops.matmul(A, A, permutation_b=[1, 0]), X @ X.T)


def test_threads_of_dask_share_the_blocks() -> None:
    with dask.config.set(scheduler="threads", num_workers=4):
        check(lx.ops.matmul(A, B, threads=2), X @ Y)


def test_element_types_are_those_of_the_whole() -> None:
    narrow = X.astype(np.float32)
    check(lx.ops.matmul(da.from_array(narrow, chunks=4), B), narrow @ Y)
    tiny = X.astype(ml_dtypes.bfloat16)
    wide = tiny.astype(np.float32)
    cut = da.from_array(tiny, chunks=4)
    made = lx.ops.matmul(cut, cut, permutation_b=[1, 0], compute_type=np.float32)
    assert made.dtype == tiny.dtype
    # Parts that were rounded before they were added would be off by more than the last rounding.
    exact = (wide @ wide.T).astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(made.compute().astype(np.float32), exact)


def test_a_mean_divides_by_the_size_of_the_whole() -> None:
    check(lx.ops.column_mean(A), X.mean(0))
    assert lx.ops.column_mean(A).numblocks == (3,)


def test_places_and_running_sums_count_from_the_first_block() -> None:
    values, places = lx.ops.row_argmax(A)
    check(values, X.max(1))
    np.testing.assert_array_equal(places.compute(), X.argmax(1))
    check(lx.ops.row_cumulative_sum(A), X.cumsum(1))
    assert lx.ops.row_cumulative_sum(A).numblocks == (4, 1)


def test_windows_are_whole_and_the_rest_is_split() -> None:
    images, kernels = RNG.random((4, 7, 7, 3)), RNG.random((3, 3, 3, 5))
    cut = da.from_array(images, chunks=(2, 4, 4, 2))
    made = lx.ops.conv_2d_nhwc_hwcf(cut, kernels)
    assert made.numblocks == (2, 1, 1, 1)
    check(made, lx.ops.conv_2d_nhwc_hwcf(images, kernels))


@pytest.mark.parametrize("shape", [(), (0, 4), (4, 0), (1, 1)])
def test_arrays_without_or_of_few_elements(shape: tuple[int, ...]) -> None:
    check(lx.ops.exp(da.ones(shape, chunks=1)), np.exp(np.ones(shape)))
    if shape:
        check(lx.ops.row_sum(da.ones(shape, chunks=2)), np.ones(shape).sum(1))


def test_chunks_without_elements() -> None:
    cut = da.from_array(X, chunks=((0, 3, 0, 7), (12,)))
    assert 0 in cut.chunks[0]
    check(lx.ops.matmul(cut, B), X @ Y)


def test_numbers_and_arrays_of_rank_0_are_scalars() -> None:
    check(lx.ops.mul(A, 2.0), 2 * X)
    check(lx.ops.mul(A, da.from_array(np.array(2.0))), 2 * X)
    check(lx.ops.tril(A, 1), np.tril(X, 1))


def test_the_same_call_is_the_same_tasks() -> None:
    assert lx.ops.matmul(A, B).name == lx.ops.matmul(A, B).name
    assert lx.ops.matmul(A, B).name != lx.ops.matmul(A, B + 1).name
    assert lx.ops.mul(A, 2.0).name != lx.ops.mul(A, 3.0).name


def test_a_block_is_one_thread_unless_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []

    def call(op: Any, *operands: Any, **keywords: Any) -> Any:
        said.append(keywords["threads"])
        return operands[0]

    monkeypatch.setattr(StructuredOp, "__call__", call)
    call_on_dask(lx.ops.exp, (A,), {}).compute()
    assert set(said) == {1}
    call_on_dask(lx.ops.exp, (A,), {"threads": 3}).compute()
    assert set(said) == {1, 3}


UNKNOWN = A[A[:, 0] > 0.5]


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: lx.ops.matmul(A, A), ShapeError, "dimension k is 12 for A"),
        (lambda: lx.ops.matmul(UNKNOWN, B), ShapeError, "compute_chunk_sizes"),
        (lambda: lx.ops.matmul(A, B, out=X), ArgumentError, r"dask.array.store"),
        (lambda: lx.ops.matmul(A, B, thread=1), ArityError, "did you mean threads"),
        (lambda: lx.ops.matmul(A, B, threads=0), ArgumentError, "threads is 0"),
        (lambda: lx.ops.matmul(A.astype(object), B), DTypeError, "matmul: A: dtype object"),
        (lambda: lx.ops.matmul(delayed(X), B), ArgumentTypeError, "from_delayed"),
        (lambda: lx.ops.tril(A, A), ShapeError, "offset is a scalar"),
        (lambda: lx.ops.add(A, np.ones(2)), ShapeError, "rhs has shape"),
        (lambda: lx.ops.add(A, "x"), DTypeError, "rhs is 'x'"),
    ],
)
def test_a_mistake_is_found_before_anything_runs(
    call: Callable[[], Any], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says) as caught:
        call()
    assert __file__.rpartition("/")[2] in str(caught.value)  # the line of the mistake


def test_what_must_be_whole_is_refused_where_it_is_large() -> None:
    images = da.ones((2, 6000, 6000, 3), chunks=(1, 1000, 1000, 3))
    with pytest.raises(
        ShapeError, match=r"I would be in blocks of 824 MiB: its axis 1, 2"
    ) as caught:
        lx.ops.conv_2d_nhwc_hwcf(images, np.ones((3, 3, 3, 5)))
    assert "oh * SH + kh * DH" in str(caught.value)
    assert "'array.chunk-size': '824MiB'" in str(caught.value)
    with dask.config.set({"array.chunk-size": "824MiB"}):
        assert lx.ops.conv_2d_nhwc_hwcf(images, np.ones((3, 3, 3, 5))).shape == (2, 5998, 5998, 5)
    # Who has made it whole wants it so.
    whole = images.rechunk((1, -1, -1, 3))
    assert lx.ops.conv_2d_nhwc_hwcf(whole, np.ones((3, 3, 3, 5))).numblocks == (2, 1, 1, 1)
