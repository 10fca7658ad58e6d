"""Kernels under load: threads, forks, interruptions, and thousands in a row."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.compiler import module_compilation
from linalg_ext.rewriting import pipeline
from linalg_ext.transforms import pipelines
from resources import needs_fork, skip_machine
from stress import compile_and_call, growth

Array = np.ndarray[Any, Any]


def test_threads_that_compile_and_call_at_once() -> None:
    assert compile_and_call(8, 3) == []


def test_kernels_that_are_dropped_leave_little_behind() -> None:
    """A context that stays behind would be megabytes, an engine some hundred KiB each."""
    if sys.platform != "linux":
        skip_machine("Linux, which tells what a process takes")
    assert growth(24, warm=24) < 256 << 10


def _count_compilations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted: list[int] = []
    lower = pipelines.lower_to_llvm

    def counting(*arguments: Any, **keywords: Any) -> Any:
        counted.append(threading.get_ident())
        return lower(*arguments, **keywords)

    monkeypatch.setattr(module_compilation, "lower_to_llvm", counting)
    return counted


WAYS: dict[str, Callable[[Array, Array], Array]] = {
    # Sizes that no other test has: what is compiled once is kept for the process.
    "op": lambda a, b: lx.ops.matmul(a, b),
    "einsum": lambda a, b: lx.einsum("mk,kn->mn", a, b),
    "jit": lx.jit(lambda a, b: a @ b),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_hundred_threads_compile_once(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = _count_compilations(monkeypatch)
    a = np.arange(13 * 29, dtype=np.float32).reshape(13, 29) % 5
    b = np.arange(29 * 11, dtype=np.float32).reshape(29, 11) % 7
    ready = threading.Barrier(100)
    results: list[Array] = []

    def call() -> None:
        ready.wait()
        results.append(WAYS[way](a, b))

    threads = [threading.Thread(target=call) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counted) == 1
    assert len(results) == 100
    assert all(np.array_equal(result, a @ b) for result in results)


@pytest.mark.parametrize("when", [0, 3, 9, 20])
def test_an_interrupted_compilation_leaves_all_usable(
    when: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = pipeline._run_group
    count = 0

    def interrupting(*arguments: Any, **keywords: Any) -> Any:
        nonlocal count
        if count == when:
            signal.raise_signal(signal.SIGINT)
        count += 1
        return run(*arguments, **keywords)

    text = """
    func.func @f(%a: tensor<5x7xf32>, %b: tensor<7x3xf32>, %c: tensor<5x3xf32>) -> tensor<5x3xf32> {
      %0 = linalg.matmul ins(%a, %b : tensor<5x7xf32>, tensor<7x3xf32>)
                         outs(%c : tensor<5x3xf32>) -> tensor<5x3xf32>
      return %0 : tensor<5x3xf32>
    }
    """
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "_run_group", interrupting)
        with pytest.raises(KeyboardInterrupt):
            lx.compile(text)
    a, b, c = np.ones((5, 7), np.float32), np.ones((7, 3), np.float32), np.zeros((5, 3), np.float32)
    results: list[Array] = []
    # In another thread: this one would find free a lock that it holds itself.
    thread = threading.Thread(target=lambda: results.append(lx.compile(text)(a, b, c)))
    thread.start()
    thread.join(60)
    np.testing.assert_array_equal(results[0], a @ b)


FORKS = """
import multiprocessing, os, signal, threading
import numpy as np
import linalg_ext as lx

TEXT = '''
func.func @f(%a: tensor<{0}xf32>) -> tensor<{0}xf32> {{
  %0 = arith.addf %a, %a : tensor<{0}xf32>
  return %0 : tensor<{0}xf32>
}}
'''
double = lx.jit(lambda x: x + x)

def use(size):
    x = np.ones(size, np.float32)
    y = np.ones((1024, 1024), np.float32)
    with lx.threads.using(2):
        return (
            (lx.compile(TEXT.format(size))(x) == 2).all()
            and (double(y) == 2).all()
            and (lx.ops.add(x, x) == 2).all()
            and lx.einsum("i,i->", x, x) == size
        )

def compile_on():
    size = 1000
    while not ended.is_set():
        size += 1
        double(np.ones(size, np.float32))

ended = threading.Event()
assert use(3)
thread = threading.Thread(target=compile_on)
thread.start()
child = os.fork()
if child == 0:
    signal.alarm(120)
    os._exit(0 if use(4) else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert code == 0, code
ended.set()
thread.join()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(use, (3, 5), 1) == [True] * 2
assert use(4)
"""


@needs_fork
def test_forks_after_use_and_amid_compilations() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
