"""Calls of ops with keywords, and einsums of views and of single elements, answered natively."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import LinalgExtError
from native_calls import is_native, native_caller

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module", autouse=True)
def _native() -> None:
    native_caller()


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


IMAGE, FILTERS = floats(1, 7, 7, 2), floats(3, 3, 2, 4, seed=1)
A, B, C = floats(4, 4), floats(4, 4, seed=1), floats(4, 4, seed=2)


def conv(**keywords: Any) -> Any:
    return lx.ops.conv_2d_nhwc_hwcf(IMAGE, FILTERS, **keywords)


KEYWORDS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "a list": (lambda: conv(strides=[2, 2]), lambda: conv()[:, ::2, ::2]),
    "a tuple": (lambda: conv(strides=(2, 2)), lambda: conv()[:, ::2, ::2]),
    "one integer": (lambda: conv(strides=2), lambda: conv()[:, ::2, ::2]),
    "two of them": (lambda: conv(strides=[1, 2], dilations=(1, 1)), lambda: conv()[:, :, ::2]),
    "by name": (lambda: lx.ops.matmul(A=A, B=B), lambda: A @ B),
    "in another order": (lambda: lx.ops.matmul(B=B, A=A), lambda: A @ B),
    "one by name": (lambda: lx.ops.matmul(A, B=B), lambda: A @ B),
    "an initial value": (lambda: lx.ops.matmul(A, B, init=C), lambda: A @ B + C),
    "all of it": (lambda: lx.ops.matmul(init=C, B=B, A=A), lambda: A @ B + C),
    "twice the same": (lambda: lx.ops.matmul(A=A, B=A), lambda: A @ A),
    "a dtype": (lambda: lx.ops.matmul(A, B, dtype=np.float32), lambda: A @ B),
    "a number by name": (lambda: lx.ops.mul(A, rhs=2.5), lambda: A * np.float32(2.5)),
    "a map": (lambda: lx.ops.matmul(A, B, permutation_a=[1, 0]), lambda: A.T @ B),
    "a text": (lambda: lx.ops.matmul(A, B, dtype="float32"), lambda: A @ B),
}


@pytest.mark.parametrize("kind", KEYWORDS)
def test_keywords_that_come_again_are_native(kind: str) -> None:
    call, expected = KEYWORDS[kind]
    wanted = expected()
    for _ in range(3):
        np.testing.assert_array_equal(call(), wanted)
    assert is_native(call)
    np.testing.assert_array_equal(call(), wanted)


def test_out_may_stand_anywhere_among_them() -> None:
    expected = conv(strides=[2, 1], dilations=[1, 2])
    out = np.zeros_like(expected)
    ways: list[Callable[[], Any]] = [
        lambda: conv(out=out, strides=[2, 1], dilations=[1, 2]),
        lambda: conv(strides=[2, 1], out=out, dilations=[1, 2]),
        lambda: conv(strides=[2, 1], dilations=[1, 2], out=out),
        lambda: conv(dilations=[1, 2], strides=[2, 1], out=out),
    ]
    for call in ways:
        for _ in range(3):
            out[:] = 0
            assert call() is out
            np.testing.assert_array_equal(out, expected)
        assert is_native(call)
    assert is_native(ways[0])
    none = lambda: conv(strides=[2, 1], out=None, dilations=[1, 2])  # noqa: E731
    none()
    none()
    assert is_native(none)
    np.testing.assert_array_equal(none(), expected)


OTHERS: list[dict[str, Any]] = [
    {"strides": [2, 1]}, {"strides": [1, 2]}, {"strides": (1, 2)}, {"strides": 2}, {"strides": 1},
    {"dilations": [2, 2]}, {"strides": [2, 2], "dilations": [1, 1]}, {"strides": np.array([2, 2])},
    {"strides": np.array([2, 1], np.int8)}, {"strides": [np.int64(2), 2]}, {"strides": range(1, 3)},
    {"dilations": [2, 2], "strides": [1, 1]}, {},
]  # fmt: skip
WRONG: list[dict[str, Any]] = [
    {"strides": [2]}, {"strides": [2, 2, 2]}, {"strides": []}, {"strides": [2, True]},
    {"strides": [2.0, 2]}, {"strides": [1 << 70, 2]}, {"strides": [-2, 2]}, {"strides": "22"},
    {"strides": None}, {"strides": {2: 2}}, {"strides": [[2, 2]]}, {"stride": [2, 2]},
    {"strides": True}, {"strides": np.array([2.0, 2.0])}, {"strides": [2, 2], "to": 1},
    {"strides": np.array([[2, 2]])}, {"strides": [2, None]},
]  # fmt: skip


def test_other_attributes_are_other_calls() -> None:
    """Each in turn, so that what native code knows is of the one before."""
    for _ in range(3):
        conv(strides=[2, 2])
    expected = [lx.ops.conv_2d_nhwc_hwcf.__call__(IMAGE, FILTERS, **each) for each in OTHERS]
    for _ in range(3):
        for keywords, wanted in zip(OTHERS, expected, strict=True):
            np.testing.assert_array_equal(conv(**keywords), wanted)
    spans = {"strides": (1, 1), "dilations": (1, 1)}
    for keywords, wanted in zip(OTHERS, expected, strict=True):
        step, reach = (np.broadcast_to(keywords.get(k, v), 2) for k, v in spans.items())
        sizes = [(7 - 2 * int(d) - 1) // int(s) + 1 for s, d in zip(step, reach, strict=True)]
        assert wanted.shape == (1, *sizes, 4)


@pytest.mark.parametrize("keywords", WRONG, ids=repr)
def test_wrong_attributes_are_errors_after_right_ones(keywords: dict[str, Any]) -> None:
    for _ in range(3):
        conv(strides=[2, 2])
    for _ in range(2):
        with pytest.raises(LinalgExtError):
            conv(**keywords)


def test_operands_by_name_are_told_apart() -> None:
    """The same shapes under other names are another call."""
    one, other = floats(3, 3, seed=3), floats(3, 3, seed=4)
    for _ in range(3):
        np.testing.assert_array_equal(lx.ops.sub(lhs=one, rhs=other), one - other)
        np.testing.assert_array_equal(lx.ops.sub(rhs=one, lhs=other), other - one)
        np.testing.assert_array_equal(lx.ops.sub(one, rhs=other), one - other)
    for wrong in ({"lhs": one}, {"lhs": one, "lower": one}, {"lhs": one, "rhs": other[:2]}):
        with pytest.raises(LinalgExtError):
            cast(Any, lx.ops.sub)(**wrong)
    with pytest.raises(LinalgExtError):
        cast(Any, lx.ops.sub)(one, lhs=one)


def test_an_initial_value_is_not_written_and_may_be_the_result() -> None:
    start = C.copy()
    for _ in range(3):
        lx.ops.matmul(A, B, init=start)
    np.testing.assert_array_equal(start, C)
    with pytest.raises(LinalgExtError, match="shares memory"):
        lx.ops.matmul(A, B, init=start, out=start)


def test_what_needs_a_copy_or_a_cast_stays_right() -> None:
    """These are known, too, but go through Python."""
    whole = A.astype(np.int32)
    inputs: list[tuple[Any, Any]] = [
        (A.T, B), (A[::-1], B), (whole, B), (A, whole), (np.broadcast_to(A[0], (4, 4)), B),
        (whole.T, whole.astype(np.float64)),
    ]  # fmt: skip
    for _ in range(3):
        for one, other in inputs:
            made = lx.ops.matmul(one, other)
            np.testing.assert_array_equal(made, one @ other)
            assert made.dtype == (one @ other).dtype
    over = C.copy()
    for _ in range(3):
        before = over.copy()
        assert lx.ops.add(over, B, out=over) is over
        np.testing.assert_array_equal(over, before + B)


def test_references_are_balanced() -> None:
    strides, out = [2, 2], conv(strides=[2, 2])
    things: list[Any] = [strides, out, IMAGE, FILTERS, A, B, C, 2.5]

    def work(times: int) -> None:
        for _ in range(times):
            conv(out=out, strides=strides)
            conv(strides=strides)
            lx.ops.matmul(A=A, B=B, init=C)
            lx.einsum("ij,ij->", A, B)

    work(150)
    gc.collect()
    before = [sys.getrefcount(thing) for thing in things], sys.getallocatedblocks()
    work(2000)
    gc.collect()
    assert [sys.getrefcount(thing) for thing in things] == before[0]
    assert sys.getallocatedblocks() - before[1] < 500


SINGLE = [
    ("ij,jk->ik", A[:1], B), ("ij,jk->ik", A, B[:, :1]), ("ij,jk->ik", A[:1], B[:, 2:3]),
    ("ij,jk->ki", A[:1].T.copy().T, B), ("bij,bjk->bik", A[None], B.T[None]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "one", "other"), SINGLE)
@pytest.mark.parametrize("with_out", [False, True])
def test_einsum_of_single_rows(text: str, one: Array, other: Array, with_out: bool) -> None:
    expected = np.einsum(text, one, other)
    out = np.empty_like(expected, order="C") if with_out else None
    for _ in range(120):
        found = lx.einsum(text, one, other, out=out)
        np.testing.assert_array_equal(found, expected)
    assert is_native(lambda: lx.einsum(text, one, other, out=out))
    assert found.flags.writeable


def test_a_number_of_einsum_is_a_number_natively() -> None:
    row = floats(64)
    for _ in range(150):
        found = lx.einsum("i,i->", row, row)
    assert is_native(lambda: lx.einsum("i,i->", row, row))
    assert type(found) is np.float32
    assert found == row @ row
    out = np.empty((), np.float32)
    for _ in range(3):
        assert lx.einsum("i,i->", row, row, out=out) is out
    assert out == row @ row


def test_a_number_of_a_kernel_is_a_number_natively() -> None:
    kernel = lx.compile(
        """
        func.func @first(%a: tensor<3xf64>) -> f64 {
          %c0 = arith.constant 0 : index
          %x = tensor.extract %a[%c0] : tensor<3xf64>
          return %x : f64
        }
        """
    )
    given = np.array([2.5, 0, 0])
    plain = kernel(given)
    assert is_native(lambda: kernel(given))
    assert type(kernel(given)) is type(plain) is np.float64
    assert kernel(given) == 2.5
