"""Einsums of narrow arrays that come again: the same result, from a kernel of their own."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.compiler.einsum import kernels


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call of a contraction is compiled."""
    monkeypatch.setattr(kernels, "SPECIALIZING_PAYS", 2 * kernels.CALL)
    monkeypatch.setattr(kernels, "_narrow", kernels.KernelsThatPay())


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        (ml_dtypes.bfloat16, {}),
        (np.float16, {}),
        (ml_dtypes.bfloat16, {"dtype": np.float32}),
        (np.float16, {"compute_type": np.float32}),
        (np.int8, {"dtype": np.int32}),
        (np.int16, {"dtype": np.int32, "order": "F"}),
    ],
)
@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("mk,kn->mn", [(51, 33), (33, 40)]),
        ("bmk,bnk->nbm", [(3, 20, 30), (3, 17, 30)]),
        ("mk,k->m", [(30, 70), (70,)]),
        ("ij,kj->k", [(30, 40), (50, 40)]),
        ("m,n->mn", [(40,), (50,)]),
        ("ii,ij->j", [(30, 30), (30, 40)]),
    ],
)
def test_every_call_gives_the_same(
    dtype: Any, wanted: dict[str, Any], subscripts: str, shapes: list[tuple[int, ...]]
) -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, shape).astype(dtype) for shape in shapes)
    first = lx.einsum(subscripts, a, b, **wanted)
    assert not kernels._narrow
    for _ in range(2):
        again = lx.einsum(subscripts, a, b, **wanted)
        assert (again.dtype, again.strides) == (first.dtype, first.strides)
        np.testing.assert_array_equal(again, first)
    assert len(kernels._narrow) == 1


def test_strides_and_unsigned_integers_go_another_way() -> None:
    a, b = np.ones((40, 40), np.int8), np.ones((40, 40), np.uint8)
    for _ in range(3):
        lx.einsum("mk,kn->mn", a.T, a, dtype=np.int32)
        lx.einsum("mk,kn->mn", a, b, dtype=np.int32)
        lx.einsum("mk,kn->mn", a, a)
    assert not kernels._narrow
