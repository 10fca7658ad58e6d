"""Much work at once, and much in a row: what only shows under load.

PYTHONPATH=tests/support python -m stress threads --count 1000
PYTHONPATH=tests/support python -m stress memory --count 10000    # 25 ms of a core each
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import linalg_ext as lx

Array = np.ndarray[Any, Any]

_MODULE = """
func.func @f(%a: tensor<{m}x{n}xf32>, %b: tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %c = arith.constant dense<{k}.0> : tensor<{m}x{n}xf32>
  %0 = arith.addf %a, %b : tensor<{m}x{n}xf32>
  %1 = arith.mulf %0, %c : tensor<{m}x{n}xf32>
  return %1 : tensor<{m}x{n}xf32>
}}
"""


def compile_and_call(threads: int, count: int) -> list[str]:
    """Have threads compile and call kernels of many shapes, all at once.

    Args:
        threads: how many.
        count: how many kernels each compiles. It calls each of them, and one of its older ones.

    Returns:
        What went wrong, a line each.
    """

    def work(seed: int) -> list[str]:
        dice = random.Random(seed)
        known: list[Callable[[], bool]] = []
        wrong = []
        for number in range(count):
            known.append(dice.choice(_WAYS)(dice))
            if not (known[-1]() and dice.choice(known)()):
                wrong.append(f"thread {seed}, kernel {number}: a wrong result")
        return wrong

    with ThreadPoolExecutor(threads) as pool:
        return [line for lines in pool.map(work, range(threads)) for line in lines]


def _module(dice: random.Random) -> Callable[[], bool]:
    m, n, k = dice.randint(1, 40), dice.randint(1, 40), dice.randint(2, 9)
    kernel = lx.compile(_MODULE.format(m=m, n=n, k=k), trusted=True)
    a, b = _arrays((m, n), (m, n))
    return lambda: np.array_equal(kernel(a, b), (a + b) * np.float32(k))


def _op(dice: random.Random) -> Callable[[], bool]:
    m, n, k = (dice.randint(1, 24) for _ in range(3))
    a, b = _arrays((m, k), (k, n))
    return lambda: np.allclose(lx.ops.matmul(a, b), a @ b)


def _einsum(dice: random.Random) -> Callable[[], bool]:
    m, n, k = (dice.randint(1, 24) for _ in range(3))
    a, b = _arrays((k, m), (n, k))
    return lambda: np.allclose(lx.einsum("km,nk->mn", a, b), a.T @ b.T)


def _jit(dice: random.Random) -> Callable[[], bool]:
    m, n, k = dice.randint(1, 40), dice.randint(1, 40), dice.randint(2, 9)
    (a,) = _arrays((m, n))
    function = lx.jit(lambda x: x * np.float32(k) + x)
    return lambda: np.allclose(function(a), a * k + a)


_WAYS = (_module, _op, _einsum, _jit)


def _arrays(*shapes: tuple[int, ...]) -> list[Array]:
    return [(np.arange(m * n, dtype=np.float32) % 7).reshape(m, n) for m, n in shapes]


def growth(count: int, *, warm: int = 120) -> float:
    """Compile kernels, of a dozen kinds in turn, call each once and drop it.

    Args:
        count: how many.
        warm: how many come before. What is remembered of kinds, and contexts that are lent again,
            are there by then.

    Returns:
        By how many bytes the process is larger for each of the `count`.
    """
    for number in range(warm):
        _one(number)
    before = _resident()
    for number in range(warm, warm + count):
        _one(number)
    return (_resident() - before) / count


def _one(number: int) -> None:
    m, n, k = 1 + number % 4, 2 + number % 3, 2 + number % 2
    kernel = lx.compile(_MODULE.format(m=m, n=n, k=k), trusted=True)
    a, b = _arrays((m, n), (m, n))
    if not np.array_equal(kernel(a, b), (a + b) * np.float32(k)):
        raise AssertionError(f"kernel {number} is wrong")


def _resident() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="stress", description=__doc__)
    parser.add_argument("what", choices=("threads", "memory"))
    parser.add_argument("--count", type=int, default=1000)
    given = parser.parse_args()
    os.environ["LINALG_EXT_CACHE_DIR"] = "off"  # what is kept on disk is not compiled
    if given.what == "threads":
        wrong = compile_and_call(8, given.count)
        print("\n".join(wrong) or f"8 threads, {given.count} kernels each: all right")
        return 1 if wrong else 0
    print(f"{given.count} kernels: {growth(given.count) / 1024:.2f} KiB each stay behind")
    return 0


if __name__ == "__main__":
    sys.exit(main())
