"""Limits of kernels in worker processes: one that breaks them ends, and the next call works."""

from __future__ import annotations

from typing import Any

import pytest

from isolated_kernels import ENDLESS, isolated
from linalg_ext import errors
from linalg_ext.executable.worker_process import Limits

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
    kernel = isolated(KILLS[how], checked=False, trusted=True)
    for _ in range(2):
        with pytest.raises(errors.CrashError, match="the kernel died with SIGSEGV"):
            kernel(1 << 23)


def test_a_loop_without_end() -> None:
    kernel = isolated(ENDLESS, limits=Limits(seconds=2))
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
    kernel = isolated(text, limits=Limits(memory=256 << 20))
    assert kernel(1000).shape == (1000,)
    with pytest.raises((errors.CrashError, errors.ExecutionError)) as told:
        kernel(1 << 28)
    assert "no more than 256 MiB of data" in str(told.value)
    assert "Limits(memory=268435456)" in str(told.value)
    assert kernel(1000).shape == (1000,)


def test_deaths_for_want_of_memory() -> None:
    """What a process dies of, rather than telling it."""
    death = errors.CrashError("it died with SIGABRT", notes=["terminate: std::bad_alloc"])
    named = Limits(memory=1 << 30).named(death)
    assert "1024 MiB" in str(named)
    other = Limits().named(errors.CrashError("it died with SIGSEGV", hint="it is ended"))
    assert (other.expected, other.hint) == (None, "it is ended")


def test_more_stack_than_is_allowed() -> None:
    kernel = isolated(
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
        trusted=True,
    )
    assert kernel(1000) == 1000
    with pytest.raises(errors.CrashError, match="SIGSEGV"):
        kernel(8 << 20)
    assert kernel(1000) == 1000


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
