"""`lx.contract` on arrays, on traced values and on MLIR values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import func, ir
from linalg_ext.errors import ArgumentError, ArityError, ShapeError
from linalg_ext.ir.context import new_context

A = np.arange(6.0).reshape(2, 3)
B = np.arange(12.0).reshape(3, 4)
C = np.arange(8.0).reshape(4, 2)
MAPS = ["(i, j, k) -> (i, k)", "(m, n, k) -> (k, n)", "(i, j, k) -> (j, i)"]


def test_on_arrays() -> None:
    np.testing.assert_array_equal(lx.contract(A, B, C, maps="ij,jk,kl->il"), A @ B @ C)
    np.testing.assert_array_equal(lx.contract(A, B, maps=MAPS), (A @ B).T)
    shortest = np.min(A[:, :, None] + B, axis=1)
    np.testing.assert_array_equal(lx.contract(A, B, maps="ij,jk->ik", kind="min+"), shortest)


def test_in_a_compute_type() -> None:
    ones = np.full(300, 10, np.int8)
    assert lx.contract(ones, maps="i->", compute_type=np.int32) == np.int32(3000).astype(np.int8)


def test_under_jit() -> None:
    compiled = lx.jit(lambda x, y: lx.contract(x, y, maps="ij,jk->ki") + 1.0)
    np.testing.assert_array_equal(compiled(A, B), (A @ B).T + 1)


def test_on_values() -> None:
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        types = [ir.RankedTensorType.get(a.shape, ir.F64Type.get()) for a in (A, B, C)]
        result = ir.RankedTensorType.get((2, 2), ir.F64Type.get())
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", (types, [result]))
        with ir.InsertionPoint(function.add_entry_block()):
            func.ReturnOp([lx.contract(*function.arguments, maps="ij,jk,kl->il")])
        assert "linalg_ext.contract" in str(module)
        np.testing.assert_array_equal(lx.compile(module)(A, B, C), A @ B @ C)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lx.contract(A, B[:1], maps="ij,jk->ik"), ShapeError, "'j' is of size 3"),
        (lambda: lx.contract(A, maps="ij,jk->ik"), ArityError, "2 maps"),
        (lambda: lx.contract(A, B, maps="...j,jk->...k"), ArgumentError, "ellipsis"),
        (
            lambda: lx.contract(A, maps=["(i, j) -> (i + j, j)", "(i, j) -> (i)"]),
            ArgumentError,
            "index",
        ),
        (lambda: lx.contract(A, maps=["(i, j) -> (i, j)", "(i) -> (i)"]), ArgumentError, "space"),
        (lambda: lx.contract(A, maps="ij->i", overwrite=True), ArgumentError, "destination"),
    ],
)
def test_a_mistake_is_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
