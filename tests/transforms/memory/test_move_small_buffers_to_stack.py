"""Small buffers that nobody sees beyond their block are on the stack, all others on the heap."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import run
from linalg_ext.module import Module
from linalg_ext.transforms.memory import move_small_buffers_to_stack as file

TEXT = """
func.func private @keep(memref<8xf32>)
func.func @f(%n: index, %x: memref<8xf32>) -> f32 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = {loop}
    %a = memref.alloc({open}) : memref<{type}>
    {before}
    memref.store %zero, %a[%c1] : memref<{type}>
    {freed}
    {end}
  }}
  return %zero : f32
}}"""
LOOP = "scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {"
USUAL = {
    "loop": LOOP,
    "open": "",
    "type": "8xf32",
    "before": "",
    "freed": "memref.dealloc %a : memref<8xf32>",
    "end": "scf.yield %s : f32",
}
LARGE = f"{file.BUFFER_LIMIT_BYTES // 4 + 1}xf32"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        (
            {
                "loop": "scf.if %true -> f32 {",
                "end": "scf.yield %zero : f32 } else {\nscf.yield %zero : f32",
            },
            None,
        ),
        (
            {"type": "?xf32", "open": "%n", "freed": "memref.dealloc %a : memref<?xf32>"},
            "the buffer is large, or of open size",
        ),
        (
            {"type": LARGE, "freed": f"memref.dealloc %a : memref<{LARGE}>"},
            "the buffer is large, or of open size",
        ),
        ({"freed": ""}, "the buffer may outlive its block"),
        (
            {
                "before": "%k = memref.alloc() : memref<memref<8xf32>>",
                "freed": "memref.store %a, %k[] : memref<memref<8xf32>>\n"
                "memref.dealloc %a : memref<8xf32>",
            },
            "the buffer may outlive its block",
        ),
        (
            {
                "loop": "scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {",
                "end": "scf.reduce(%zero : f32) {\n^bb0(%p: f32, %q: f32):\n"
                "scf.reduce.return %p : f32\n}",
            },
            "several threads may allocate the buffer",
        ),
    ],
)
def test_what_goes_to_the_stack(changes: dict[str, str], reason: str | None) -> None:
    text = TEXT.format(**(USUAL | changes))
    text = text.replace("%zero =", "%true = arith.constant true\n  %zero =", 1)
    module = Module.parse(text, trusted=True)
    report = file.move_small_buffers_to_stack(module)
    assert bool(report) is (reason is None)
    assert ("memref.alloca()" in str(module)) is (reason is None)
    if reason is None:
        assert "dealloc" not in str(module)
    else:
        assert reason in str(report)


def test_of_one_function_no_more_than_the_limit() -> None:
    one = file.BUFFER_LIMIT_BYTES
    count = file.FRAME_LIMIT_BYTES // one + 3
    pairs = "".join(
        f"%a{n} = memref.alloc() : memref<{one}xi8>\n"
        f"memref.store %v, %a{n}[%i] : memref<{one}xi8>\n"
        f"memref.dealloc %a{n} : memref<{one}xi8>\n"
        for n in range(count)
    )
    module = Module.parse(f"func.func @f(%v: i8, %i: index) {{\n{pairs}return\n}}", trusted=True)
    report = file.move_small_buffers_to_stack(module)
    assert str(module).count("memref.alloca()") == count - 3
    assert str(module).count("memref.dealloc") == 3
    assert "much on the stack" in str(report)


def test_rounds_of_a_loop_share_the_stack() -> None:
    """A million rounds, each with a buffer of its own."""
    text = """
    func.func @f(%n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
        %a = memref.alloc() : memref<64xf32>
        %place = arith.remui %i, %c1 : index
        memref.store %s, %a[%place] : memref<64xf32>
        %y = memref.load %a[%c0] : memref<64xf32>
        memref.dealloc %a : memref<64xf32>
        %z = arith.addf %y, %one : f32
        scf.yield %z : f32
      }
      return %r : f32
    }"""
    assert run(text, 1_000_000) == np.float32(1_000_000)
