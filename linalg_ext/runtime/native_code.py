"""The compilation of the native code of this room, which is written in MLIR.

`thread_pool.mlir`, `vectorcall.mlir` and `workspace.mlir` are compiled with functions that differ
between systems and processors.
"""

from __future__ import annotations

import sys
from pathlib import Path

from linalg_ext.bindings import ir, passmanager
from linalg_ext.ir.context import new_context
from linalg_ext.runtime.calling_convention import DATA
from linalg_ext.runtime.engine import Engine
from linalg_ext.runtime.poison import ON, PATTERN
from linalg_ext.target import host

_PASSES = (
    "convert-scf-to-cf",
    "convert-arith-to-llvm",
    "convert-func-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)


def compiled(name: str) -> Engine:
    """The functions of a file that stands beside this one, by its name, for this machine.

    Private functions of the caller and the workspace become part of those that call them: their
    stack memory then stays taken until the caller returns.

    Raises:
        UnresolvedSymbolError: this interpreter hides the functions of its C API.
    """
    architecture = host().architecture
    more: tuple[str, ...] = ()
    if name == "thread_pool":
        pause = f"func.func private @pause() {{\n{_PAUSES.get(architecture, '')}\nreturn\n}}"
        more = (_LINUX if sys.platform == "linux" else _ELSEWHERE, pause)
    elif name == "vectorcall":
        now = _COUNTER if architecture == "x86_64" else _CLOCK
        more = (now, _MADE_POISONED if ON else _MADE)
    text = (Path(__file__).parent / f"{name}.mlir").read_text(encoding="utf-8")
    passes = _PASSES if name == "thread_pool" else ("inline", *_PASSES)
    with new_context() as context:
        module = ir.Module.parse("\n".join((text, *more)), context)
        pipeline = f"builtin.module({','.join(passes)})"
        passmanager.PassManager.parse(pipeline, context).run(module.operation)
        # Optimizing takes 40 ms, and makes a call shorter by none that can be measured.
        return Engine(module, opt_level=0)


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


_MADE = """
// Of a new array nothing is done.
func.func private @made(%array: !llvm.ptr, %entry: !llvm.ptr) {
  return
}
"""

_MADE_POISONED = f"""
// A new array is filled with poison: its data, of as many bytes as its entry says.
func.func private @made(%array: !llvm.ptr, %entry: !llvm.ptr) {{
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %7 = arith.constant 7 : i64
  %64 = arith.constant 64 : i64
  %at_data = arith.constant {DATA} : i64
  %pattern = arith.constant {PATTERN} : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %is_there = llvm.icmp "ne" %array, %null : !llvm.ptr
  scf.if %is_there {{
    %data = func.call @place(%array, %at_data) : (!llvm.ptr, i64) -> !llvm.ptr
    %bytes = func.call @word(%entry, %64) : (!llvm.ptr, i64) -> i64
    scf.for %at = %0 to %bytes step %1 : i64 {{
      %number = arith.andi %at, %7 : i64
      %bits = arith.muli %number, %8 : i64
      %shifted = arith.shrui %pattern, %bits : i64
      %byte = arith.trunci %shifted : i64 to i8
      %place = llvm.getelementptr %data[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      llvm.store %byte, %place : i8, !llvm.ptr
    }}
  }}
  return
}}
"""
