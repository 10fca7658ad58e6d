"""A chain that no loop over rectangles alone can fuse: rows gathered, gelu, joined, summed.

    python -m benchmarks fusion

Rows of a table of 32 MB are gathered, gelu is taken of them, 32 MB are put beside them, and each
row of these 64 MB is summed: in tiles whose sizes `tile_and_fuse` chooses; by the same module
unfused; by PyTorch where it is installed. On one thread.

The bytes are those of the buffers that the code has at stage `loops`. Arguments and results are
read or written once; intermediate buffers are written and read. A buffer that is made again in each
round of a loop counts once: it is the same memory, and stays in the caches.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import linalg_ext as lx
from benchmarks.peers import Array, set_threads, work
from benchmarks.timing import compare
from linalg_ext.bindings import ir
from linalg_ext.transforms.analysis.buffers import element_bytes
from linalg_ext.transforms.ir_utils.walking import select

ROWS, COLUMNS = 4096, 2048
MOST_BYTES, MOST_TIME = 0.4, 0.85
"""The most bytes and time of the fused module, as shares of the unfused one's.

Both compute the same, which is most of the time. Neither faults in new pages.
"""

_HALF, _WHOLE, _SUMS = (
    f"tensor<{shape}xf32>" for shape in (f"{ROWS}x{COLUMNS}", f"{ROWS}x{2 * COLUMNS}", f"{ROWS}")
)
_INDICES = f"tensor<{ROWS}x1xi64>"

TEXT = f"""
#each = affine_map<(i, j) -> (i, j)>
func.func @sums(%table: {_HALF}, %rows: {_INDICES}, %beside: {_HALF}) -> {_SUMS} {{
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %root = arith.constant {math.sqrt(0.5):.9f} : f32
  %e = tensor.empty() : {_HALF}
  %taken = "linalg_ext.gather"(%table, %rows, %e) : ({_HALF}, {_INDICES}, {_HALF}) -> {_HALF}
  %gelu = linalg.generic {{indexing_maps = [#each, #each],
                          iterator_types = ["parallel", "parallel"]}}
      ins(%taken : {_HALF}) outs(%e : {_HALF}) {{
  ^bb0(%x: f32, %out: f32):
    %scaled = arith.mulf %x, %root : f32
    %erf = math.erf %scaled : f32
    %twice = arith.addf %erf, %one : f32
    %halved = arith.mulf %x, %half : f32
    %y = arith.mulf %halved, %twice : f32
    linalg.yield %y : f32
  }} -> {_HALF}
  %w = tensor.empty() : {_WHOLE}
  %both = "linalg_ext.concatenate"(%gelu, %beside, %w) {{dimension = 1 : i64,
      operandSegmentSizes = array<i32: 1, 1, {"0, " * 23}1>}}
      : ({_HALF}, {_HALF}, {_WHOLE}) -> {_WHOLE}
  %s = tensor.empty() : {_SUMS}
  %start = linalg.fill ins(%zero : f32) outs(%s : {_SUMS}) -> {_SUMS}
  %sums = linalg.reduce {{arith.addf}} ins(%both : {_WHOLE}) outs(%start : {_SUMS}) dimensions = [1]
  return %sums : {_SUMS}
}}"""


def run(*, quick: bool = False) -> int:
    """Print the figures; 1 where the fused module is beyond a bar."""
    arrays = _arrays()
    unfused = lx.compile(lx.parse(TEXT))
    module = lx.parse(TEXT)
    lx.transforms.tile_and_fuse(module)
    fused = lx.compile(module)
    np.testing.assert_allclose(fused(*arrays), unfused(*arrays), rtol=1e-4, atol=1e-2)
    seconds = 1.0 if quick else 5.0
    with lx.threads.using(1):
        set_threads(1)
        beside = compare(lambda: fused(*arrays), lambda: unfused(*arrays), seconds=seconds)
        peer = _torch(arrays)
        theirs = peer and compare(lambda: fused(*arrays), peer, seconds=seconds)
    moved = [moved_bytes(kernel) for kernel in (fused, unfused)]
    table = Table("gather, gelu, concat, row-sum", "time", "bytes moved", box=None)
    for name, time, size in zip(
        ("fused", "unfused"), (beside.ours, beside.theirs), moved, strict=True
    ):
        table.add_row(name, f"{1e3 * time:.1f} ms", f"{size / 1e6:.1f} MB")
    if theirs:
        table.add_row("torch", f"{1e3 * theirs.theirs:.1f} ms", "")
    shares = moved[0] / moved[1], 1 / beside.ratio
    table.add_row("fused / unfused", f"{shares[1]:.2f}", f"{shares[0]:.2f}")
    table.add_row("at most", f"{MOST_TIME}", f"{MOST_BYTES}")
    Console().print(table)
    return int(shares[0] > MOST_BYTES or shares[1] > MOST_TIME)


def moved_bytes(kernel: lx.Kernel) -> int:
    """Return the bytes that a kernel moves: its arguments once, its own buffers twice."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(kernel.stages["loops"])
        allocations = select(module, lambda op: op.name in ("memref.alloc", "memref.alloca"))
        (main,) = select(module, lambda op: op.name == "func.func")
        arguments = list(main.regions[0].blocks[0].arguments)
        own = sum(_bytes(op.results[0].type) for op in allocations)
        return 2 * own + sum(_bytes(value.type) for value in arguments)


def _bytes(type_: Any) -> int:
    return math.prod(map(int, type_.shape)) * int(element_bytes(type_.element_type))


def _arrays() -> list[Array]:
    rng = np.random.default_rng(0)
    table, beside = (rng.standard_normal((ROWS, COLUMNS)).astype(np.float32) for _ in range(2))
    return [table, rng.integers(0, ROWS, (ROWS, 1)), beside]


def _torch(arrays: list[Array]) -> Any:
    try:
        import torch
    except ImportError:
        return None

    def chain(table: Any, rows: Any, beside: Any) -> Any:
        gathered = torch.nn.functional.gelu(table[rows[:, 0]])
        return torch.cat([gathered, beside], 1).sum(1)

    return work("torch", {"torch": chain}, arrays)
