"""Kernels in a process apart: the same numbers and errors; crashes, loops and hunger stay there."""

from __future__ import annotations

import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import errors
from linalg_ext.isolated import IsolatedKernel, Limits
from linalg_ext.isolated.shared_arrays import received
from linalg_ext.runtime import frames
from linalg_ext.runtime.processes import _Forked

Array = np.ndarray[Any, Any]


def _isolated(
    text: str | bytes, entry: str | None = None, *, limits: Limits | None = None, **options: Any
) -> IsolatedKernel:
    kernel: IsolatedKernel = lx.compile(text, entry, isolated=limits or True, **options)
    return kernel


ADD = """
func.func @add(%a: tensor<?x3xf32>, %b: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = arith.addf %a, %b : tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
"""

WRITE = """
func.func @write(%m: memref<2x3xf32, strided<[?, ?], offset: ?>>, %x: f32) -> (f32, i1) {
  linalg.fill ins(%x : f32) outs(%m : memref<2x3xf32, strided<[?, ?], offset: ?>>)
  %true = arith.constant true
  return %x, %true : f32, i1
}
"""


@pytest.fixture(scope="module")
def add() -> IsolatedKernel:
    return _isolated(ADD)


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
    kernel = _isolated(WRITE)
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
    kernel = _isolated(
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

    kernel = _isolated(
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
        _isolated("func.func @f(")
    with pytest.raises(errors.SignatureError, match="no function `g`"):
        _isolated(ADD, "g")
    with pytest.raises(errors.UntrustedError, match="`system`"):
        _isolated("func.func private @system(i32)\nfunc.func @f() { return }", "f")
    with pytest.raises(errors.ArgumentError, match="is not a module"):
        _isolated(3)  # type: ignore[arg-type]


def test_a_text_that_kills_the_parser() -> None:
    with pytest.raises(errors.CrashError, match="SIG"):
        _isolated("func.func @f() {" + "scf.execute_region {" * 100_000)


KILLS = {
    "null": """
        func.func @f(%n: i64) -> i64 {
          %p = llvm.mlir.zero : !llvm.ptr
          %x = llvm.load volatile %p : !llvm.ptr -> i64
          return %x : i64
        }
        """,
    "far away": """
        func.func @f(%n: index) -> i8 {
          %m = memref.alloc(%n) : memref<?xi8>
          %far = arith.muli %n, %n : index
          %x = memref.load %m[%far] : memref<?xi8>
          memref.dealloc %m : memref<?xi8>
          return %x : i8
        }
        """,
}


@pytest.mark.parametrize("how", KILLS)
def test_a_kernel_that_dies_and_is_called_again(how: str) -> None:
    kernel = _isolated(KILLS[how], checked=False)
    for _ in range(2):
        with pytest.raises(errors.CrashError, match="the kernel died with SIGSEGV"):
            kernel(1 << 23)


ENDLESS = """
func.func @f(%n: i64) -> i64 {
  %r = scf.while (%i = %n) : (i64) -> i64 {
    %zero = arith.constant 0 : i64
    %again = arith.cmpi ne, %i, %zero : i64
    scf.condition(%again) %i : i64
  } do {
  ^bb0(%i: i64):
    %three = arith.constant 3 : i64
    %next = arith.ori %i, %three : i64
    scf.yield %next : i64
  }
  return %r : i64
}
"""


def test_a_loop_without_end() -> None:
    kernel = _isolated(ENDLESS, limits=Limits(seconds=2))
    assert kernel(0) == 0
    with pytest.raises(errors.CrashError, match="did not come to an end within 2 s"):
        kernel(1)
    assert kernel(0) == 0


def test_more_memory_than_is_allowed() -> None:
    text = """
        func.func @f(%n: index) -> tensor<?xf64> {
          %x = arith.constant 1.0 : f64
          %e = tensor.empty(%n) : tensor<?xf64>
          %r = linalg.fill ins(%x : f64) outs(%e : tensor<?xf64>) -> tensor<?xf64>
          return %r : tensor<?xf64>
        }
        """
    kernel = _isolated(text, limits=Limits(memory=256 << 20))
    assert kernel(1000).shape == (1000,)
    with pytest.raises((errors.CrashError, errors.ExecutionError)):
        kernel(1 << 28)
    assert kernel(1000).shape == (1000,)


def test_more_stack_than_is_allowed() -> None:
    kernel = _isolated(
        """
        func.func @f(%n: i64) -> i64 {
          %p = llvm.alloca %n x i64 : (i64) -> !llvm.ptr
          llvm.store volatile %n, %p : i64, !llvm.ptr
          %q = llvm.getelementptr %p[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i64
          %one = llvm.getelementptr %q[-1] : (!llvm.ptr) -> !llvm.ptr, i64
          llvm.store volatile %n, %one : i64, !llvm.ptr
          %x = llvm.load volatile %p : !llvm.ptr -> i64
          return %x : i64
        }
        """,
        limits=Limits(stack=1 << 20),
    )
    assert kernel(1000) == 1000
    with pytest.raises(errors.CrashError, match="SIGSEGV"):
        kernel(8 << 20)
    assert kernel(1000) == 1000


def test_what_it_tells_of_itself(add: IsolatedKernel) -> None:
    assert "add(tensor<?x3xf32>" in str(add.signature)
    assert "llvm.func" in add.as_text()
    assert "linalg" in add.as_text("linalg")
    assert add.times["total"] > 0
    assert "ret" in add.asm()
    assert "isolated" in repr(add)
    with pytest.raises(errors.ArgumentError, match="no stage 'x'"):
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
    there = _error_of(lambda: _isolated(text))
    assert (type(there), there.what) == (type(here), here.what)
    with pytest.raises(errors.ParseError, match="UTF-8"):
        _isolated("// \ud800")


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
    kernel = _isolated(
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


def test_an_interrupted_call_and_the_next_one() -> None:
    kernel = _isolated(ENDLESS)
    assert kernel(0) == 0

    def interrupt() -> None:
        while not kernel._lock.locked():
            time.sleep(0.01)  # until the call is under way
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        kernel(1)
    thread.join()
    assert kernel(0) == 0


@pytest.mark.parametrize("when", ["while it is forked", "while it compiles"])
def test_an_interrupted_compilation_and_the_next_one(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive = frames.receive
    waits = iter([receive] if when == "while it compiles" else [])

    def interrupted(channel: socket.socket) -> Any:
        try:
            return next(waits)(channel)
        except StopIteration:
            raise KeyboardInterrupt from None

    with monkeypatch.context() as patched:
        patched.setattr(frames, "receive", interrupted)
        patched.setattr(_Forked, "kill", lambda self: None)  # which waits for an answer, too
        patched.setattr(_Forked, "wait", lambda self, timeout=None: 0)
        with pytest.raises(KeyboardInterrupt):
            _isolated(ADD)
    one = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(_isolated(ADD)(one, one), 2 * one)


def test_an_answer_that_makes_no_sense_is_the_end_of_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = _isolated(ADD)
    one = np.ones((1, 3), np.float32)
    for plain in (
        {"kind": "array", "dtype": "<f4", "shape": [1 << 40], "strides": [4], "offset": 0},
        {"kind": "array", "dtype": "|O", "shape": [1], "strides": [8], "offset": 0},
        {"kind": "other"},
    ):
        with monkeypatch.context() as patched:
            patched.setattr(
                "linalg_ext.isolated.kernel.received",
                lambda block, _, plain=plain: received(block, [{"writable": True, **plain}]),
            )
            with pytest.raises(errors.CrashError, match="makes no sense"):
                kernel(one, one)
        np.testing.assert_array_equal(kernel(one, one), 2 * one)


def test_processes_that_are_no_more_needed_end() -> None:
    kernel = _isolated(ADD)
    child = kernel._own.child
    assert child is not None
    process = child.process
    del kernel, child
    gc.collect()
    assert process.wait(timeout=60) == 0


def test_threads_of_the_caller(add: IsolatedKernel) -> None:
    failures = []

    def work(seed: int) -> None:
        a = np.full((seed + 1, 3), seed, np.float32)
        for _ in range(20):
            if not np.array_equal(add(a, a), 2 * a):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork(add: IsolatedKernel) -> None:
    one = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(add(one, one), 2 * one)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if np.array_equal(add(one, one), 2 * one) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(add(one, one), 2 * one)


def test_close_ends_the_process() -> None:
    kernel = _isolated(ADD)
    one = np.ones((1, 3), np.float32)
    child = kernel._own.child
    assert child is not None
    kernel.close()
    assert child.process.returncode is not None
    np.testing.assert_array_equal(kernel(one, one), 2 * one)


@pytest.mark.parametrize(
    "limits",
    [
        *({"seconds": 0}, {"memory": -1}, {"seconds": "1"}, {"stack": 10}),
        *({"seconds": float("inf")}, {"memory": 1 << 64}, {"stack": 1e30}, {"seconds": True}),
    ],
)
def test_wrong_limits(limits: dict[str, Any]) -> None:
    with pytest.raises(errors.ArgumentError, match=next(iter(limits))):
        Limits(**limits)


def test_what_isolated_may_be() -> None:
    with pytest.raises(errors.ArgumentError, match="isolated is 3"):
        lx.compile(ADD, isolated=3)  # type: ignore[call-overload]
    with pytest.raises(errors.ArgumentError, match="tune= and isolated= at once"):
        lx.compile(ADD, isolated=True, tune=True)  # type: ignore[call-overload]
