"""Kernels in a worker process: the same numbers, the same errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from isolated_kernels import ADD, isolated
from linalg_ext import errors
from linalg_ext.executable.worker_process import IsolatedKernel

Array = np.ndarray[Any, Any]


WRITE = """
func.func @write(%m: memref<2x3xf32, strided<[?, ?], offset: ?>>, %x: f32) -> (f32, i1) {
  linalg.fill ins(%x : f32) outs(%m : memref<2x3xf32, strided<[?, ?], offset: ?>>)
  %true = arith.constant true
  return %x, %true : f32, i1
}
"""


@pytest.fixture(scope="module")
def add() -> IsolatedKernel:
    return isolated(ADD)


def test_the_same_numbers(add: IsolatedKernel) -> None:
    random = np.random.default_rng(0)
    for rows in (1, 7, 1000, 0):
        a, b = (random.random((rows, 3), np.float32) for _ in range(2))
        np.testing.assert_array_equal(add(a, b), a + b)
    a = random.random((3, 4), np.float32)
    np.testing.assert_array_equal(add(a.T, a.T[::-1]), a.T + a.T[::-1])
    np.testing.assert_array_equal(
        add([[1, 2, 3]], a[:1, :3]), a[:1, :3] + np.array([1, 2, 3], np.float32)
    )
    out = np.empty((4, 3), np.float32)
    assert add(a.T, a.T, out=out) is out
    np.testing.assert_array_equal(out, 2 * a.T)


def test_large_results_live_as_long_as_they_are_needed(add: IsolatedKernel) -> None:
    a = np.ones((200_000, 3), np.float32)
    results = [add(a, a) for _ in range(3)]
    add(0 * a, 0 * a)
    assert all((result == 2).all() for result in results)


def test_arguments_are_written_where_they_lie() -> None:
    kernel = isolated(WRITE)
    room = np.zeros((4, 6), np.float32)
    value, true = kernel(room[::2, ::2], 5)
    assert (value, true) == (5.0, True)
    expected = np.zeros((4, 6), np.float32)
    expected[::2, ::2] = 5
    np.testing.assert_array_equal(room, expected)
    room.flags.writeable = False
    with pytest.raises(errors.LayoutError, match="read-only"):
        kernel(room[::2, ::2], 5)


def test_aliasing_is_seen_before_memory_is_shared() -> None:
    kernel = isolated(
        """
        func.func @copy(%a: memref<4xf32>, %b: memref<4xf32>) {
          memref.copy %a, %b : memref<4xf32> to memref<4xf32>
          return
        }
        """
    )
    a = np.arange(4, dtype=np.float32)
    with pytest.raises(errors.AliasingError, match=r"argument 1 .* shares memory with argument 0"):
        kernel(a, a)
    b = np.zeros(4, np.float32)
    assert kernel(a, b) is None
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "dtype",
    [
        *(ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn),
        *(np.float16, np.complex64, np.int8, np.uint64, np.bool_),
    ],
)
def test_dtypes_travel(dtype: Any) -> None:
    from linalg_ext.runtime.dtypes import mlir_text

    kernel = isolated(
        f"func.func @f(%a: tensor<3x{mlir_text(dtype)}>) -> tensor<3x{mlir_text(dtype)}> "
        f"{{ return %a : tensor<3x{mlir_text(dtype)}> }}",
        result_dtypes=[dtype],
    )
    a = np.array([1, 0, 1]).astype(dtype)
    assert kernel(a).dtype == dtype
    np.testing.assert_array_equal(kernel(a), a)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), errors.ArityError),
        ((np.ones((2, 4), np.float32),) * 2, errors.ShapeError),
        ((np.ones((2, 3)),) * 2, errors.DTypeError),
        ((np.ones((2, 3), np.float32), np.ones((5, 3), np.float32)), errors.ExecutionError),
        ((np.ones((2, 3), ">f4"),) * 2, errors.DTypeError),
        ((object(), object()), errors.ArgumentError),
        ((np.array([{}]), 1), errors.DTypeError),
        ((np.ma.masked_array(np.ones((2, 3), np.float32)),) * 2, errors.ArgumentError),
        (("a", "b"), errors.ArgumentError),
    ],
)
def test_wrong_arguments_are_the_same_errors(
    add: IsolatedKernel, arguments: tuple[Any, ...], error: type[errors.LinalgExtError]
) -> None:
    with pytest.raises(error) as found:
        add(*arguments)
    if found.value.where is not None:
        assert "test_isolated.py" in str(found.value.where)
    # And it goes on.
    one = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(add(one, one), 2 * one)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.empty((2, 2), np.float32), errors.ShapeError),
        (np.empty((1, 3)), errors.DTypeError),
        ([[1.0]], errors.ArgumentError),
        ((None, None), errors.ArityError),
    ],
)
def test_wrong_out(add: IsolatedKernel, out: Any, error: type[errors.LinalgExtError]) -> None:
    one = np.ones((1, 3), np.float32)
    with pytest.raises(error):
        add(one, one, out=out)


def test_errors_of_compilation() -> None:
    with pytest.raises(errors.ParseError, match="expected"):
        isolated("func.func @f(")
    with pytest.raises(errors.SignatureError, match="no function `g`"):
        isolated(ADD, "g")
    with pytest.raises(errors.UntrustedError, match="`system`"):
        isolated("func.func private @system(i32)\nfunc.func @f() { return }", "f")
    with pytest.raises(errors.ArgumentError, match="is not a module"):
        isolated(3)  # type: ignore[arg-type]


def test_a_text_that_kills_the_parser() -> None:
    with pytest.raises(errors.CrashError, match="SIG"):
        isolated("func.func @f() {" + "scf.execute_region {" * 100_000)


def test_what_it_tells_of_itself(add: IsolatedKernel) -> None:
    assert "add(tensor<?x3xf32>" in str(add.signature)
    assert "llvm.func" in add.as_text()
    assert "linalg" in add.as_text("linalg")
    assert add.times["total"] > 0
    assert "ret" in add.asm()
    assert "isolated" in repr(add)
    with pytest.raises(errors.ArgumentError, match="'x' is not a stage"):
        add.as_text("x")
    with pytest.raises(errors.UnpicklableError):
        add.__reduce__()


def test_it_explains_as_the_kernel_itself_does(add: IsolatedKernel) -> None:
    told = add.explain()
    here = lx.compile(ADD, trusted=True).explain()
    assert str(told) == str(here)
    with pytest.raises(errors.ArgumentError, match="threads is 0"):
        add.explain(threads=0)


def test_spellings_of_the_documents_are_read_there_too() -> None:
    text = """
    func.func @f(%a: tensor<3x4xf32>, %b: tensor<5x4xf32>, %c: tensor<3x5xf32>) -> tensor<3x5xf32> {
      %0 = linalg.matmul ins(%a, %b : tensor<3x4xf32>, tensor<5x4xf32>)
                         outs(%c : tensor<3x5xf32>) -> tensor<3x5xf32> permuted_rhs = [1, 0]
      return %0 : tensor<3x5xf32>
    }
    """
    here = _error_of(lambda: lx.compile(text))
    there = _error_of(lambda: isolated(text))
    assert (type(there), there.what) == (type(here), here.what)
    with pytest.raises(errors.ParseError, match="UTF-8"):
        isolated("// \ud800")


def _error_of(do: Callable[[], object]) -> errors.LinalgExtError:
    with pytest.raises(errors.LinalgExtError) as found:
        do()
    return found.value


def test_lists_and_exported_arrays(add: IsolatedKernel) -> None:
    class Exported:
        def __init__(self, array: Array) -> None:
            self._array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self._array.__dlpack_device__()

    one = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(add(Exported(one), [[1, np.float32(2), 3]]), [[2, 3, 4]])
    with pytest.raises(errors.ShapeError):
        add(one, [[1, 2], [3]])


def test_an_out_that_does_not_fit_is_refused_before_anything_runs(add: IsolatedKernel) -> None:
    one = np.ones((2, 3), np.float32)
    for out, error in (
        (one, errors.AliasingError),
        (np.broadcast_to(np.float32(0), (2, 3)), errors.LayoutError),
        (np.lib.stride_tricks.as_strided(one.copy(), (2, 3), (0, 4)), errors.LayoutError),
        (np.ma.masked_array(one.copy()), errors.ArgumentError),
    ):
        with pytest.raises(error):
            add(one, one, out=out)
    with pytest.raises(errors.ArityError, match="no argument 'into'"):
        add(one, one, into=one)


def test_what_it_prints_is_printed_here(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = isolated(
        """
        llvm.func @puts(!llvm.ptr) -> i32
        llvm.mlir.global internal constant @hello("hello\\00")
        func.func @f() {
          %p = llvm.mlir.addressof @hello : !llvm.ptr
          %r = llvm.call @puts(%p) : (!llvm.ptr) -> i32
          return
        }
        """,
        "f",
        trusted=True,
    )
    kernel()
    assert capsys.readouterr().out == "hello\n"


def test_calls_are_measured_in_its_process() -> None:
    kernel = isolated(ADD)
    one = np.ones((4, 3), np.float32)
    found = lx.explain.measure(kernel, [one, one], seconds=0.0)
    assert 0 < found.best <= found.median
    assert found.calls >= 3
    with pytest.raises(errors.ShapeError):
        lx.explain.measure(kernel, [one, np.ones(3, np.float32)], seconds=0.0)
    lethal = isolated(
        """
        func.func @f(%m: memref<4xi64>) {
          %far = arith.constant 1000000000000 : index
          %zero = arith.constant 0 : index
          %x = memref.load %m[%zero] : memref<4xi64>
          memref.store %x, %m[%far] : memref<4xi64>
          return
        }""",
        checked=False,
    )
    with pytest.raises(errors.CrashError, match="the kernel died with SIGSEGV"):
        lx.explain.measure(lethal, seconds=0.0)


def test_what_isolated_may_be() -> None:
    with pytest.raises(errors.ArgumentError, match="isolated is 3"):
        lx.compile(ADD, isolated=3)  # type: ignore[call-overload]
    with pytest.raises(errors.ArgumentError, match="tune= and isolated= at once"):
        lx.compile(ADD, isolated=True, tune=True)  # type: ignore[call-overload]
