"""The overhead of calls: each way of calling, and NumPy's own, in turn.

    python -m benchmarks calls

The arrays have four elements, on which the native code takes some nanoseconds. All ways take turns
in many rounds, and the time of each is that of its quickest round: other load on the machine makes
some slower, and none quicker. The second table has calls that go through Python. Its last one is
several threads that call one kernel.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import linalg_ext as lx
from benchmarks.timing import Work
from linalg_ext.runtime.vectorcall import caller

ADD = """
func.func @add(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
       -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""

_ROUND = 2e-4
"""Seconds that a way has in one round: so short that most of them are not disturbed."""

_WARM = 200
"""Calls before anything is measured: until each of them is known."""


@dataclass
class Layer:
    """Ten arrays."""

    a: Any
    b: Any
    c: Any
    d: Any
    e: Any
    f: Any
    g: Any
    h: Any
    i: Any
    j: Any


def _total(values: Any) -> Any:
    first, *rest = values
    for other in rest:
        first = first + other
    return first


def ways() -> dict[str, Work]:
    """Ways to call NumPy, and this library, on arrays of four elements, by their spelling."""
    return {**_operators(), **_functions()}


def _operators() -> dict[str, Work]:
    """Kernels, ops and einsum."""
    kernel = lx.compile(ADD)
    a, b, out = (np.ones(4, np.float32) for _ in range(3))
    m, n, c, product = (np.ones((2, 2), np.float32) for _ in range(4))
    image, filters = np.ones((1, 3, 3, 1), np.float32), np.ones((2, 2, 1, 1), np.float32)
    ops: Any = lx.ops
    return {
        "np.add(a, b, out=out)": lambda: np.add(a, b, out=out),
        "np.add(a, b)": lambda: np.add(a, b),
        "np.matmul(m, n, out=out)": lambda: np.matmul(m, n, out=product),
        "kernel(a, b, out=out)": lambda: kernel(a, b, out=out),
        "kernel(a, b)": lambda: kernel(a, b),
        "lx.ops.add(a, b, out=out)": lambda: ops.add(a, b, out=out),
        "lx.ops.add(a, b)": lambda: ops.add(a, b),
        "lx.ops.mul(a, 2.0)": lambda: ops.mul(a, 2.0),
        "lx.ops.matmul(A=m, B=n)": lambda: ops.matmul(A=m, B=n),
        "lx.ops.matmul(m, n, init=c)": lambda: ops.matmul(m, n, init=c),
        "lx.ops.conv_2d_nhwc_hwcf(x, w, strides=[1, 1])": lambda: ops.conv_2d_nhwc_hwcf(
            image, filters, strides=[1, 1]
        ),
        'lx.einsum("ij,jk->ik", m, n, out=out)': lambda: lx.einsum("ij,jk->ik", m, n, out=product),
        'lx.einsum("ij,jk->ik", m, n)': lambda: lx.einsum("ij,jk->ik", m, n),
    }


def _functions() -> dict[str, Work]:
    """Jitted functions and their kernels."""
    add = lx.jit(lambda x, y: x + y)
    scaled = lx.jit(lambda x, n: x * n, static_argnames="n")
    of_two = lx.jit(lambda p: p["a"] + p["b"])
    of_dict = lx.jit(lambda p: _total(p.values()))
    of_tuple = lx.jit(_total)
    of_layer = lx.jit(lambda p: _total(vars(p).values()))
    of_layers = lx.jit(lambda p: _total(leaf for weights in p for leaf in weights.values()))
    boxed = lx.jit(lambda x: {"sum": x + x, "parts": (x * x, x)})
    a, b, out = (np.ones(4, np.float32) for _ in range(3))
    two, ten = {"a": a, "b": b}, [np.ones(4, np.float32) for _ in range(10)]
    named, layer = {f"w{index}": array for index, array in enumerate(ten)}, Layer(*ten)
    row, layers = tuple(ten), [{"w": a, "b": b} for _ in range(5)]
    compiled, from_dict = add.lower(a, b).compile(), of_dict.lower(named).compile()
    return {
        "jitted(a, b, out=out)": lambda: add(a, b, out=out),
        "jitted(a, b)": lambda: add(a, b),
        "jitted.lower(a, b).compile(), called (a, b, out=out)": lambda: compiled(a, b, out=out),
        "jitted(x=a, y=b)": lambda: add(x=a, y=b),
        "jitted(a, 2.5)": lambda: add(a, 2.5),
        "jitted(a, 3)": lambda: add(a, 3),
        "jitted(a, n=3), n static": lambda: scaled(a, n=3),
        "jitted({...}), two arrays": lambda: of_two(two),
        "jitted({...}), ten arrays": lambda: of_dict(named),
        "the same, compiled by .lower(...).compile()": lambda: from_dict(named),
        "jitted((...)), ten arrays": lambda: of_tuple(row),
        "jitted(layer), a dataclass of ten arrays": lambda: of_layer(layer),
        "jitted([{...}, ...]), five of two arrays": lambda: of_layers(layers),
        "jitted(a), a dict with a tuple in it as its result": lambda: boxed(a),
    }


def through_python() -> dict[str, Work]:
    """Return calls through Python: those before the native caller is there, and uncommon ones."""
    kernel = lx.compile(ADD)
    add, open_add = lx.jit(lambda x, y: x + y), lx.jit(lambda x, y: x + y, dynamic=True)
    of_dict = lx.jit(lambda p: _total(p.values()))
    a, b = (np.ones(4, np.float32) for _ in range(2))
    named = {f"w{index}": np.ones(4, np.float32) for index in range(10)}
    strided = np.ones(8, np.float32)[::2]
    works: dict[str, Work] = {
        "kernel(a, b), before": lambda: kernel.__call__(a, b),
        "lx.ops.add(a, b), before": lambda: lx.ops.add.__call__(a, b),
        "jitted(a, b), before": lambda: add.__call__(a, b),
        "jitted({...}), ten arrays, before": lambda: of_dict.__call__(named),
        "jitted(a, b), sizes open": lambda: open_add(a, b),
        "kernel(a, b), a of every other element": lambda: kernel(strided, b),
    }
    if find_spec("torch"):
        import torch

        net = lx.from_torch(torch.nn.ReLU().eval(), (torch.ones(4),))
        tensor = torch.ones(4)
        works["lx.from_torch(model, (x,)), called (x)"] = lambda: net(tensor)
    if find_spec("jax"):
        import jax.numpy as jnp

        function, array = lx.from_jax(lambda x: x + 1, jnp.asarray(a)), jnp.asarray(a)
        works["lx.from_jax(fn, x), called (x), an array of JAX's"] = lambda: function(array)
        works["lx.from_jax(fn, x), called (a)"] = lambda: function(a)
    return works


def run(*, quick: bool = False) -> int:
    """Measure, and print the tables."""
    works, slow = ways(), through_python()
    started = time.perf_counter()
    caller.make()
    console = Console()
    console.print(f"the native caller took {1e3 * (time.perf_counter() - started):.0f} ms to make")
    rounds = 300 if quick else 3000
    console.print(_single(works, rounds))
    console.print(_single({**_bar(), **slow}, rounds))
    console.print(_scaling(20_000 if quick else 200_000))
    return 0


_BAR = "np.add(a, b, out=out)"


def _bar() -> dict[str, Work]:
    a, b, out = (np.ones(4, np.float32) for _ in range(3))
    return {_BAR: lambda: np.add(a, b, out=out)}


def _single(works: dict[str, Work], rounds: int) -> Table:
    """One thread, beside an empty function of Python's, whose call is taken off."""
    works = {"": lambda: None, **works}
    for work in works.values():
        for _ in range(_WARM):
            work()
    quickest = {name: _seconds(work, 10) / 10 for name, work in works.items()}
    for _ in range(rounds):
        for name, work in works.items():
            calls = max(1, int(_ROUND / quickest[name]))
            quickest[name] = min(quickest[name], _seconds(work, calls) / calls)
    table = Table("call", "ns", f"of {_BAR}", box=None)
    empty, bar = quickest.pop(""), quickest[_BAR]
    for name, seconds in quickest.items():
        took = seconds - empty
        table.add_row(name.replace("[", r"\["), f"{1e9 * took:.0f}", f"{took / (bar - empty):.2f}")
    return table


def _scaling(calls: int) -> Table:
    """Several threads, each with its own arrays: they share the kernel, and the GIL."""
    kernel = lx.compile(ADD)
    table = Table("threads", "kernel: calls/us", "np.add: calls/us", box=None)
    for count in (1, 2, 4, 8):
        rates = [
            calls / 1e6 / _together(function, count, calls // count)
            for function in (kernel, np.add)
        ]
        table.add_row(str(count), *(f"{rate:.2f}" for rate in rates))
    return table


def _together(function: Callable[..., object], count: int, calls: int) -> float:
    """Return the seconds in which `count` threads make `calls` calls each."""
    go = threading.Barrier(count + 1)

    def work() -> None:
        a, b, out = (np.ones(4, np.float32) for _ in range(3))
        function(a, b, out=out)
        go.wait()
        for _ in range(calls):
            function(a, b, out=out)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    go.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def _seconds(work: Work, calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        work()
    return time.perf_counter() - started
