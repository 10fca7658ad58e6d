"""Instruction counts of the hot loops of some kernels, free of a machine's noise.

    python -m benchmarks instructions             # as they are now, beside those on record
    python -m benchmarks.instructions --record    # put them on record: benchmarks/instructions.json
    valgrind --tool=callgrind python -m benchmarks.instructions --run "matmul f32"   # executed ones

The code is compiled for AVX2 and for AVX-512, whatever this machine is, and disassembled. The loop
that counts is, in each kernel, the innermost one with the most arithmetic on vectors. The record
holds, for each loop, the instructions of one round, the multiply-adds among them, and the loads and
stores. It also counts instructions that are there by mistake: registers spilled to the stack,
gathers, calls. Valgrind knows no AVX-512: kernels that it runs are compiled for AVX2.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import linalg_ext as lx
from linalg_ext.explain.hot_loops import Loop, hot_loop

RECORD = Path(__file__).with_name("instructions.json")
TARGETS = ("avx2", "avx512")


def hottest(assembly: str) -> Loop:
    """The hot loop of a function.

    Raises:
        ValueError: there is no loop.
    """
    if (numbered_loop := hot_loop(assembly)) is None:
        raise ValueError("the code has no loop")
    return numbered_loop[1]


Kernel = tuple[Callable[..., Any], tuple[tuple[int, ...], ...], str]


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + lx.ops.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _biased(a: Any, b: Any, c: Any) -> Any:
    return lx.ops.relu(lx.ops.add(lx.ops.matmul(a, b), c, broadcast_rhs=[0]))


KERNELS: Mapping[str, Kernel] = {
    "matmul f32": (lambda a, b: a @ b, ((512, 512), (512, 512)), "f4"),
    "matmul f64": (lambda a, b: a @ b, ((512, 512), (512, 512)), "f8"),
    "matmul f32, odd sizes": (lambda a, b: a @ b, ((301, 211), (211, 157)), "f4"),
    "matmul + bias + relu": (_biased, ((512, 512), (512, 512), (512,)), "f4"),
    "batched 16^3": (lx.ops.batch_matmul, ((64, 16, 16), (64, 16, 16)), "f4"),
    "a * b + c": (lambda a, b, c: a * b + c, ((1 << 16,),) * 3, "f4"),
    "gelu (tanh)": (_gelu, ((1 << 16,),), "f4"),
    "exp": (lambda x: lx.ops.exp(x), ((1 << 16,),), "f4"),
    "sum of rows": (lambda x: lx.ops.row_sum(x), ((256, 1024),), "f4"),
}


def compiled(name: str, target: str) -> Any:
    """A kernel of `KERNELS`, for a target."""
    function, shapes, dtype = KERNELS[name]
    arrays = [np.ones(shape, dtype) for shape in shapes]
    with lx.target.using(target):
        return lx.jit(function).lower(*arrays).compile()


def counted(words: Sequence[str] = ()) -> dict[str, Loop]:
    """The hot loops of the kernels whose name has one of the words, for every target."""
    return {
        f"{name}, {target}": hottest(compiled(name, target).asm())
        for name in KERNELS
        for target in TARGETS
        if not words or any(word in name for word in words)
    }


def recorded() -> dict[str, Loop]:
    """The record."""
    return {name: Loop(**loop) for name, loop in json.loads(RECORD.read_text()).items()}


def run(words: Sequence[str] = ()) -> int:
    """Print the loops beside those on record; 1 where one has become worse."""
    record, worse = recorded(), 0
    table = Table("kernel", "instructions", "fused", "loads", "stores", "spills", "each", box=None)
    for name, loop in counted(words).items():
        before = record.get(name)
        is_worse = before is not None and is_regression(loop, before)
        worse |= is_worse
        table.add_row(
            name,
            *(str(count) for count in (loop.instructions, loop.fused, loop.loads, loop.stores)),
            str(loop.spills),
            f"{loop.overhead:.3f}"
            + (f" (was {before.overhead:.3f})" if is_worse and before else ""),
        )
    Console().print(table)
    return int(worse)


def is_regression(now: Loop, before: Loop) -> bool:
    """Return whether a loop takes more instructions than before, or more spills or calls."""
    return (
        now.spills > before.spills
        or now.gathers > before.gathers
        or now.calls > before.calls
        or now.overhead > _TOLERANCE * before.overhead
    )


_TOLERANCE = 1.02
"""The factor that leaves room for one reload of an address."""


def _main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--record"]:
        loops = {name: asdict(loop) for name, loop in counted().items()}
        RECORD.write_text(json.dumps(loops, indent=1) + "\n")
        return 0
    if arguments[:1] == ["--run"] and len(arguments) == 2 and arguments[1] in KERNELS:
        _, shapes, dtype = KERNELS[arguments[1]]
        kernel = compiled(arguments[1], "avx2")
        for _ in range(10):
            kernel(*(np.ones(shape, dtype) for shape in shapes))
        return 0
    if arguments[:1] == ["--run"]:
        print(f"--run takes one of {', '.join(KERNELS)}", file=sys.stderr)
        return 2
    return run(arguments)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
