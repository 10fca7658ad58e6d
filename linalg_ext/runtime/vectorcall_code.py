"""The compilation of `vectorcall.mlir`, with what differs between processors."""

from __future__ import annotations

from linalg_ext.runtime.descriptors import DATA
from linalg_ext.runtime.engine import Engine
from linalg_ext.runtime.own_module import compiled_file
from linalg_ext.runtime.poison import ON, PATTERN
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


def compiled_caller() -> Engine:
    """The engine with the functions of `vectorcall.mlir`.

    Raises:
        UnresolvedSymbolError: this interpreter hides the functions of its C API.
    """
    now = _COUNTER if host().architecture == "x86_64" else _CLOCK
    return compiled_file("vectorcall.mlir", now, _MADE_POISONED if ON else _MADE, inline=True)
