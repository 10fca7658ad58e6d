"""Products of small matrices: rows added to one row, all in one round where they are few."""

from __future__ import annotations

import numpy as np
import pytest

from guarded_memory import guarded
from kernels import kernel
from linalg_ext.transforms.codegen.vectorization import vectorize_loops as file
from loop_texts import function, generic
from machines import registers

bits = registers(file, 128, 512)


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


def test_few_rows_are_one_round(request: pytest.FixtureRequest) -> None:
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
    # A machine without masks of bits writes three elements as two and one.
    has_masks = "[512]" in request.node.name
    assert loops.count("store") == (1 if has_masks else 2)
    rng = np.random.default_rng(1)
    x, y = (rng.integers(-9, 9, (5, 3, 3)).astype(np.float32) for _ in range(2))
    out = guarded(np.ones((5, 3, 3), np.float32))
    run(guarded(x), guarded(y), out)
    np.testing.assert_array_equal(out, 1 + np.abs(x) @ np.abs(y))


def reduced(inner: str, maps: list[str], kinds: list[str], types: list[str], body: str) -> str:
    """A function of one generic over `inner` on operands of some types, the last the result."""
    shown = ", ".join(f"affine_map<({inner}) -> ({each})>" for each in maps)
    names = [f"%a{number}" for number in range(len(types))]
    element = types[0].rpartition("x")[2].rstrip(">")
    block = ", ".join(f"%x{number}: {element}" for number in range(len(types)))
    return f"""
    func.func @f({", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))}) {{
      linalg.generic {{indexing_maps = [{shown}],
                      iterator_types = [{", ".join(f'"{kind}"' for kind in kinds)}]}}
        ins({", ".join(names[:-1])} : {", ".join(types[:-1])}) outs({names[-1]} : {types[-1]}) {{
      ^bb0({block}):
        {body}
        linalg.yield %r : {element}
      }}
      return
    }}"""


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (1, 5), (5, 1), (4, 2), (2, 9)])
def test_rows_with_rows(size: int, rows: int, columns: int) -> None:
    types = [f"memref<?x{a}x{b}xf32>" for a, b in ((rows, size), (columns, size), (rows, columns))]
    body = """%p = arith.mulf %x0, %x1 : f32
      %q = math.absf %p : f32
      %r = arith.addf %x2, %q : f32"""
    maps = ["b, i, k", "b, j, k", "b, i, j"]
    kinds = ["parallel", "parallel", "parallel", "reduction"]
    run = kernel(reduced("b, i, j, k", maps, kinds, types, body))
    rng = np.random.default_rng(0)
    for count in (0, 1, 7):
        x, y = (
            rng.integers(-9, 9, (count, each, size)).astype(np.float32) for each in (rows, columns)
        )
        out = guarded(np.ones((count, rows, columns), np.float32))
        run(guarded(x), guarded(y), out)
        np.testing.assert_array_equal(out, 1 + np.abs(x) @ np.abs(y).transpose(0, 2, 1))


@pytest.mark.parametrize(
    ("shape", "element", "is_on_vectors"),
    [
        ("?x3x3", "f32", True),
        ("?x5x2", "i64", True),
        ("?x3", "f32", False),  # whole vectors, taken apart
        ("?x2x4x2", "f64", True),
        ("?x3x3", "i8", False),  # no machine gathers bytes
        ("?x100x3", "f32", False),
    ],
)
def test_what_would_be_gathered(shape: str, element: str, is_on_vectors: bool) -> None:
    sizes = shape.split("x")
    dims = ", ".join("ijkl"[: len(sizes)])
    kinds = ["parallel"] * (len(sizes) - 1) + ["reduction"]
    types = [f"memref<{shape}x{element}>", f"memref<{'x'.join(sizes[:-1])}x{element}>"]
    add = "addf" if element.startswith("f") else "addi"
    body = f"%r = arith.{add} %x1, %x0 : {element}"
    run = kernel(reduced(dims, [dims, dims[:-3]], kinds, types, body))
    assert ("vector." in run.as_text("loops")) == is_on_vectors
    dtype = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i8": np.int8}[element]
    for count in (0, 1, 7):
        whole = [count, *map(int, sizes[1:])]
        a = np.random.default_rng(0).integers(-9, 9, whole).astype(dtype)
        out = guarded(np.ones(whole[:-1], dtype))
        run(guarded(a), out)
        np.testing.assert_array_equal(out, (1 + a.sum(-1)).astype(dtype))
