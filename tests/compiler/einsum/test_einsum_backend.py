"""`backend=`: when NumPy may compute in the place of a kernel, and what is told of it."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.compiler.einsum import kernels
from linalg_ext.errors import ArgumentError

RANDOM = np.random.default_rng(8)
COMPUTING = ("einsum", "matmul", "dot", "multiply", "add", "sum", "maximum", "minimum", "tensordot")
CASES = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
    ("k,k->", [(70,), (70,)]),
    ("bk,bk->b", [(3, 70), (3, 70)]),
    ("i,j->ij", [(3,), (4,)]),
    ("ij,ij->ij", [(3, 4), (3, 4)]),
    ("ij->i", [(3, 133)]),
    ("ii->", [(5, 5)]),
    ("...j,j->...", [(2, 3, 4), (4,)]),
]


def _arrays(shapes: list[tuple[int, ...]], dtype: str) -> list[Any]:
    return [RANDOM.integers(-3, 4, shape).astype(dtype) for shape in shapes]


class _Counted:
    """Functions of NumPy that say when they are called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        for name in COMPUTING:
            monkeypatch.setattr(np, name, self._counted(name, getattr(np, name)))

    def _counted(self, name: str, function: Callable[..., Any]) -> Any:
        if isinstance(function, np.ufunc):
            return _CountedUfunc(self.calls, name, function)

        @functools.wraps(function)
        def counted(*args: Any, **keywords: Any) -> Any:
            self.calls.append(name)
            return function(*args, **keywords)

        return counted


class _CountedUfunc:
    def __init__(self, calls: list[str], name: str, ufunc: np.ufunc) -> None:
        self._calls, self._name, self._ufunc = calls, name, ufunc

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        self._calls.append(self._name)
        return self._ufunc(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        self._calls.append(f"{self._name}.{name}")
        return getattr(self._ufunc, name)


@pytest.mark.parametrize("dtype", ["f4", "i8", "c8"])
@pytest.mark.parametrize(("text", "shapes"), CASES)
def test_a_kernel_computes_all_of_it(
    text: str, shapes: list[tuple[int, ...]], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = _arrays(shapes, dtype)
    expected = np.einsum(text, *arrays)
    with lx.options(backend="kernel"):
        lx.einsum(text, *arrays)  # compiled here, with what the compiler asks of NumPy
        counted = _Counted(monkeypatch)
        result = lx.einsum(text, *arrays)
        monkeypatch.undo()
    assert counted.calls == []
    np.testing.assert_array_equal(result, expected)
    assert (type(result), result.dtype) == (type(expected), expected.dtype)


def test_numpy_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = _Counted(monkeypatch)
    lx.einsum("i,j->ij", np.ones(3), np.ones(4))
    assert counted.calls == ["einsum"]


def test_the_argument_goes_before_the_option() -> None:
    a = np.ones((3, 4))
    with lx.options(backend="kernel") as in_force:
        assert in_force.backend == "kernel"
        assert lx.einsum("ij->", a, backend="auto") == 12
    assert lx.Options.current().backend == "auto"


@pytest.mark.parametrize("backend", ["numpy", "", 1, True])
def test_what_is_no_backend(backend: Any) -> None:
    with pytest.raises(ArgumentError, match=r"expected 'auto', .* or 'kernel'"):
        lx.einsum("ij->", np.ones((3, 4)), backend=backend)
    with pytest.raises(ArgumentError, match="backend is"), lx.options(backend=backend):
        pass


@pytest.mark.parametrize("order", "CFAK")
def test_order_and_out_hold_for_kernels(order: Any) -> None:
    a, b = _arrays([(3, 4), (4, 5)], "f4")
    got = lx.einsum("ij,jk->ki", a.T.copy().T, b, order=order, backend="kernel")
    want = np.einsum("ij,jk->ki", a.T.copy().T, b, order=order)
    assert got.strides == want.strides
    np.testing.assert_array_equal(got, want)
    out = np.zeros((5, 6), "f8")[:, ::2]
    assert lx.einsum("ij,jk->ki", a, b, out=out, backend="kernel") is out
    np.testing.assert_array_equal(out, want)


def test_a_kernel_gives_the_same_bits_however_often_it_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And whatever the library has compiled meanwhile for calls that leave it the choice."""
    monkeypatch.setattr(kernels, "COMPILING_PAYS", 1)
    monkeypatch.setattr(kernels, "SPECIALIZING_PAYS", 3 * kernels.CALL)
    a, b = RANDOM.random((2, 40, 1003)).astype("f4")
    text = "ik,jk->ij"
    first = lx.einsum(text, a, b, backend="kernel")
    for _ in range(4):
        lx.einsum(text, a, b)
        with lx.options(backend="kernel"):
            assert (lx.einsum(text, a, b) == first).all()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u8"])
def test_inner_products_that_come_often_get_a_kernel(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "SPECIALIZING_PAYS", 3 * kernels.CALL)
    a, b = RANDOM.integers(0, 3, (2, 1025)).astype(dtype)
    for _ in range(4):
        assert lx.einsum("k,k->", a, b) == int(a.astype("i8") @ b.astype("i8"))
    counted = _Counted(monkeypatch)
    lx.einsum("k,k->", a, b)
    assert counted.calls == []


@pytest.mark.parametrize(
    ("text", "shapes", "reason"),
    [
        ("i,j->ij", [(3,), (4,)], "'i,j->ij': of so few elements no kernel would come"),
        ("i,j", [(300,), (400,)], "products of elements: nothing is summed"),
        ("k,k->", [(70,), (70,)], "inner products, 1 of 70 elements: a kernel comes once"),
        ("ij,jk->ik", [(3, 4), (4, 5)], "60 products of float64 in the form 'contract': a kernel"),
        ("ij->j", [(300, 40)], "12000 products of float64 in the form 'reduce': a kernel for them"),
    ],
)
def test_the_log_tells_what_numpy_computes(
    text: str,
    shapes: list[tuple[int, ...]],
    reason: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for table in ("_nests", "_specialized"):
        monkeypatch.setattr(kernels, table, kernels.KernelsThatPay())
    arrays = _arrays(shapes, "f8")
    caplog.set_level(logging.INFO, "linalg_ext.fallbacks")
    lx.einsum(text, *arrays)
    (record,) = caplog.records
    assert record.getMessage().startswith(f"einsum: NumPy computes {reason}")
    caplog.clear()
    lx.einsum(text, *arrays, backend="kernel")
    assert not any("NumPy computes" in each.getMessage() for each in caplog.records)
