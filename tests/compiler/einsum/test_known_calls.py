"""Contractions that come again: compiled for themselves, and called without detours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.compiler.einsum import kernels, memo
from linalg_ext.errors import LayoutError, TargetError
from linalg_ext.utils.recent import CallCache


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known, and everything is compiled at its first call."""
    monkeypatch.setattr(kernels, "SPECIALIZING_PAYS", 1)
    monkeypatch.setattr(kernels, "_specialized", kernels.KernelsThatPay())
    monkeypatch.setattr(memo, "_calls", CallCache(memo._MOST_CALLS))


def integers(*shape: int, dtype: str = "f4") -> Any:
    return np.random.default_rng(list(shape)).integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("mk,kn->mn", [(30, 40), (40, 50)]),
        ("mk,nk->nm", [(30, 40), (50, 40)]),
        ("adb,cd->cba", [(9, 8, 7), (20, 8)]),
        ("bmk,bkn", [(3, 16, 16), (3, 16, 16)]),
        ("ij,ij->", [(30, 40), (30, 40)]),
        ("mk,kn->mn", [(30, 1), (1, 50)]),
        ("mm,mn->mn", [(30, 30), (30, 50)]),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_same_as_numpy_each_time(text: str, shapes: list[Any], dtype: str) -> None:
    for turn in range(3):
        operands = [integers(*shape, dtype=dtype) + turn for shape in shapes]
        expected = np.einsum(text, *operands)
        np.testing.assert_array_equal(lx.einsum(text, *operands), expected)
        out = np.full(expected.shape, np.nan, dtype)
        assert lx.einsum(text, *operands, out=out) is out
        np.testing.assert_array_equal(out, expected)


def test_the_second_call_goes_straight_to_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = integers(30, 40), integers(40, 50)
    lx.einsum("mk,kn->mn", a, b)
    monkeypatch.setattr(
        "linalg_ext.compiler.einsum.general.evaluate", None
    )  # the long way is closed
    np.testing.assert_array_equal(lx.einsum("mk,kn->mn", a, b), a @ b)


@pytest.mark.parametrize("change", ["shape", "strides", "dtype"])
def test_other_arrays_are_another_call(change: str) -> None:
    a, b = integers(40, 40), integers(40, 40)
    lx.einsum("mk,kn->mn", a, b)
    other = {
        "shape": integers(41, 40),
        "strides": a.T,
        "dtype": a.astype("f8"),
    }[change]
    np.testing.assert_array_equal(lx.einsum("mk,kn->mn", other, b), other @ b)


def test_an_out_that_is_an_operand() -> None:
    a, b = integers(40, 40), integers(40, 40)
    for _ in range(2):
        expected = a @ b
        lx.einsum("mk,kn->mn", a, b, out=a)
        np.testing.assert_array_equal(a, expected)


def test_an_out_that_is_strided_or_read_only() -> None:
    a, b = integers(40, 40), integers(40, 40)
    lx.einsum("mk,kn->mn", a, b)
    lx.einsum("mk,kn->mn", a, b, out=np.empty((40, 40), "f4"))
    out = np.empty((40, 80), "f4")[:, ::2]
    lx.einsum("mk,kn->mn", a, b, out=out)
    np.testing.assert_array_equal(out, a @ b)
    out = np.empty((40, 40), "f4")
    out.flags.writeable = False
    with pytest.raises(LayoutError, match="read-only"):
        lx.einsum("mk,kn->mn", a, b, out=out)


@pytest.mark.parametrize("text", ["bmk,bkn->bmn", "bmk,bkn->nmb"])
def test_results_lie_as_those_of_the_first_call(text: str) -> None:
    """The order of a result follows the operands, and a kernel writes one order alone."""
    for axes in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        a, b = integers(20, 20, 20).transpose(axes), integers(20, 20, 20).transpose(axes)
        expected = lx.einsum(text, a, b, optimize=False)
        for _ in range(3):
            ours = lx.einsum(text, a, b)
            assert ours.strides == expected.strides
            np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("order", ["K", "C", "F", "A"])
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("adb,cd->cba", [(9, 8, 7), (20, 8)]),
        ("acd,db->cba", [(9, 8, 7), (7, 20)]),
        ("cged,bafg->fedcba", [(2, 5, 3, 4), (6, 7, 3, 5)]),
        ("mk,kn->nm", [(30, 40), (40, 50)]),
    ],
)
def test_what_lies_in_another_order_is_not_copied_into_it(
    text: str, shapes: list[Any], order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    operands = [integers(*shape) for shape in shapes]
    expected = np.einsum(text, *operands, order=order)  # type: ignore[call-overload]
    monkeypatch.setattr("linalg_ext.compiler.einsum.general.np.ascontiguousarray", None)
    for _ in range(3):
        result = lx.einsum(text, *operands, order=order)
        np.testing.assert_array_equal(result, expected)
        assert result.strides == lx.einsum(text, *operands, order=order).strides
        if order != "K":
            assert result.strides == expected.strides


def test_kernels_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_MOST_KERNELS", 2)
    monkeypatch.setattr(kernels, "_specialized", kernels.KernelsThatPay())
    for size in (16, 17, 18):
        lx.einsum("mk,kn->mn", integers(size, 20), integers(20, 30))
    assert len(kernels._specialized) == 2


def test_a_known_call_is_known_for_one_target() -> None:
    a = np.ones((256, 256), np.float32)
    for _ in range(4):
        lx.einsum("ij,jk->ik", a, a)
    with lx.target.using("aarch64-neon"), pytest.raises(TargetError):
        lx.einsum("ij,jk->ik", a, a)
