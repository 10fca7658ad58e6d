"""The compilation of `thread_pool.mlir`, with what differs between systems and processors."""

from __future__ import annotations

import sys

from linalg_ext.runtime.engine import Engine
from linalg_ext.runtime.own_module import compiled_file
from linalg_ext.target import host

_PAUSES = {
    "x86_64": 'llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()',
    "aarch64": """
        %yield = llvm.mlir.constant(1 : i32) : i32
        llvm.call_intrinsic "llvm.aarch64.hint"(%yield) : (i32) -> ()
    """,
}
"""The instruction that signals a wait loop to the processor, by architecture."""

_LINUX = """
llvm.func @sched_getcpu() -> i32
llvm.func @sched_getaffinity(i32, i64, !llvm.ptr) -> i32
llvm.func @sched_setaffinity(i32, i64, !llvm.ptr) -> i32

func.func private @processor() -> i32 {
  %here = llvm.call @sched_getcpu() : () -> i32
  return %here : i32
}

// Forbid this thread a processor, and allow it again: it is elsewhere by then, if it may be.
func.func private @leave(%processor: i32) {
  %0 = arith.constant 0 : i32
  %1 = arith.constant 1 : i64
  %3 = arith.constant 3 : i32
  %7 = arith.constant 7 : i32
  %128 = arith.constant 128 : i64
  %most = arith.constant 1024 : i32
  %allowed = llvm.alloca %128 x i8 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %here = llvm.call @sched_getcpu() : () -> i32
  %is_here = arith.cmpi eq, %here, %processor : i32
  %is_known = arith.cmpi ult, %processor, %most : i32
  %is_to_leave = arith.andi %is_here, %is_known : i1
  scf.if %is_to_leave {
    %got = llvm.call @sched_getaffinity(%0, %128, %allowed) : (i32, i64, !llvm.ptr) -> i32
    %is_told = arith.cmpi sgt, %got, %0 : i32
    scf.if %is_told {
      %byte = arith.shrui %processor, %3 : i32
      %byte_wide = arith.extui %byte : i32 to i64
      %bit = arith.andi %processor, %7 : i32
      %bit_narrow = arith.trunci %bit : i32 to i8
      %one = arith.constant 1 : i8
      %mask = arith.shli %one, %bit_narrow : i8
      %place = llvm.getelementptr %allowed[%byte_wide] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %with = llvm.load %place : !llvm.ptr -> i8
      %without = arith.xori %with, %mask : i8
      llvm.store %without, %place : i8, !llvm.ptr
      %length = arith.extui %got : i32 to i64
      %left = llvm.call @sched_setaffinity(%0, %length, %allowed) : (i32, i64, !llvm.ptr) -> i32
      llvm.store %with, %place : i8, !llvm.ptr
      %back = llvm.call @sched_setaffinity(%0, %length, %allowed) : (i32, i64, !llvm.ptr) -> i32
    }
  }
  return
}
"""

_ELSEWHERE = """
func.func private @processor() -> i32 {
  %unknown = arith.constant -1 : i32
  return %unknown : i32
}

func.func private @leave(%processor: i32) {
  return
}
"""


def compiled() -> Engine:
    """The functions `run`, `help` and `wait`, for this machine."""
    system = _LINUX if sys.platform == "linux" else _ELSEWHERE
    pause = f"func.func private @pause() {{\n{_PAUSES.get(host().architecture, '')}\nreturn\n}}"
    return compiled_file("thread_pool.mlir", system, pause)
