"""The short way into kernels of open sizes makes every check of the long one, and agrees."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import (
    AliasingError,
    ArityError,
    DTypeError,
    ExecutionError,
    LayoutError,
    ShapeError,
)
from linalg_ext.executable.direct_call import OpenCall

ADD = """
func.func @add(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = arith.addf %a, %b : tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
"""
PRODUCT = """
func.func @product(%a: tensor<?x8xf32>, %b: tensor<8x3xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %d = tensor.dim %a, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<?x3xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x3xf32>) -> tensor<?x3xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x3xf32>)
       outs(%f : tensor<?x3xf32>) -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}
"""
SEVERAL = """
func.func @several(%a: tensor<?xi32>, %x: i32) -> (tensor<?xi32>, i32, tensor<?xi32>) {
  %s = tensor.splat %x : tensor<4xi32>
  %t = tensor.cast %s : tensor<4xi32> to tensor<?xi32>
  return %a, %x, %t : tensor<?xi32>, i32, tensor<?xi32>
}
"""
WRITES = """
func.func @copy(%a: memref<?xf32>, %b: memref<?xf32>) {
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}
"""
ASSERTS = """
func.func @positive(%a: tensor<?xi32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %x = tensor.extract %a[%c0] : tensor<?xi32>
  %ok = arith.cmpi sgt, %x, %zero : i32
  cf.assert %ok, "not positive"
  return %a : tensor<?xi32>
}
"""

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def add() -> lx.Kernel:
    return lx.compile(ADD)


def _numbers(*shape: int) -> Array:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def _short(kernel: lx.Kernel) -> OpenCall:
    assert isinstance(kernel.short, OpenCall)
    return kernel.short


@pytest.mark.parametrize("shape", [(2, 3), (5, 1), (1, 7), (0, 4), (3, 0), (70, 90)])
def test_every_size_is_answered(add: lx.Kernel, shape: tuple[int, int]) -> None:
    a, b = _numbers(*shape), 2 * _numbers(*shape)
    found = _short(add)((a, b), None)
    assert found.shape == shape
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, 3 * a)
    np.testing.assert_array_equal(add(a, b), found)
    assert found.flags.writeable


def test_results_are_apart_from_one_another(add: lx.Kernel) -> None:
    found = [add(np.full((2, 2), n, np.float32), np.zeros((2, 2), np.float32)) for n in range(9)]
    assert [float(each[1, 1]) for each in found] == list(range(9))


def test_what_needs_more_than_a_yes_goes_the_long_way(add: lx.Kernel) -> None:
    a = _numbers(4, 4)
    assert _short(add)((a.tolist(), a), None) is NotImplemented
    np.testing.assert_array_equal(add(a.tolist(), a), a + a)
    for arguments in ((a.T, a), (a[:, ::2], a[:, ::2])):
        assert _short(add)(arguments, np.empty(arguments[1].shape, np.float32)) is NotImplemented
        for result in (_short(add)(arguments, None), add(*arguments)):
            np.testing.assert_array_equal(result, arguments[0] + arguments[1])
    for out in (np.empty((4, 4), np.float32).T, np.empty((4, 8), np.float32)[:, ::2]):
        assert _short(add)((a, a), out) is NotImplemented
        assert add(a, a, out=out) is out
        np.testing.assert_array_equal(out, a + a)


@pytest.mark.parametrize("shape", [(2, 3), (5, 1), (0, 4), (70, 90)])
def test_results_go_where_the_call_says(add: lx.Kernel, shape: tuple[int, int]) -> None:
    a, out = _numbers(*shape), np.full(shape, -1, np.float32)
    assert _short(add)((a, a), out) is out
    np.testing.assert_array_equal(out, a + a)


def test_mistakes_of_where_results_go_are_told_as_ever(add: lx.Kernel) -> None:
    a = _numbers(4, 4)
    read_only = np.empty((4, 4), np.float32)
    read_only.flags.writeable = False
    for error, out in (
        (ShapeError, np.empty((4, 5), np.float32)),
        (ShapeError, np.empty(16, np.float32)),
        (DTypeError, np.empty((4, 4))),
        (AliasingError, a),
        (LayoutError, read_only),
    ):
        with pytest.raises(error) as caught:
            add(a, a, out=out)
        assert "test_dynamic_calls.py" in str(caught.value.where)
    np.testing.assert_array_equal(a, _numbers(4, 4))


def test_mistakes_are_told_as_ever(add: lx.Kernel) -> None:
    a = _numbers(4, 4)
    for error, arguments in (
        (ShapeError, (a, a[0])),
        (DTypeError, (a, a.astype(np.float64))),
        (ArityError, (a,)),
        (ExecutionError, (a, np.ones((3, 4), np.float32))),
    ):
        with pytest.raises(error) as caught:
            add(*arguments)
        assert "test_dynamic_calls.py" in str(caught.value.where)


def test_known_sizes_among_open_ones() -> None:
    kernel = lx.compile(PRODUCT)
    b = _numbers(8, 3)
    for rows in (1, 5, 5, 40):
        a = _numbers(rows, 8)
        np.testing.assert_allclose(_short(kernel)((a, b), None), a @ b)
        assert _short(kernel)((a, b.T.copy()), None) is NotImplemented
    with pytest.raises(ShapeError, match="any, 8"):
        kernel(b, b)


def test_what_code_gives_back_is_never_an_argument() -> None:
    kernel = lx.compile(SEVERAL)
    a = np.arange(5, dtype=np.int32)
    same, number, constant = _short(kernel)((a, 7), None)
    assert not np.shares_memory(same, a)
    np.testing.assert_array_equal(same, a)
    np.testing.assert_array_equal(constant, [7] * 4)
    assert type(number) is np.int32
    assert number == 7


def test_what_is_written_must_meet_nothing_else() -> None:
    kernel = lx.compile(WRITES)
    a, b = _numbers(6), np.zeros(6, np.float32)
    assert _short(kernel)((a, b), None) is None
    np.testing.assert_array_equal(a, b)
    assert _short(kernel)((a[:4], a[2:]), None) is NotImplemented
    with pytest.raises(AliasingError):
        kernel(a[:4], a[2:])


def test_failures_are_reported_and_forgotten() -> None:
    kernel = lx.compile(ASSERTS)
    for _ in range(2):
        with pytest.raises(ExecutionError, match="not positive"):
            kernel(np.zeros(3, np.int32))
        np.testing.assert_array_equal(kernel(np.ones(3, np.int32)), [1, 1, 1])


def test_many_threads_at_once(add: lx.Kernel) -> None:
    def call(size: int) -> bool:
        a = np.full((size, 3), size, np.float32)
        return all((add(a, a) == 2 * size).all() for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(1, 40)))
