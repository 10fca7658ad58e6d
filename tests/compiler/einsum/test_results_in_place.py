"""Results that lie otherwise than row by row: computed where they belong, and not copied there."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx

SPEC = "afbce,df->edcba"
SHAPES = (16, 20, 8, 9, 24), (8, 20)

CALLS = 70
"""After so many a sum of this size has a kernel of its own."""


def operands() -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    random = np.random.default_rng(0)
    return [random.integers(-4, 5, shape).astype(np.float32) for shape in SHAPES]


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("a result was copied")


@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_a_new_result_is_not_copied(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = operands()
    expected = np.einsum(SPEC, *arrays)
    for _ in range(CALLS):
        lx.einsum(SPEC, *arrays, order=order)
    monkeypatch.setattr(np, "ascontiguousarray", refuse)
    found = lx.einsum(SPEC, *arrays, order=order)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("axes", [(1, 2, 3, 4, 0), (4, 3, 2, 1, 0), (0, 1, 2, 4, 3)])
def test_out_is_written_in_its_own_order(
    axes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = operands()
    expected = np.einsum(SPEC, *arrays)
    shape = tuple(expected.shape[axis] for axis in axes)
    out = np.full(shape, np.nan, np.float32).transpose(np.argsort(axes))
    for _ in range(CALLS):
        lx.einsum(SPEC, *arrays, out=out)
    out[...] = np.nan
    monkeypatch.setattr(np, "copyto", refuse)
    assert lx.einsum(SPEC, *arrays, out=out) is out
    monkeypatch.undo()
    np.testing.assert_array_equal(out, expected)


def test_out_with_gaps_is_filled() -> None:
    arrays = operands()
    expected = np.einsum(SPEC, *arrays)
    room = np.full((*expected.shape[:-1], 20), 7, np.float32)
    out = room[..., 2 : 2 + expected.shape[-1]]
    lx.einsum(SPEC, *arrays, out=out)
    np.testing.assert_array_equal(out, expected)
    out[...] = 7
    assert (room == 7).all()
