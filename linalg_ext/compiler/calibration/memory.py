"""Bytes a second from and to each level of memory, and what a fresh page costs."""

from __future__ import annotations

import mmap
import time
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from linalg_ext import target
from linalg_ext.compiler import compile
from linalg_ext.compiler.calibration.peaks import aligned
from linalg_ext.compiler.calibration.timing import Work, seconds_of, seconds_together
from linalg_ext.target import Level, Target

_UNROLL = 8
"""Registers that are moved in one turn of the loop."""

_MOVED = 8 << 20
"""Bytes of a call: some tenths of a millisecond."""

_FRESH = 4 << 20
"""Bytes of fresh pages that are written to."""


def levels(machine: Target) -> Iterator[Level]:
    """Every cache, with arrays of half its size, and memory, with four times the last cache's."""
    sizes = [(f"L{cache.level}", cache.size, cache.size // 2) for cache in machine.caches]
    beyond = min(4 * machine.caches[-1].size, 256 << 20)
    for name, size, footprint in [*sizes, ("memory", 0, beyond)]:
        read = _rate("read", footprint)
        shared = _rate("read", footprint, machine.logical_cores)
        yield Level(name, size, read, _rate("write", footprint), max(read, shared))


def page_seconds(machine: Target) -> float:
    """To ask for a page, write to it, and give it back, beyond what writing to it again takes."""
    fresh: list[float] = []
    again: list[float] = []
    for _ in range(8):
        start = time.thread_time()
        with mmap.mmap(-1, _FRESH) as memory:
            array = np.frombuffer(memory, np.uint8)[:: machine.page_bytes]
            array[:] = 1
            between = time.thread_time()
            array[:] = 1
            again.append(time.thread_time() - between)
            del array
        fresh.append(time.thread_time() - start - again[-1])
    return max(1e-9, (min(fresh) - min(again)) * machine.page_bytes / _FRESH)


def _rate(kind: str, footprint: int, threads: int = 1) -> float:
    """Bytes a second, every thread in a stretch of its own."""
    step = target.current().lanes("f32") * _UNROLL
    length = max(1, footprint // (4 * threads * step)) * step
    repeats = max(1, _MOVED // (4 * length * threads))
    kernel = _kernel(kind)
    works: list[Work] = [
        partial(kernel, aligned(length, "f32"), aligned(step, "f32"), repeats)
        for _ in range(threads)
    ]
    seconds = seconds_of(works[0], rounds=9) if threads == 1 else seconds_together(works)
    moved: float = 4 * length * threads * repeats
    return moved / seconds


@cache
def _kernel(kind: str) -> Any:
    """`f(array, register, repeats)`: all of the array is read, or written, again and again."""
    lanes = target.current().lanes("f32")
    vector, memory = f"vector<{lanes}xf32>", "memref<?xf32>"
    turns = range(_UNROLL)
    places = [f"%p{turn} = arith.addi %i, %o{turn} overflow<nsw> : index" for turn in turns]
    if kind == "read":
        moves = [
            f"%v{turn} = vector.load %array[%p{turn}] : {memory}, {vector}\n"
            f"%n{turn} = arith.addf %b{turn}, %v{turn} : {vector}"
            for turn in turns
        ]
    else:
        moves = [
            f"vector.store %b{turn}, %array[%p{turn}] : {memory}, {vector}\n"
            f"%n{turn} = arith.addf %b{turn}, %zero : {vector}"
            for turn in turns
        ]
    types = ", ".join([vector] * _UNROLL)
    given = ", ".join(f"%a{turn} = %zero" for turn in turns)
    inner = ", ".join(f"%b{turn} = %a{turn}" for turn in turns)
    yields = ", ".join(f"%n{turn}" for turn in turns)
    offsets = [f"%o{turn} = arith.constant {turn * lanes} : index" for turn in turns]
    stores = [f"vector.store %r#{turn}, %register[%o{turn}] : {memory}, {vector}" for turn in turns]
    newline = "\n"
    text = f"""
    func.func @move(%array: {memory}, %register: {memory}, %repeats: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %step = arith.constant {lanes * _UNROLL} : index
      %zero = arith.constant dense<0.0> : {vector}
      {newline.join(offsets)}
      %length = memref.dim %array, %c0 : {memory}
      %r:{_UNROLL} = scf.for %again = %c0 to %repeats step %c1
          iter_args({given}) -> ({types}) {{
        %s:{_UNROLL} = scf.for %i = %c0 to %length step %step
            iter_args({inner}) -> ({types}) {{
          {newline.join([*places, *moves])}
          scf.yield {yields} : {types}
        }}
        scf.yield {", ".join(f"%s#{turn}" for turn in turns)} : {types}
      }}
      {newline.join(stores)}
      return
    }}"""
    return compile(text, trusted=True, checked=False)
