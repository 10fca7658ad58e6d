"""Einsums of a few elements, which are NumPy's from the start: what kernels give, our errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.compiler.einsum.api import in_numpy

CASES = [
    ("i,j->ij", [(3,), (4,)]),
    ("ij,ij->ij", [(3, 4), (3, 4)]),
    ("ij,j->ji", [(3, 4), (4,)]),
    ("ij->ji", [(3, 4)]),
    ("ii->i", [(3, 3)]),
    ("ii->", [(3, 3)]),
    ("ij->", [(3, 4)]),
    ("ij -> j", [(0, 4)]),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint64])
@pytest.mark.parametrize(("text", "shapes"), CASES)
def test_they_are_numpys(text: str, shapes: list[tuple[int, ...]], dtype: Any) -> None:
    arrays = [np.arange(np.prod(shape)).reshape(shape).astype(dtype) for shape in shapes]
    assert in_numpy([text, *arrays]) is not NotImplemented
    result, expected = lx.einsum(text, *arrays), lx.einsum(text, *arrays, backend="kernel")
    np.testing.assert_array_equal(result, expected)
    assert (type(result), result.dtype) == (type(expected), expected.dtype)
    assert np.shares_memory(result, arrays[0]) == np.shares_memory(expected, arrays[0])


@pytest.mark.parametrize(
    "operands",
    [
        ("ij,jk->ik", np.ones((3, 4)), np.ones((4, 5))),  # for which a kernel comes
        ("i,j->ij", np.ones(3), np.ones(4, np.float32)),
        ("i,j->ij", np.ones(100), np.ones(100)),
        ("i,j", np.ones(3), np.ones(4)),
        ("i...->i...", np.ones((3, 4))),
        ("i,j->ij", np.ones(3, np.int8), np.ones(3, np.int8)),
        ("i,j->ij", np.ones(3), [1.0, 2.0]),
        ("i,j->ij", np.ones(3, ">f8"), np.ones(3, ">f8")),
        ("i,j,k->ijk", np.ones(3), np.ones(4), np.ones(2)),
    ],
)
def test_what_takes_a_closer_look(operands: tuple[Any, ...]) -> None:
    assert in_numpy(operands) is NotImplemented
    expected = lx.einsum(*operands, backend="kernel")
    np.testing.assert_array_equal(lx.einsum(*operands), expected)


@pytest.mark.parametrize("text", ["ij,jk->ijk", "ij->k", "i,j->iij", "i1->i"])
def test_mistakes_are_told_by_errors_of_ours(text: str) -> None:
    arrays = [np.ones((2, 3)), np.ones((4, 5))][: text.count(",") + 1]
    with pytest.raises(lx.errors.LinalgExtError):
        lx.einsum(text, *arrays)
