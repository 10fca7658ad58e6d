"""The hot loops of kernels for AVX2 and AVX-512 are no worse than those on record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import instructions
from benchmarks.instructions import KERNELS, TARGETS
from linalg_ext.explain import Loop
from linalg_ext.target import host

needs_x86 = pytest.mark.skipif(
    host().architecture != "x86_64", reason="code for x86-64 is made by this engine there alone"
)


def test_code_without_a_loop_is_refused() -> None:
    with pytest.raises(ValueError, match="no loop"):
        instructions.hottest("       0  ret")


def test_what_counts_as_worse() -> None:
    loop = Loop(
        instructions=100, vectors=60, fused=50, loads=10, stores=0, spills=0, gathers=0, calls=0
    )
    assert not instructions.is_regression(replace(loop, instructions=101), loop)
    assert instructions.is_regression(replace(loop, instructions=110), loop)
    assert instructions.is_regression(replace(loop, spills=1), loop)
    assert instructions.is_regression(replace(loop, gathers=1), loop)
    assert not instructions.is_regression(replace(loop, instructions=200, fused=100), loop)


@needs_x86
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_no_loop_is_worse_than_on_record(name: str, target: str) -> None:
    """Where a change makes one worse for a reason: python -m benchmarks.instructions --record."""
    now = instructions.hottest(instructions.compiled(name, target).asm())
    before = instructions.recorded()[f"{name}, {target}"]
    assert not instructions.is_regression(now, before), f"{now} was {before}"


@needs_x86
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["matmul f32", "matmul f64", "matmul + bias + relu"])
def test_micro_kernels_hold_their_tile_in_registers(name: str, target: str) -> None:
    loop = instructions.hottest(instructions.compiled(name, target).asm())
    assert (loop.spills, loop.gathers, loop.calls, loop.stores) == (0, 0, 0, 0)
    assert loop.overhead <= (2.0 if target == "avx2" else 1.6)
