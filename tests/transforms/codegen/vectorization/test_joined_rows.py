"""Short rows that are added to one row: as many at a time as fill registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from guarded_memory import guarded
from kernels import kernel
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.vectorization import vectorize_loops as file
from loop_texts import function, generic

DTYPES: dict[str, Any] = {"f64": np.float64, "f32": np.float32, "i32": np.int32, "i8": np.int8}
ROWS = [0, 1, 2, 7, 31, 64, 65, 191, 192, 193, 1000]
SUMS = ["reduction", "parallel"]


@pytest.fixture(autouse=True, params=[128, 256, 512])
def bits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers of this width."""
    width: int = request.param
    machine = Machine(vector_bytes=width // 8, vector_registers=32 if width == 512 else 16)
    monkeypatch.setattr(file, "this_machine", lambda: machine)


def random(dtype: Any, *shape: int) -> Any:
    return np.random.default_rng(0).integers(-5, 6, shape).astype(dtype)


def is_joined(run: Any) -> bool:
    """Return whether a loop carries what it has found."""
    return "iter_args" in run.as_text("loops")


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("row", [1, 2, 3, 5, 6, 8, 12, 16, 24])
def test_sums_of_any_number_of_rows(element: str, row: int) -> None:
    operands = [("%a", f"memref<?x{row}x{element}>"), ("%o", f"memref<{row}x{element}>")]
    add = "addi" if element.startswith("i") else "addf"
    body = f"%r = arith.{add} %out0, %in0 : {element}"
    run = kernel(function(operands, generic(["i, j", "j"], SUMS, operands, body)))
    for rows in ROWS:
        a, out = (guarded(random(DTYPES[element], *shape)) for shape in ((rows, row), (row,)))
        expected = (out + a.sum(0)).astype(out.dtype)
        run(a, out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("rows", [191, 192, 193, 1000])
def test_a_known_number_of_rows(rows: int) -> None:
    operands = [("%a", f"memref<{rows}x3xf32>"), ("%o", "memref<3xf32>")]
    body = "%r = arith.addf %out0, %in0 : f32"
    run = kernel(function(operands, generic(["i, j", "j"], SUMS, operands, body)))
    assert is_joined(run)
    a, out = guarded(random(np.float32, rows, 3)), guarded(np.ones(3, np.float32))
    run(a, out)
    np.testing.assert_array_equal(out, 1 + a.sum(0))


def test_rows_of_each_slice() -> None:
    operands = [("%a", "memref<5x?x4x2xf32>"), ("%o", "memref<5x4x2xf32>")]
    maps = "affine_map<(b, i, j, k) -> (b, i, j, k)>, affine_map<(b, i, j, k) -> (b, j, k)>"
    text = f"""
    func.func @f(%a: memref<5x?x4x2xf32>, %o: memref<5x4x2xf32>) {{
      linalg.generic {{indexing_maps = [{maps}],
          iterator_types = ["parallel", "reduction", "parallel", "parallel"]}}
        ins(%a : {operands[0][1]}) outs(%o : {operands[1][1]}) {{
      ^bb0(%x: f32, %y: f32):
        %r = arith.maximumf %y, %x : f32
        linalg.yield %r : f32
      }}
      return
    }}"""
    run = kernel(text)
    assert is_joined(run)
    for rows in ROWS:
        a, out = guarded(random(np.float32, 5, rows, 4, 2)), np.full((5, 4, 2), -9, np.float32)
        run(a, out)
        np.testing.assert_array_equal(out, a.max(1, initial=-9))


def test_infinities_and_nan_stay_in_their_column() -> None:
    operands = [("%a", "memref<?x3xf32>"), ("%o", "memref<3xf32>")]
    for op, numpy in (("addf", np.sum), ("maximumf", np.max), ("minimumf", np.min)):
        body = f"%r = arith.{op} %out0, %in0 : f32"
        run = kernel(function(operands, generic(["i, j", "j"], SUMS, operands, body)))
        a = random(np.float32, 100, 3)
        a[97, 1], a[2, 2] = np.nan, np.inf
        out = a[0].copy()
        run(a[1:].copy(), out)
        np.testing.assert_array_equal(out, numpy(a, 0))


def test_a_row_and_a_number_beside_the_rows() -> None:
    a, row, one, out = (
        ("%a", "memref<?x3xf32>"),
        ("%b", "memref<3xf32>"),
        ("%c", "memref<1xf32>"),
        ("%o", "memref<3xf32>"),
    )
    body = """%d = arith.subf %in0, %in1 : f32
      %e = arith.mulf %d, %in2 : f32
      %q = math.exp %e : f32
      %r = arith.addf %out0, %q : f32"""
    operands = [a, row, one, out]
    run = kernel(function(operands, generic(["i, j", "j", "0", "j"], SUMS, operands, body)))
    assert is_joined(run)
    for rows in ROWS:
        x, mean = random(np.float32, rows, 3), random(np.float32, 3)
        scale, found = np.full(1, 0.25, np.float32), np.zeros(3, np.float32)
        run(x, guarded(mean), scale, found)
        exact = np.exp((x - mean).astype(np.float64) / 4).sum(0)
        np.testing.assert_allclose(found, exact, rtol=2e-6)


def test_two_results_of_the_same_rows() -> None:
    operands = [("%a", "memref<?x2xf32>"), ("%o", "memref<2xf32>"), ("%m", "memref<2xf32>")]
    body = """%r = arith.addf %out0, %in0 : f32
      %r1 = arith.maximumf %out1, %in0 : f32"""
    nest = generic(["i, j", "j", "j"], SUMS, operands, body, outputs=2)
    run = kernel(function(operands, nest))
    assert is_joined(run)
    for rows in ROWS:
        a, out, most = random(np.float32, rows, 2), np.ones(2, np.float32), np.zeros(2, np.float32)
        run(a, out, most)
        np.testing.assert_array_equal(out, 1 + a.sum(0))
        np.testing.assert_array_equal(most, a.max(0, initial=0))


def test_truth_values() -> None:
    operands = [("%a", "memref<?x3xi1>"), ("%o", "memref<3xi1>")]
    body = "%r = arith.ori %out0, %in0 : i1"
    run = kernel(function(operands, generic(["i, j", "j"], SUMS, operands, body)))
    assert is_joined(run)
    for rows in ROWS:
        a, out = np.zeros((rows, 3), bool), np.zeros(3, bool)
        if rows:
            a[-1, 1] = True
        run(a, out)
        np.testing.assert_array_equal(out, a.any(0))


def test_rows_of_a_wider_array() -> None:
    """What lies between the rows is not a part of them."""
    wide = "memref<?x3xf32, strided<[8, 1], offset: ?>>"
    operands = [("%a", wide), ("%o", "memref<3xf32>")]
    body = "%r = arith.addf %out0, %in0 : f32"
    run = kernel(function(operands, generic(["i, j", "j"], SUMS, operands, body)))
    assert not is_joined(run)
    a, out = random(np.float32, 193, 8), np.ones(3, np.float32)
    run(a[:, 2:5], out)
    np.testing.assert_array_equal(out, 1 + a[:, 2:5].sum(0))


@pytest.mark.parametrize(
    ("maps", "body"),
    [
        (["i, j", "i", "j"], "%p = arith.mulf %in0, %in1 : f32"),
        (["i, j", "i", "j"], "%p = arith.subf %in0, %in1 : f32"),
    ],
)
def test_a_number_for_each_row(maps: list[str], body: str) -> None:
    operands = [("%a", "memref<?x3xf32>"), ("%b", "memref<?xf32>"), ("%o", "memref<3xf32>")]
    whole = f"{body}\n%q = math.absf %p : f32\n%r = arith.addf %out0, %q : f32"
    run = kernel(function(operands, generic(maps, SUMS, operands, whole)))
    for rows in ROWS:
        a, b, out = random(np.float32, rows, 3), random(np.float32, rows), np.ones(3, np.float32)
        run(a, b, out)
        made = a * b[:, None] if "mulf" in body else a - b[:, None]
        np.testing.assert_array_equal(out, 1 + np.abs(made).sum(0))


def test_sums_that_round_too_much_keep_their_order() -> None:
    operands = [("%a", "memref<?x3xf16>"), ("%o", "memref<3xf16>")]
    body = "%r = arith.addf %out0, %in0 : f16"
    run = kernel(function(operands, generic(["i, j", "j"], SUMS, operands, body)))
    assert not is_joined(run)
    a, out = random(np.float16, 1000, 3) / np.float16(16), np.zeros(3, np.float16)
    expected = np.add.accumulate(a, 0)[-1]
    run(a, out)
    np.testing.assert_array_equal(out, expected)
