"""Random nests of loops that are not perfect, over small buffers of integers."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.module import Module

SIZE = 7
"""Of every dimension of every buffer; loops and offsets stay well below."""

HEAD = f"""
func.func @f(%a: memref<{SIZE}x{SIZE}xi32>, %c: memref<{SIZE}xi32>, %d: memref<{SIZE}xi32>,
             %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %seven = arith.constant 7 : i32
"""


@st.composite
def nests(draw: st.DrawFn) -> str:
    """A function of two loops, or three, with statements before, in and behind each."""
    numbers = iter(range(1000))
    depth = draw(st.integers(2, 3))

    def statement(ivs: list[str]) -> str:
        number = next(numbers)
        target, source = draw(st.sampled_from("acd")), draw(st.sampled_from("acd"))
        lines = [f"%x{number} = {_read(source, ivs)}"]
        lines.append(f"%y{number} = arith.muli %x{number}, %seven : i32")
        where = draw(st.sampled_from(ivs)) if ivs else "%c0"
        shift = draw(st.sampled_from(["%c0", "%c1", "%c2"]))
        lines.append(f"%p{number} = arith.addi {where}, {shift} : index")
        lines.append(f"%z{number} = {_read(target, [f'%p{number}', *ivs])}")
        lines.append(f"%w{number} = arith.addi %y{number}, %z{number} : i32")
        lines.append(f"memref.store %w{number}, {_place(target, [f'%p{number}', *ivs])}")
        return "\n".join(lines)

    def level(ivs: list[str]) -> str:
        iv = f"%i{len(ivs)}"
        inside = [*ivs, iv]
        upper = draw(st.sampled_from(["%c4", "%n", "%c2"]))
        step = draw(st.sampled_from(["%c1", "%c2"]))
        parts = [statement(inside)] if draw(st.booleans()) else []
        if len(inside) < depth:
            parts.append(level(inside))
            parts += [statement(inside)] if draw(st.booleans()) else []
        elif not parts:
            parts = [statement(inside)]
        body = "\n".join(parts)
        return f"scf.for {iv} = %c0 to {upper} step {step} {{\n{body}\n}}"

    return f"{HEAD}{level([])}\nreturn\n}}"


def _place(buffer: str, ivs: list[str]) -> str:
    if buffer == "a":
        return f"%a[{ivs[0]}, {ivs[-1]}] : memref<{SIZE}x{SIZE}xi32>"
    return f"%{buffer}[{ivs[0]}] : memref<{SIZE}xi32>"


def _read(buffer: str, ivs: list[str]) -> str:
    return f"memref.load {_place(buffer, ivs)}"


Results = list[np.ndarray[tuple[int, ...], np.dtype[np.int32]]]


def results(module: Module | str) -> Results:
    """What the buffers hold afterwards, for several bounds one after another."""
    kernel = lx.compile(module, "f")
    found: Results = []
    for n in (0, 1, 4):
        rng = np.random.default_rng(n)
        shapes = [(SIZE, SIZE), (SIZE,), (SIZE,)]
        buffers = [rng.integers(-9, 9, shape, dtype=np.int32) for shape in shapes]
        kernel(*buffers, n)
        found += buffers
    return found
