"""Code for any array library, by the namespace that an array names."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, TraceError
from linalg_ext.tracing.functions import array_api
from traced_functions import check, random


def test_the_namespace_is_numpys() -> None:
    def compute(x: Any, y: Any) -> Any:
        xp = x.__array_namespace__()
        return (
            xp.concat([x, y], axis=0),
            xp.permute_dims(x, (1, 0)),
            xp.astype(x, xp.float64),
            xp.matrix_transpose(x),
            xp.vecdot(x, y),
            xp.sum(x, axis=0),
            xp.cumulative_sum(x, axis=1),
            xp.acos(xp.clip(x, -1, 1)),
            xp.pow(xp.abs(x), 2.0),
            xp.bitwise_left_shift(xp.astype(x, xp.int32), 2),
            xp.where(x > 0, x, y),
            xp.linalg.vector_norm(x),
            xp.linalg.matmul(x, xp.matrix_transpose(y)),
            xp.std(x, correction=1),
            xp.tril(x),
            xp.take(x, np.array([0, 2]), axis=1),
            xp.isdtype(x.dtype, "real floating"),
            *xp.unstack(x),
        )

    check(compute, random(3, 4), random(3, 4, seed=1))


def test_new_arrays() -> None:
    def compute(x: Any) -> Any:
        xp = x.__array_namespace__()
        return (
            x + xp.arange(4, dtype=xp.float32),
            xp.zeros((2, 3)),
            xp.full((2,), 7),
            xp.eye(3, k=1),
            xp.linspace(0, 1, 5),
            xp.ones_like(x),
            xp.asarray([1, 2, 3]),
        )

    check(compute, random(4))


def test_new_arrays_of_open_sizes() -> None:
    def compute(x: Any) -> Any:
        xp = x.__array_namespace__()
        (size,) = x.shape
        return x * xp.arange(size), xp.eye(size) @ x, xp.zeros(size) + 1, xp.linspace(0, 1, size)

    function = lx.jit(compute, dynamic=True)
    for size in (3, 6):
        x = random(size, dtype=np.float64)
        for found, expected in zip(function(x), compute(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_the_namespace_lacks_says_so() -> None:
    with pytest.raises(TraceError, match="no 'unique_values'"):
        lx.jit(lambda x: x.__array_namespace__().unique_values(x))(random(3))


def test_numbers_beside_arrays_devices_lists_and_signatures() -> None:
    def compute(x: Any) -> Any:
        xp = x.__array_namespace__()
        grid = xp.meshgrid(x, x)
        assert isinstance(grid, list)
        assert xp.from_dlpack(x) is x
        assert isinstance(xp.broadcast_arrays(x, x), list)
        with pytest.raises(ArgumentError, match="gpu"):
            xp.zeros(3, device="gpu")
        return (
            xp.floor_divide(7, x),
            xp.add(1, 2),
            xp.zeros(3, device="cpu"),
            xp.clip(x, max=2),
            xp.vecdot(x, x, axis=0),
            *grid,
        )

    found = lx.jit(compute)(np.array([1, 2, 3], np.int32))
    expected = ([7, 3, 2], 3, [0.0] * 3, [1, 2, 2], 14)
    for one, other in zip(found, expected, strict=False):
        np.testing.assert_array_equal(one, other)
    assert [one.dtype for one in found[:4]] == [np.int32, np.int64, np.float64, np.int32]
    assert "device" in inspect.signature(array_api.zeros_like).parameters
    assert "keepdims" in inspect.signature(array_api.sum).parameters
