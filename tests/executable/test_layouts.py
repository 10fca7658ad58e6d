"""Ranks, strides, sizes of zero, alignment: an array is read rightly or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linalg_ext import errors
from linalg_ext.compiler import compile

_doublers: dict[int, Any] = {}


def doubler(rank: int) -> Any:
    """A kernel that adds a tensor of `rank`, all dimensions open, to itself."""
    if rank not in _doublers:
        type_ = "tensor<" + "?x" * rank + "f32>"
        lines = [
            f"%c{axis} = arith.constant {axis} : index\n"
            f"%n{axis} = tensor.dim %a, %c{axis} : {type_}"
            for axis in range(rank)
        ]
        sizes = ", ".join(f"%n{axis}" for axis in range(rank))
        body = "\n".join(lines)
        _doublers[rank] = compile(
            f"""
            func.func @double(%a: {type_}) -> {type_} {{
              {body}
              %e = tensor.empty({sizes}) : {type_}
              %0 = linalg.add ins(%a, %a : {type_}, {type_}) outs(%e : {type_}) -> {type_}
              return %0 : {type_}
            }}
            """,
            trusted=True,
        )
    return _doublers[rank]


def field_view(shape: Any) -> Any:
    records = np.zeros(shape, dtype=[("tag", "u1"), ("value", "f4")])
    records["value"] = np.arange(np.prod(shape)).reshape(shape)
    return records["value"]


ARRAYS: dict[str, Any] = {
    "contiguous": lambda: np.arange(24, dtype=np.float32).reshape(4, 6),
    "Fortran": lambda: np.asfortranarray(np.arange(24, dtype=np.float32).reshape(4, 6)),
    "negative": lambda: np.arange(24, dtype=np.float32).reshape(4, 6)[::-1, ::-2],
    "broadcast": lambda: np.broadcast_to(np.arange(6, dtype=np.float32), (4, 6)),
    "sliced": lambda: np.arange(48, dtype=np.float32).reshape(4, 12)[:, 3::2],
    "window": lambda: np.lib.stride_tricks.sliding_window_view(np.arange(9, dtype=np.float32), 4),
    "field": lambda: field_view((4, 6)),
    "unaligned": lambda: (
        np.frombuffer(b"\0" + bytes(range(96)), np.uint8)[1:].view(np.float32).reshape(4, 6)
    ),
    "read-only": lambda: np.frombuffer(bytes(96), np.float32).reshape(4, 6),
    "matrix": lambda: (
        np.ones((4, 6), np.float32).view(np.matrix)
        if hasattr(np, "matrix")
        else np.ones((4, 6), np.float32)
    ),
    "no rows": lambda: np.zeros((0, 6), np.float32),
    "no columns": lambda: np.zeros((4, 0), np.float32)[:, ::-1],
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("name", ARRAYS)
def test_tensors_may_lie_in_any_way(name: str) -> None:
    a = ARRAYS[name]()
    result = doubler(2)(a)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, np.asarray(a) * 2)


@pytest.mark.parametrize("rank", range(10))
def test_ranks(rank: int) -> None:
    shape = tuple(1 + axis % 3 for axis in range(rank))
    a = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(doubler(rank)(a), a * 2)
    np.testing.assert_array_equal(doubler(rank)(a.T), a.T * 2)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_views(data: Any) -> None:
    rank = data.draw(st.integers(0, 4))
    shape = data.draw(st.lists(st.integers(0, 5), min_size=rank, max_size=rank))
    a = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    for axis in range(rank):
        step = data.draw(st.sampled_from([1, 2, -1, -3]))
        a = a[(slice(None),) * axis + (slice(None, None, step),)]
    a = a.transpose(data.draw(st.permutations(range(rank))))
    np.testing.assert_array_equal(doubler(rank)(a), a * 2)
    out = np.full(a.shape[::-1], np.nan, np.float32).T
    assert doubler(rank)(a, out=out) is out
    np.testing.assert_array_equal(out, a * 2)


NEGATE = """
func.func @negate(%m: memref<{type}>) {{
  linalg.negf ins(%m : memref<{type}>) outs(%m : memref<{type}>)
  return
}}
"""


def test_strided_memory_is_written_where_it_lies() -> None:
    kernel = compile(NEGATE.format(type="?x?xf32, strided<[?, ?], offset: ?>"), trusted=True)
    for view in (np.s_[:, :], np.s_[::-1, ::-2], np.s_[1:, 3:], np.s_[2:2, :], np.s_[:1, ::5]):
        memory = np.arange(24, dtype=np.float32).reshape(4, 6)
        expected = memory.copy()
        expected[view] *= -1
        kernel(memory[view])
        np.testing.assert_array_equal(memory, expected)
        memory = np.asfortranarray(np.arange(24, dtype=np.float32).reshape(4, 6))
        kernel(memory[view])
        np.testing.assert_array_equal(memory, expected)
    with pytest.raises(errors.LayoutError, match=r"argument 0.*not aligned to 4 bytes"):
        kernel(field_view((4, 6)))
    odd = np.zeros((4, 6), "f4,u2,u2,u2,u2")["f0"].view()
    kernel(odd)  # 12 bytes apart: three whole elements
    odd = np.zeros((4, 6), [("value", "f4"), ("tag", "u2")])["value"]
    with pytest.raises(errors.LayoutError, match=r"argument 0.*not aligned|4-byte elements"):
        kernel(odd)
    with pytest.raises(errors.LayoutError, match="elements overlap"):
        kernel(np.lib.stride_tricks.as_strided(np.zeros(6, np.float32), (2, 3), (4, 4)))


def test_a_static_layout_is_checked() -> None:
    kernel = compile(NEGATE.format(type="4xf32, strided<[2], offset: 1>"), trusted=True)
    memory = np.arange(9, dtype=np.float32)
    kernel(memory[1::2])
    np.testing.assert_array_equal(memory, [0, -1, 2, -3, 4, -5, 6, -7, 8])
    kernel(memory[0:8:2])
    np.testing.assert_array_equal(memory, [0, -1, -2, -3, -4, -5, -6, -7, 8])
    for wrong in (memory[:4], memory[:8:2][::-1], np.zeros((4, 3), np.float32)[:, 0]):
        with pytest.raises(errors.LayoutError, match=r"(?s)strides.*expected strides \(8\)"):
            kernel(wrong)


def test_a_static_layout_that_is_only_read_takes_no_other_array_either() -> None:
    kernel = compile(
        """
        func.func @first(%m: memref<2xf32, strided<[2], offset: 1>>) -> f32 {
          %c0 = arith.constant 0 : index
          %0 = memref.load %m[%c0] : memref<2xf32, strided<[2], offset: 1>>
          return %0 : f32
        }
        """,
        trusted=True,
    )
    memory = np.arange(4, dtype=np.float32)
    assert kernel(memory[1::2]) == 1
    with pytest.raises(errors.LayoutError, match="laid out as"):
        kernel(memory[:2])


def test_a_memref_that_is_only_read_may_lie_in_any_way() -> None:
    kernel = compile(
        """
        func.func @sum(%m: memref<4x6xf32>, %s: memref<?x?xf32, strided<[?, ?]>>) -> f32 {
          %zero = arith.constant 0.0 : f32
          %0 = memref.alloc() : memref<f32>
          memref.store %zero, %0[] : memref<f32>
          %c = memref.cast %m : memref<4x6xf32> to memref<?x?xf32>
          linalg.generic {
            indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                             affine_map<(i, j) -> ()>],
            iterator_types = ["reduction", "reduction"]}
            ins(%c, %s : memref<?x?xf32>, memref<?x?xf32, strided<[?, ?]>>) outs(%0 : memref<f32>) {
          ^bb0(%x: f32, %y: f32, %o: f32):
            %p = arith.mulf %x, %y : f32
            %q = arith.addf %p, %o : f32
            linalg.yield %q : f32
          }
          %r = memref.load %0[] : memref<f32>
          memref.dealloc %0 : memref<f32>
          return %r : f32
        }
        """,
        trusted=True,
    )
    for name, make in ARRAYS.items():
        a = make()
        if a.shape == (4, 6) and name != "matrix":
            assert kernel(a, a) == np.sum(np.asarray(a) ** 2, dtype=np.float32)


def test_out_may_lie_in_any_way() -> None:
    kernel = compile(
        """
        func.func @twice(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
          %0 = arith.addf %a, %a : tensor<4x6xf32>
          return %0 : tensor<4x6xf32>
        }
        """,
        trusted=True,
    )
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    unaligned = np.zeros(97, np.uint8)[1:].view(np.float32).reshape(4, 6)
    for out in (
        np.zeros((4, 6), np.float32),
        np.zeros((6, 4), np.float32).T,
        np.zeros((4, 6), np.float32)[::-1, ::-1],
        np.zeros((8, 12), np.float32)[::2, ::2],
        field_view((4, 6)),
        unaligned,
    ):
        assert kernel(a, out=out) is out
        np.testing.assert_array_equal(out, 2 * a)


def test_out_of_an_open_shape() -> None:
    a = np.ones((2, 3), np.float32)
    out = np.zeros((2, 3), np.float32)
    assert doubler(2)(a, out=out) is out
    np.testing.assert_array_equal(out, 2 * a)
    with pytest.raises(errors.ShapeError, match=r"out has shape \(3, 2\)"):
        doubler(2)(a, out=out.T)
    with pytest.raises(errors.ShapeError, match="out has shape"):
        doubler(2)(a, out=out[0])
