"""Random nests of loops that carry two tensors and a number, and read a third tensor."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.module import Module

SIZE = 7
"""Of every dimension of every tensor; loops and offsets stay well below."""

TYPES = {"a": f"tensor<{SIZE}x{SIZE}xi32>", "c": f"tensor<{SIZE}xi32>", "d": f"tensor<{SIZE}xi32>"}
CARRIED = f"({TYPES['c']}, {TYPES['d']}, i32)"

HEAD = f"""
func.func @f(%a: {TYPES["a"]}, %c: {TYPES["c"]}, %d: {TYPES["d"]}, %n: index) -> {CARRIED} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %seven = arith.constant 7 : i32
"""


@st.composite
def tensor_nests(draw: st.DrawFn) -> str:
    """A function of two loops, or three, with statements before, in and behind each."""
    numbers = iter(range(1000))
    depth = draw(st.integers(1, 3))
    lines: list[str] = []

    def statement(ivs: list[str], held: dict[str, str]) -> None:
        number = next(numbers)
        target = draw(st.sampled_from(["c", "d", "s"]))
        source = draw(st.sampled_from(["a", "a", "c0", "c", "d"]))
        outer, inner = draw(st.sampled_from([(ivs[0], ivs[-1]), (ivs[-1], ivs[0])]))
        shift = draw(st.sampled_from(["%c0", "%c0", "%c0", "%c1", "%c2"]))
        lines.append(f"%p{number} = arith.addi {outer}, {shift} : index")
        # `%c` itself is what the nest begins with.
        value = {"a": "%a", "c0": "%c"}.get(source) or held[source]
        at = f"{inner}, %p{number}" if source == "a" else draw(st.sampled_from(ivs))
        lines.append(f"%x{number} = tensor.extract {value}[{at}] : {TYPES[source[0]]}")
        lines.append(f"%m{number} = arith.muli %x{number}, %seven : i32")
        if target == "s":
            lines.append(f"%t{number} = arith.addi {held['s']}, %m{number} : i32")
            held["s"] = f"%t{number}"
            return
        at = f"{held[target]}[%p{number}]"
        if draw(st.sampled_from([True, True, False])):
            lines.append(f"%y{number} = tensor.extract {at} : {TYPES[target]}")
            lines.append(f"%z{number} = arith.addi %y{number}, %m{number} : i32")
        else:
            lines.append(f"%z{number} = arith.addi %m{number}, %seven : i32")
        lines.append(f"%u{number} = tensor.insert %z{number} into {at} : {TYPES[target]}")
        held[target] = f"%u{number}"

    def level(ivs: list[str], held: dict[str, str]) -> None:
        number, iv = next(numbers), f"%i{len(ivs)}"
        upper, step = draw(st.sampled_from(["%c4", "%n"])), draw(st.sampled_from(["%c1", "%c2"]))
        inits = ", ".join(f"%{name}_{number} = {held[name]}" for name in "cds")
        head = f"scf.for {iv} = %c0 to {upper} step {step} iter_args({inits})"
        lines.append(f"%r{number}:3 = {head} -> {CARRIED} {{")
        inner = {name: f"%{name}_{number}" for name in "cds"}
        inside = [*ivs, iv]
        if len(inside) == depth or draw(st.booleans()):
            statement(inside, inner)
        if len(inside) < depth:
            level(inside, inner)
            if draw(st.booleans()):
                statement(inside, inner)
        yielded = ", ".join(inner[name] for name in "cds")
        lines.append(f"scf.yield {yielded} : {CARRIED[1:-1]}\n}}")
        for place, name in enumerate("cds"):
            held[name] = f"%r{number}#{place}"

    held = {"c": "%c", "d": "%d", "s": "%seven"}
    level([], held)
    lines.append(f"return {', '.join(held[name] for name in 'cds')} : {CARRIED[1:-1]}")
    return HEAD + "\n".join(lines) + "\n}"


Arrays = list[np.ndarray[tuple[int, ...], np.dtype[np.int32]]]


def results(module: Module | str) -> Arrays:
    """What the nest gives, for several bounds one after another."""
    kernel = lx.compile(module, "f")
    found: Arrays = []
    for n in (0, 1, 4):
        rng = np.random.default_rng(n)
        shapes = [(SIZE, SIZE), (SIZE,), (SIZE,)]
        found += kernel(*(rng.integers(-9, 9, shape, dtype=np.int32) for shape in shapes), n)
    return found
