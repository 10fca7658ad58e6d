"""What is left of a row beyond whole vectors: its last elements once more, or a masked vector."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernels import kernel
from linalg_ext.transforms.codegen.vectorization import vectorize_loops as file
from loop_texts import function, generic
from machines import registers

DTYPES = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8}
LENGTHS = [0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 65, 100]
PARALLEL = ["parallel", "parallel"]


bits = registers(file, 128, 256)
"""Of machines on which masks are dear."""


def random(dtype: Any, *shape: int) -> Any:
    return np.random.default_rng(0).integers(0, 5, shape).astype(dtype)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("size", ["?", 65])
def test_rows_that_are_read_alone(element: str, size: Any) -> None:
    row, whole = (f"memref<{shape}x{element}>" for shape in (size, f"?x{size}"))
    operands = [("%a", row), ("%o", whole)]
    add = "addi" if element == "i8" else "addf"
    body = f"%r = arith.{add} %in0, %in0 : {element}"
    run = kernel(function(operands, generic(["j", "i, j"], PARALLEL, operands, body)))
    is_masked = "vector.maskedstore" in run.as_text("loops")
    assert is_masked == (size == "?")  # for rows that are shorter than a vector
    for length in LENGTHS if size == "?" else [size]:
        a, out = random(DTYPES[element], length), np.full((4, length), 9, DTYPES[element])
        run(a, out)
        np.testing.assert_array_equal(out, np.broadcast_to(a + a, out.shape))


@pytest.mark.parametrize("element", [*DTYPES, "i1"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 11])
def test_short_rows_of_a_known_length_are_stored_in_pieces(element: str, size: int) -> None:
    """The columns behind a row belong to another part of the matrix."""
    operands = [("%a", f"memref<{size}x{element}>"), ("%o", f"memref<?x{size}x{element}>")]
    text = function(operands, generic(["j", "i, j"], PARALLEL, operands, "")).replace("%r", "%in0")
    run = kernel(text)
    assert "maskedstore" not in run.as_text("loops")
    dtype = DTYPES.get(element, np.bool_)
    a, out = random(dtype, size), np.ones((9, size), dtype)
    run(a, out[:4])
    np.testing.assert_array_equal(out[:4], np.broadcast_to(a, (4, size)))
    assert (out[4:] == 1).all()


@pytest.mark.parametrize("element", ["f32", "i8"])
def test_nothing_is_added_twice(element: str) -> None:
    operands = [("%a", f"memref<?x?x{element}>"), ("%o", f"memref<?x{element}>")]
    add = "addi" if element == "i8" else "addf"
    body = f"%r = arith.{add} %out0, %in0 : {element}"
    nest = generic(["i, j", "i"], ["parallel", "reduction"], operands, body)
    run = kernel(function(operands, nest))
    for length in LENGTHS:
        a, out = random(DTYPES[element], 3, length), np.ones(3, DTYPES[element])
        run(a, out)
        np.testing.assert_array_equal(out, (1 + a.sum(1)).astype(out.dtype))


@pytest.mark.parametrize("size", ["?", 65])
def test_what_is_written_in_place_is_computed_once(size: Any) -> None:
    operands = [("%a", f"memref<{size}xf32>"), ("%o", f"memref<?x{size}xf32>")]
    body = "%r = arith.addf %out0, %in0 : f32"
    run = kernel(function(operands, generic(["j", "i, j"], PARALLEL, operands, body)))
    for length in LENGTHS if size == "?" else [size]:
        a, out = random(np.float32, length), np.ones((4, length), np.float32)
        run(a, out)
        np.testing.assert_array_equal(out, np.broadcast_to(1 + a, out.shape))


def test_what_another_op_overwrites_is_read_once() -> None:
    a, b, row = ("%a", "memref<?x?xf32>"), ("%b", "memref<?x?xf32>"), ("%c", "memref<?xf32>")
    maps, body = ["i, j", "j", "i, j"], "%r = arith.addf %in0, %in1 : f32"
    there = generic(maps, PARALLEL, [a, row, b], body)
    back = generic(maps, PARALLEL, [b, row, a], body)
    run = kernel(function([a, b, row], there, back))
    for length in LENGTHS:
        x, y = random(np.float32, 2, 4, length)
        given, more = x.copy(), np.ones(length, np.float32)
        run(x, y, more)
        np.testing.assert_array_equal(y, given + 1)
        np.testing.assert_array_equal(x, given + 2)
