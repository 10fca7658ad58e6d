"""Products of small matrices: rows added to one row, all in one round where they are few."""

from __future__ import annotations

import numpy as np
import pytest

from guarded_memory import guarded
from kernels import kernel
from linalg_ext.transforms.codegen._machine import Machine
from linalg_ext.transforms.codegen.loops import vectorize_loops as file
from loop_texts import function, generic


@pytest.fixture(autouse=True, params=[128, 512])
def bits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers of this width."""
    machine = Machine(vector_bytes=request.param // 8, vector_registers=16)
    monkeypatch.setattr(file, "this_machine", lambda: machine)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 9])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 7, 17])
@pytest.mark.parametrize("swapped", [False, True])
def test_any_sizes(size: int, columns: int, swapped: bool) -> None:
    shape = (columns, size) if swapped else (size, columns)
    types = [f"memref<?x{size}xf32>", f"memref<{shape[0]}x{shape[1]}xf32>"]
    types.append(f"memref<?x{columns}xf32>")
    operands = list(zip(("%a", "%b", "%c"), types, strict=True))
    # No contraction, which would be packed.
    body = """%p = arith.mulf %in0, %in1 : f32
      %q = math.absf %p : f32
      %r = arith.addf %out0, %q : f32"""
    maps = ["i, k", "j, k" if swapped else "k, j", "i, j"]
    kinds = ["parallel", "parallel", "reduction"]
    run = kernel(function(operands, generic(maps, kinds, operands, body)))
    rng = np.random.default_rng(0)
    for rows in (0, 1, 5):
        x, y = (rng.integers(-9, 9, each).astype(np.float32) for each in ((rows, size), shape))
        out = guarded(np.ones((rows, columns), np.float32))
        expected = 1 + np.abs(x) @ np.abs(y.T if swapped else y)
        run(guarded(x), guarded(y), out)
        np.testing.assert_array_equal(out, expected)


def test_few_rows_are_one_round() -> None:
    body = """%p = arith.mulf %in0, %in1 : f32
      %q = math.absf %p : f32
      %r = arith.addf %out0, %q : f32"""
    dims = "(b, i, j, k)"
    maps = ", ".join(
        f"affine_map<{dims} -> ({each})>" for each in ("b, i, k", "b, k, j", "b, i, j")
    )
    text = f"""
    func.func @f(%a: memref<?x3x3xf32>, %b: memref<?x3x3xf32>, %c: memref<?x3x3xf32>) {{
      linalg.generic {{indexing_maps = [{maps}],
                      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
        ins(%a, %b : memref<?x3x3xf32>, memref<?x3x3xf32>) outs(%c : memref<?x3x3xf32>) {{
      ^bb0(%in0: f32, %in1: f32, %out0: f32):
        {body}
        linalg.yield %r : f32
      }}
      return
    }}"""
    run = kernel(text)
    loops = run.as_text("loops")
    assert loops.count("scf.for") == 2
    assert loops.count("store") == 1
    rng = np.random.default_rng(1)
    x, y = (rng.integers(-9, 9, (5, 3, 3)).astype(np.float32) for _ in range(2))
    out = guarded(np.ones((5, 3, 3), np.float32))
    run(guarded(x), guarded(y), out)
    np.testing.assert_array_equal(out, 1 + np.abs(x) @ np.abs(y))
