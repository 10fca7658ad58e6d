"""Loops found in machine code, of either architecture."""

from __future__ import annotations

import numpy as np

import linalg_ext as lx
from linalg_ext.explain.hot_loops import Loop, hot_loop, innermost_loops, instructions_of

X86 = """
lx_entry_f:
       0  xor          eax, eax
       2  vmovups      ymm0, ymmword ptr [rsp + 0x20]
       8  vmovups      ymm1, ymmword ptr [rdi + rax*4]
       d  vfmadd231ps  ymm2, ymm1, ymmword ptr [rsi + rax*4]
      13  vaddps       ymm3, ymm1, ymmword ptr [rsp - 0x40]
      19  vmovups      ymmword ptr [rdx + rax*4], ymm2
      1e  call         0   ; tanhf
      23  add          rax, 8
      27  cmp          rax, rcx
      2a  jl           0x8
      2c  dec          r8
      2f  jne          0x2
      31  ret
"""

AARCH64 = """
lx_entry_f:
       0  mov          x9, #0
       4  ldr          q1, [x0, x9, lsl #2]
       8  fmla         v2.4s, v1.4s, v0.s[0]
       c  str          q2, [x2, x9, lsl #2]
      10  ldr          q3, [sp, #0x20]
      14  add          x9, x9, #4
      18  cmp          x9, x1
      1c  b.lo         #0x4
      20  ret
"""


def test_loops_are_taken_apart() -> None:
    (loop,) = innermost_loops(instructions_of(X86))
    assert (loop[0].address, loop[-1].address) == (0x8, 0x2A)
    expected = Loop(
        instructions=8, vectors=4, fused=1, loads=2, stores=1, spills=1, gathers=0, calls=1
    )
    assert hot_loop(X86) == (range(4, 12), expected)
    assert str(expected).startswith("8 instructions, 4 on vectors, 1 multiply-adds, 2 loads")


def test_of_the_other_architecture_too() -> None:
    expected = Loop(
        instructions=7, vectors=4, fused=1, loads=1, stores=1, spills=1, gathers=0, calls=0
    )
    assert hot_loop(AARCH64) == (range(3, 10), expected)


def test_of_several_functions_the_hottest_counts_by_its_own_addresses() -> None:
    other = X86.replace("vfmadd231ps", "vmulps     ")
    found = hot_loop("\n\n".join([other.strip(), X86.strip()]))
    assert found is not None
    lines, loop = found
    assert loop.fused == 1
    assert lines.start == other.strip().count("\n") + 2 + 3


def test_code_without_a_loop_has_no_hot_one() -> None:
    assert hot_loop("f:\n       0  ret") is None


def test_the_hot_loop_of_a_product_multiplies() -> None:
    a = np.ones((64, 64), np.float32)
    found = hot_loop(lx.jit(lambda a, b: a @ b).lower(a, a).compile().asm(whole=True))
    assert found is not None
    assert found[1].fused > 0
