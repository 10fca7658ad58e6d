"""The compilation of `caller.mlir`, with what differs between processors."""

from __future__ import annotations

from linalg_ext.runtime.engine import Engine
from linalg_ext.runtime.own_module import compiled_file
from linalg_ext.target import host

_COUNTER = """
// The time stamp counter: it takes 10 ns to read, where the clock of the system takes 30.
func.func private @now() -> i64 {
  %now = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
  return %now : i64
}
"""

_CLOCK = """
llvm.func @clock_gettime(i32, !llvm.ptr) -> i32

func.func private @now() -> i64 {
  %two = arith.constant 2 : i64
  %monotonic = arith.constant 1 : i32
  %billion = arith.constant 1000000000 : i64
  %time = llvm.alloca %two x i64 : (i64) -> !llvm.ptr
  %failed = llvm.call @clock_gettime(%monotonic, %time) : (i32, !llvm.ptr) -> i32
  %seconds = llvm.load %time : !llvm.ptr -> i64
  %at_rest = llvm.getelementptr %time[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %rest = llvm.load %at_rest : !llvm.ptr -> i64
  %whole = arith.muli %seconds, %billion : i64
  %now = arith.addi %whole, %rest : i64
  return %now : i64
}
"""


def compiled_caller() -> Engine:
    """The engine with the functions of `caller.mlir`.

    Raises:
        UnresolvedSymbolError: this interpreter hides the functions of its C API.
    """
    now = _COUNTER if host().architecture == "x86_64" else _CLOCK
    return compiled_file("caller.mlir", now, inline=True)
