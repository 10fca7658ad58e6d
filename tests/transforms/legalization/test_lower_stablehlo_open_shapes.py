"""StableHLO's ops of open shapes: the examples of their lowering, and what they compute."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import LinalgExtError


@pytest.mark.parametrize("size", [0, 1, 2, 17])
@pytest.mark.parametrize("dims", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize(
    ("element", "dtype"),
    [("f32", np.float32), ("ui8", np.uint8), ("bf16", ml_dtypes.bfloat16), ("i1", np.bool_)],
)
def test_reverse(element: str, dtype: Any, dims: tuple[int, ...], size: int) -> None:
    type_ = f"tensor<?x?x{element}>"
    kernel = _compiled(
        f"""func.func @f(%x: {type_}) -> {type_} {{
          %r = stablehlo.reverse %x, dims = {list(dims)} : {type_}
          return %r : {type_}
        }}"""
    )
    x = np.arange(3 * size).reshape(size, 3).astype(dtype)
    np.testing.assert_array_equal(kernel(x), np.flip(x, dims))


@functools.cache
def _compiled(text: str) -> Any:
    return lx.compile(text)


def _broadcast(operand: str, sizes: str, result: str, dims: str, more: str = "") -> Any:
    return _compiled(
        f"""func.func @f(%x: {operand}, %n: {sizes}) -> {result} {{
          %r = "stablehlo.dynamic_broadcast_in_dim"(%x, %n)
            {{broadcast_dimensions = array<i64: {dims}>{more}}} : ({operand}, {sizes}) -> {result}
          return %r : {result}
        }}"""
    )


@pytest.mark.parametrize(("sizes", "dtype"), [("index", "i8"), ("i32", "i4"), ("ui32", "u4")])
@pytest.mark.parametrize("length", [0, 1, 4, 17])
def test_broadcast(length: int, sizes: str, dtype: str) -> None:
    """A dimension of size 1 expands, any other has the size that is asked for."""
    kernel = _broadcast("tensor<?xf32>", f"tensor<2x{sizes}>", "tensor<?x?xf32>", "1")
    x = np.arange(length, dtype="f4")
    for wanted in {(3, length), (0, length)} | ({(3, 5)} if length == 1 else set()):
        got = kernel(x, np.array(wanted, dtype))
        np.testing.assert_array_equal(got, np.broadcast_to(x, wanted))


def test_broadcast_of_what_is_known_to_expand_or_not() -> None:
    kernel = _broadcast(
        "tensor<?x?xi32>", "tensor<3xi64>", "tensor<?x4x?xi32>", "0, 2",
        ", known_expanding_dimensions = array<i64: 0>,"
        " known_nonexpanding_dimensions = array<i64: 1>",
    )  # fmt: skip
    x = np.arange(3, dtype="i4").reshape(1, 3)
    got = kernel(x, np.array([2, 4, 3]))
    np.testing.assert_array_equal(got, np.broadcast_to(x[:, None], (2, 4, 3)))


@pytest.mark.parametrize(
    ("x", "wanted"),
    [((4,), (2, 5)), ((0,), (2, 3)), ((3,), (2, 0)), ((3,), (-1, 3)), ((1,), (2, -4))],
)
def test_sizes_that_do_not_fit_are_refused(x: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    kernel = _broadcast("tensor<?xf32>", "tensor<2xi32>", "tensor<?x?xf32>", "1")
    with pytest.raises(LinalgExtError):
        kernel(np.ones(x, "f4"), np.array(wanted, "i4"))


def test_a_size_that_is_not_that_of_the_type_is_refused() -> None:
    kernel = _broadcast("tensor<?xf32>", "tensor<2xi32>", "tensor<2x?xf32>", "1")
    np.testing.assert_array_equal(kernel(np.ones(3, "f4"), np.array([2, 3], "i4")), np.ones((2, 3)))
    with pytest.raises(LinalgExtError, match="not that of its type"):
        kernel(np.ones(3, "f4"), np.array([4, 3], "i4"))
