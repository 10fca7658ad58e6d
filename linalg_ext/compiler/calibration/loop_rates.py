"""The rates of loops over elements, and the start-up times of loops, nests and calls.

Each is measured on a module that goes through the usual pipeline, so that it holds for the code
that later modules become.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from linalg_ext.compiler import compile
from linalg_ext.compiler.calibration.timing import seconds_of
from linalg_ext.target.performance import BESIDE_FUNCTIONS, FUNCTIONS

_ELEMENTS = 16384
"""Elements that functions are taken of: in the second cache with their results."""

_SHORT, _LONG = 8, 40
"""Lengths of two chains; the difference is of the operations alone."""

_OPS = {
    "divide": "arith.divf {x}, %c : f32",
    "simple": "arith.addf {x}, %c : f32",
    "pow": "math.powf {x}, %c : f32",
}
_CROWD = (*["simple"] * 2, "exp", "simple", "tanh", *["simple"] * 5, "sqrt", "simple")
"""The ops of a typical loop with several functions."""

_MAP = "affine_map<(i) -> (i)>"


def function_rates() -> list[tuple[str, float]]:
    """Results a second of each of `FUNCTIONS`."""
    return [(name, _function_rate(name)) for name in FUNCTIONS]


def crowding(rates: Mapping[str, float]) -> float:
    """Return the factor by which functions take longer where one loop has several of them.

    The loop has simple ops too. The part of their time that stays visible is subtracted.

    Args:
        rates: of each function by itself.
    """
    apart = {name: _ELEMENTS / rate for name, rate in rates.items()}
    simple = BESIDE_FUNCTIONS * _CROWD.count("simple") * apart["simple"]
    functions = sum(apart[name] for name in _CROWD if name != "simple")
    return max(1.0, (_own_seconds([_op(name) for name in _CROWD]) - simple) / functions)


def call_seconds() -> float:
    """A call of a kernel that does next to nothing."""
    return _seconds(_chain(["arith.addf {x}, %c : f32"], 1), [np.ones(1, np.float32)])


def scalar_rate() -> float:
    """Elements a second of a loop that is not vectorized: a table that is read at indices."""
    text = f"""
    func.func @f(%t: tensor<1024xf32>, %i: tensor<{_ELEMENTS}xindex>) -> tensor<{_ELEMENTS}xf32> {{
      %e = tensor.empty() : tensor<{_ELEMENTS}xf32>
      %r = linalg.generic {{indexing_maps = [{_MAP}, {_MAP}], iterator_types = ["parallel"]}}
          ins(%i : tensor<{_ELEMENTS}xindex>) outs(%e : tensor<{_ELEMENTS}xf32>) {{
      ^bb0(%at: index, %o: f32):
        %v = tensor.extract %t[%at] : tensor<1024xf32>
        linalg.yield %v : f32
      }} -> tensor<{_ELEMENTS}xf32>
      return %r : tensor<{_ELEMENTS}xf32>
    }}"""
    places = np.arange(_ELEMENTS, dtype=np.int64) * 7 % 1024
    return _ELEMENTS / _seconds(text, [np.ones(1024, np.float32), places])


def loop_seconds() -> float:
    """To begin an innermost loop: many short sums beside few long ones."""
    times = []
    for rows, columns in ((2048, 16), (64, 512)):
        array = np.ones((rows, columns), np.float32)
        times.append((_seconds(_row_sums(rows, columns), [array]), rows))
    (many, most), (few, least) = times
    return max(1e-10, (many - few) / (most - least))


def nest_seconds() -> float:
    """To begin a nest: a long chain of small ones that cannot be fused beside a short chain."""
    array = np.ones((8, 8), np.float32)
    short, long = (_seconds(_small_nests(count), [array]) for count in (2, 34))
    return max(1e-9, (long - short) / 32)


def _function_rate(name: str) -> float:
    if name != "simple":
        return _ELEMENTS / _own_seconds([_op(name)])
    short, long = (_chain_seconds([_op(name)] * count) for count in (_SHORT, _LONG))
    return (_LONG - _SHORT) * _ELEMENTS / max(long - short, 1e-9)


def _op(name: str) -> str:
    return _OPS.get(name, f"math.{name} {{x}} : f32")


def _own_seconds(ops: Sequence[str]) -> float:
    """Return the seconds of the ops of a chain, less half the time of an empty loop.

    The other half overlaps with the ops.
    """
    return max(_chain_seconds(ops) - 0.5 * _chain_seconds(()), 1e-9)


def _chain_seconds(ops: Sequence[str]) -> float:
    array = np.linspace(0.5, 1.5, _ELEMENTS, dtype=np.float32)
    return _seconds(_chain(ops, _ELEMENTS), [array])


def _seconds(text: str, arrays: Sequence[Any]) -> float:
    kernel = compile(text, trusted=True, checked=False)
    out = kernel(*arrays)
    return seconds_of(partial(kernel, *arrays, out=out))


def _chain(ops: Sequence[str], length: int) -> str:
    """Ops one after another on each element of a vector."""
    lines = [f"%v{at + 1} = " + op.format(x=f"%v{at}") for at, op in enumerate(ops)]
    body = "\n".join(lines)
    kind = f"tensor<{length}xf32>"
    return f"""
    func.func @f(%x: {kind}) -> {kind} {{
      %c = arith.constant 1.25 : f32
      %e = tensor.empty() : {kind}
      %r = linalg.generic {{indexing_maps = [{_MAP}, {_MAP}], iterator_types = ["parallel"]}}
          ins(%x : {kind}) outs(%e : {kind}) {{
      ^bb0(%v0: f32, %o: f32):
        {body}
        linalg.yield %v{len(ops)} : f32
      }} -> {kind}
      return %r : {kind}
    }}"""


def _row_sums(rows: int, columns: int) -> str:
    given, sums = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>"
    return f"""
    func.func @f(%x: {given}) -> {sums} {{
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : {sums}
      %z = linalg.fill ins(%zero : f32) outs(%e : {sums}) -> {sums}
      %r = linalg.reduce {{ arith.addf }} ins(%x : {given}) outs(%z : {sums}) dimensions = [1]
      return %r : {sums}
    }}"""


def _small_nests(count: int) -> str:
    """Each adds what the one before gave and its transpose: two uses, which no fusion takes."""
    kind, same = "tensor<8x8xf32>", "affine_map<(i, j) -> (i, j)>"
    crossed = "affine_map<(i, j) -> (j, i)>"
    ops = "\n".join(
        f"""%v{at + 1} = linalg.generic {{
          indexing_maps = [{same}, {crossed}, {same}], iterator_types = ["parallel", "parallel"]}}
          ins(%v{at}, %v{at} : {kind}, {kind}) outs(%e : {kind}) {{
        ^bb0(%a: f32, %b: f32, %o: f32):
          %s = arith.addf %a, %b : f32
          linalg.yield %s : f32
        }} -> {kind}"""
        for at in range(count)
    )
    return f"""
    func.func @f(%v0: {kind}) -> {kind} {{
      %e = tensor.empty() : {kind}
      {ops}
      return %v{count} : {kind}
    }}"""
