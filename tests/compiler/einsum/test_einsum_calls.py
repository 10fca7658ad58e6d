"""einsum on arrays: dtypes, compute types, kinds, `out`, views, and when it compiles."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from einsum_ways import WAYS, computed
from linalg_ext.compiler.einsum import kernels

RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("way", WAYS)
def test_small_integers_wrap_around_as_in_numpy(way: str) -> None:
    a = RANDOM.integers(-128, 127, (40, 300)).astype(np.int8)
    with computed(way):
        got = lx.einsum("ij,kj->ik", a, a)
    np.testing.assert_array_equal(got, np.einsum("ij,kj->ik", a, a))


def test_compute_type_is_what_is_summed_in() -> None:
    a = np.full((2, 300), 100, np.int8)
    wide = lx.einsum("ij,kj->ik", a, a, compute_type=np.int32, dtype=np.int32)
    assert wide.dtype == np.int32
    assert wide.tolist() == [[3_000_000] * 2] * 2
    assert lx.einsum("ij->i", a, compute_type="i4").dtype == np.int8  # cast back once


@pytest.mark.parametrize("way", WAYS)
def test_a_narrow_compute_type_holds_no_more_than_it_can(way: str) -> None:
    thousands = np.full(300, 1000, np.float32)
    with computed(way):
        assert lx.einsum("i->", thousands, compute_type=np.float16) == np.inf
        assert lx.einsum("i->", thousands) == 300_000


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "dtype", [np.dtype(x) for x in (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2)]
)
def test_narrow_floats_are_summed_in_float32_and_rounded_once(
    dtype: np.dtype[Any], way: str
) -> None:
    a, b = RANDOM.random((7, 500)).astype(dtype), RANDOM.random((500, 9)).astype(dtype)
    want = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32).astype(dtype)
    with computed(way):
        got = lx.einsum("ij,jk->ik", a, b)
    assert got.dtype == dtype
    np.testing.assert_allclose(
        got.astype(np.float64), want.astype(np.float64), rtol=float(ml_dtypes.finfo(dtype).eps)
    )


def test_four_bit_integers() -> None:
    a = np.array([1, 2, 3], ml_dtypes.int4)
    assert lx.einsum("i,i->", a, a) == np.int32(14 - 16)


def test_booleans_are_or_and_and() -> None:
    a = RANDOM.random((5, 6)) > 0.7
    got = lx.einsum("ij,kj->ik", a, a)
    assert got.dtype == np.bool_
    np.testing.assert_array_equal(got, (a.astype(int) @ a.T.astype(int)) > 0)


@pytest.mark.parametrize("way", WAYS)
def test_booleans_made_of_raw_bytes(way: str) -> None:
    raw = np.array([[0, 2, 4], [1, 0, 0]], np.uint8).view(np.bool_)
    with computed(way):
        got = lx.einsum("ij,jk->ik", raw, np.ones((3, 9), np.bool_))
    assert got.view(np.uint8).tolist() == [[1] * 9] * 2


def test_or_and_reads_the_truth_of_any_elements() -> None:
    a = np.array([[0.5, 0], [0, 0]])
    assert lx.einsum("ij->i", a, kind="or and").tolist() == [True, False]
    assert lx.einsum("ij->i", a, kind="(or, and)", dtype="i4").tolist() == [1, 0]


def test_shortest_paths() -> None:
    inf = np.inf
    edges = np.array([[0, 1, inf], [inf, 0, 2], [5, inf, 0]])
    two = lx.einsum("ij,jk->ik", edges, edges, kind="min+")
    assert two.tolist() == [[0, 1, 3], [7, 0, 2], [5, 6, 0]]


def test_the_greatest_product_of_negative_numbers() -> None:
    a, b, c = np.array([-2.0, 1]), np.array([[3.0, -5], [1, 1]]), np.array([-1.0, 4])
    want = max(a[i] * b[i, j] * c[j] for i in range(2) for j in range(2))
    assert lx.einsum("i,ij,j->", a, b, c, kind="max*") == want
    assert lx.einsum("i,j->", a, c, kind="max*") == 4


@pytest.mark.parametrize(
    ("kind", "dtype", "zero"),
    [("+*", "f4", 0), ("max+", "f4", -np.inf), ("min+", "i2", 32767), ("max*", "u1", 0)],
)
def test_a_reduction_over_nothing_gives_the_neutral_element(
    kind: str, dtype: str, zero: float
) -> None:
    empty = np.ones((2, 0), dtype)
    assert lx.einsum("ij,j->i", empty, empty[0], kind=kind).tolist() == [zero, zero]


def test_out_decides_the_dtype_as_in_numpy() -> None:
    a = np.full(10, 200, np.uint8)
    out = np.zeros((), np.int64)
    assert lx.einsum("i->", a, out=out) is out
    assert out == np.einsum("i->", a, out=np.zeros((), np.int64)) == 2000


@pytest.mark.parametrize("way", WAYS)
def test_out_may_be_an_operand(way: str) -> None:
    a = RANDOM.random((20, 20))
    want = a @ a.T
    with computed(way):
        assert lx.einsum("ij,kj->ik", a, a, out=a) is a
    np.testing.assert_allclose(a, want)


def test_a_view_is_writable_and_a_copy_is_not_shared() -> None:
    matrix = np.zeros((3, 3))
    lx.einsum("ii->i", matrix)[...] = 1
    np.testing.assert_array_equal(matrix, np.eye(3))
    assert not np.shares_memory(lx.einsum("ij->ji", matrix, order="C"), matrix)
    assert not np.shares_memory(lx.einsum("ij->ji", matrix, dtype="c16"), matrix)


def test_other_byte_orders_are_read() -> None:
    a = RANDOM.random((3, 4)).astype(">f8")
    got = lx.einsum("ij,kj->ik", a, a)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, np.einsum("ij,kj->ik", a, a))


def test_numbers_and_lists_are_operands() -> None:
    assert lx.einsum(",i,->", 2, [1, 2, 3], 0.5) == 6.0
    assert isinstance(lx.einsum("i->", [1, 2]), np.int64)


def test_interleaved_with_numpy_integers() -> None:
    a, b = RANDOM.random((2, 3)), RANDOM.random((3, 4))
    got = lx.einsum(a, np.array([0, 51]), b, [51, np.int8(2)], [2, 0])
    np.testing.assert_allclose(got, (a @ b).T)


def test_an_array_its_labels_and_those_of_the_result() -> None:
    """Three arguments, as a text and two arrays are."""
    a = RANDOM.random((2, 3))
    np.testing.assert_allclose(lx.einsum(a, [0, 1], [0]), a.sum(1))
    assert (lx.einsum(a, [0, 1], [1, 0]) == a.T).all()
    assert lx.einsum(a, [0, 1], []).shape == ()
    np.testing.assert_allclose(lx.einsum([1.0, 2.0], [0], []), 3.0)
    out = np.empty(3)
    assert lx.einsum(a, [0, 1], [1], out=out) is out
    np.testing.assert_allclose(out, a.sum(0))


@pytest.mark.parametrize("text", ["ij->j", "ij->ji", "ij->", "ii->i", "ij->ij"])
def test_a_path_without_steps_leads_from_one_operand(text: str) -> None:
    a = RANDOM.random((3, 3))
    got = lx.einsum(text, a, optimize=["einsum_path"])
    np.testing.assert_allclose(got, np.einsum(text, a))


def test_twelve_operands() -> None:
    matrices = [RANDOM.random((3, 3)) for _ in range(12)]
    letters = "abcdefghijklm"
    text = ",".join(letters[n : n + 2] for n in range(12)) + "->am"
    np.testing.assert_allclose(
        lx.einsum(text, *matrices), np.linalg.multi_dot(matrices), rtol=1e-10
    )


def test_small_calls_share_their_way_to_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_nests", kernels.KernelsThatPay())
    monkeypatch.setattr(kernels, "COMPILING_PAYS", 3 * 8 * 9 * 10)
    for size in (8, 8):
        lx.einsum("ij,jk->ik", np.ones((size, 9)), np.ones((9, 10)))
        assert not kernels._nests
    lx.einsum("ij,jk->ik", np.ones((8, 9)), np.ones((9, 10)))
    double = np.dtype(np.float64)
    assert list(kernels._nests) == [("contract", ("k", "n"), "+*", double, None, ())]
    lx.einsum("bij,bjk->bik", np.ones((2, 30, 9)), np.ones((2, 9, 11)))
    assert len(kernels._nests) == 1  # other sizes, the same kernel


def test_a_call_that_needs_no_kernel_loads_no_mlir() -> None:
    program = """
import sys
import numpy as np
import linalg_ext as lx

x = np.arange(6.0).reshape(2, 3)
assert (lx.einsum("ij,kj->ik", x, x) == x @ x.T).all()
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"mlir", "torch_mlir"}, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True)
