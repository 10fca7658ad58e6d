"""Every mistake that a caller of a kernel can make: one clear error, before native code runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linalg_ext import errors
from linalg_ext.compiler import Kernel, compile

ADD = """
func.func @add(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = arith.addf %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
"""

SCALARS = """
func.func @scalars(%f: f32, %i: i8, %n: index, %b: i1) -> (f32, i8, index, i1) {
  return %f, %i, %n, %b : f32, i8, index, i1
}
"""

FILL = """
func.func @fill(%x: f32, %m: memref<2x3xf32>) {
  linalg.fill ins(%x : f32) outs(%m : memref<2x3xf32>)
  return
}
"""


@pytest.fixture(scope="module")
def add() -> Any:
    return compile(ADD, trusted=True)


@pytest.fixture(scope="module")
def scalars() -> Any:
    return compile(SCALARS, trusted=True)


@pytest.fixture(scope="module")
def fill() -> Any:
    return compile(FILL, trusted=True)


def good() -> Any:
    return np.arange(6, dtype=np.float32).reshape(2, 3)


def field_view() -> Any:
    records = np.zeros((2, 3), dtype=[("tag", "u1"), ("value", "f4")])
    records["value"] = good()
    return records["value"]


BAD_INPUTS = {
    "rank": (np.zeros(6, np.float32), errors.ShapeError, "rank 1.*expected rank 2"),
    "shape": (
        np.zeros((2, 4), np.float32),
        errors.ShapeError,
        r"\(2, 4\).*expected shape \(2, 3\)",
    ),
    "too small": (np.zeros((1, 3), np.float32), errors.ShapeError, r"has shape \(1, 3\)"),
    "dtype": (np.zeros((2, 3)), errors.DTypeError, r"float64.*expected float32.*astype"),
    "big-endian": (good().astype(">f4"), errors.DTypeError, "big-endian.*newbyteorder"),
    "object": (good().astype(object), errors.DTypeError, "dtype object.*convert it"),
    "structured": (np.zeros((2, 3), "f4,f4"), errors.DTypeError, "one field at a time"),
    "string": (np.full((2, 3), "1.0"), errors.DTypeError, "<U3.*expected float32"),
    "datetime": (np.zeros((2, 3), "M8[s]"), errors.DTypeError, "datetime64.*np.int64"),
    "masked": (np.ma.masked_array(good(), good() > 2), errors.ArgumentError, "masked.*filled"),
    "None": (None, errors.ArgumentError, "is a NoneType.*expected a NumPy array"),
    "text": ("hello", errors.ArgumentError, "is a str"),
    "set": ({1.0}, errors.ArgumentError, "is a set"),
    "ragged list": ([[1.0, 2.0, 3.0], [4.0]], errors.ShapeError, "makes no array"),
    "list of text": ([["a"] * 3] * 2, errors.DTypeError, "in a list"),
    "complex list": ([[1j] * 3] * 2, errors.DTypeError, "is a Python complex"),
    "Python number": (1.0, errors.ShapeError, "rank 0"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_a_bad_input_is_refused(add: Kernel, case: str) -> None:
    value, kind, message = BAD_INPUTS[case]
    with pytest.raises(kind, match=f"(?s)argument 1 .tensor<2x3xf32>.*{message}"):
        add(good(), value)


def test_the_message_points_at_the_callers_line(add: Kernel) -> None:
    with pytest.raises(errors.ShapeError, match=r"test_bad_arguments.py, line \d+"):
        add(good(), np.zeros(3, np.float32))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_arity(add: Kernel, count: int) -> None:
    with pytest.raises(errors.ArityError, match=f"`add` takes 2 arguments, got {count}"):
        add(*[good()] * count)


BAD_OUTPUTS: dict[str, Any] = {
    "read-only": (lambda: np.broadcast_to(np.float32(0), (2, 3)), errors.LayoutError, "read-only"),
    "shape": (lambda: np.zeros((3, 2), np.float32), errors.ShapeError, r"\(2, 3\)"),
    "rank": (lambda: np.zeros(6, np.float32), errors.ShapeError, r"has shape \(6,\)"),
    "dtype": (lambda: np.zeros((2, 3)), errors.DTypeError, "float64.*expected float32"),
    "big-endian": (lambda: np.zeros((2, 3), ">f4"), errors.DTypeError, "big-endian"),
    "list": (lambda: [[0.0] * 3] * 2, errors.ArgumentError, "out is a list"),
    "number": (lambda: 0.0, errors.ArgumentError, "is a float"),
    "masked": (lambda: np.ma.zeros((2, 3), np.float32), errors.ArgumentError, "masked"),
    "two": (lambda: (good(), good()), errors.ArityError, "out has 2 arrays.*expected 1"),
    "self-overlap": (
        lambda: np.lib.stride_tricks.as_strided(np.zeros(6, np.float32), (2, 3), (4, 4)),
        errors.LayoutError,
        "overlap one another",
    ),
}


@pytest.mark.parametrize("case", BAD_OUTPUTS)
def test_a_bad_out_is_refused(add: Kernel, case: str) -> None:
    make, kind, message = BAD_OUTPUTS[case]
    with pytest.raises(kind, match=f"(?s){message}"):
        add(good(), good(), out=make())


def test_out_may_not_overlap_an_input(add: Kernel) -> None:
    pool = np.arange(9, dtype=np.float32)
    a, out = pool[:6].reshape(2, 3), pool[3:].reshape(2, 3)
    with pytest.raises(errors.AliasingError, match="out shares memory with argument 0"):
        add(a, good(), out=out)
    with pytest.raises(errors.AliasingError, match="out shares memory with argument 1"):
        add(good(), a, out=a)
    np.testing.assert_array_equal(pool, np.arange(9))


def test_interleaved_views_do_not_overlap(add: Kernel) -> None:
    pool = np.zeros((2, 6), np.float32)
    result = add(good(), pool[:, ::2], out=pool[:, 1::2])
    np.testing.assert_array_equal(result, good())


def test_two_outs_may_not_overlap() -> None:
    kernel = compile(
        "func.func @two(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {"
        " return %a, %a : tensor<4xf32>, tensor<4xf32> }",
        trusted=True,
    )
    pool = np.zeros(6, np.float32)
    with pytest.raises(errors.AliasingError, match=r"out\[1\] shares memory with out\[0\]"):
        kernel(np.ones(4, np.float32), out=(pool[:4], pool[2:]))


BAD_SCALARS = {
    "below any integer": ((0.0, 0, -(1 << 63) - 1, True), errors.DTypeError, "integer -92.*int64"),
    "float for int": ((0.0, 1.5, 0, True), errors.DTypeError, "argument 1 .i8. is a Python float"),
    "out of range": ((0.0, 256, 0, True), errors.DTypeError, "integer 256.*-128 to 127.*0 to 255"),
    "negative": ((0.0, -129, 0, True), errors.DTypeError, "integer -129"),
    "huge": ((0.0, 1 << 200, 0, True), errors.DTypeError, "argument 1"),
    "int for bool": ((0.0, 0, 0, 1), errors.DTypeError, "argument 3 .i1. is a Python int"),
    "wrong NumPy": ((np.float64(0), 0, 0, True), errors.DTypeError, "argument 0 .f32..*float64"),
    "array": ((np.zeros(1, np.float32), 0, 0, True), errors.ShapeError, "array.item"),
    "text": (("0", 0, 0, True), errors.ArgumentError, "is a str"),
    "None": ((None, 0, 0, True), errors.ArgumentError, "is a NoneType"),
    "masked": ((np.ma.masked, 0, 0, True), errors.ArgumentError, "masked"),
    "complex": ((1j, 0, 0, True), errors.DTypeError, "is a Python complex"),
}


@pytest.mark.parametrize("case", BAD_SCALARS)
def test_a_bad_scalar_is_refused(scalars: Kernel, case: str) -> None:
    values, kind, message = BAD_SCALARS[case]
    with pytest.raises(kind, match=f"(?s){message}"):
        scalars(*values)


def test_good_scalars(scalars: Kernel) -> None:
    assert scalars(1.5, -128, 1 << 40, True) == (1.5, -128, 1 << 40, True)
    assert scalars(1, 255, np.int64(-3), np.bool_(False)) == (1.0, -1, -3, False)
    assert scalars(np.array(2, np.float32), np.uint8(7), 0, False) == (2.0, 7, 0, False)


def test_a_float_too_large_for_f32_is_infinite(scalars: Kernel) -> None:
    assert scalars(1e300, 0, 0, True)[0] == np.inf


BAD_MEMORY: dict[str, Any] = {
    "read-only": (lambda: np.broadcast_to(good(), (2, 3)), errors.LayoutError, "read-only"),
    "Fortran": (lambda: np.asfortranarray(good()), errors.LayoutError, "row-major.*ascontiguous"),
    "field view": (field_view, errors.LayoutError, "not aligned|strides"),
    "list": (lambda: good().tolist(), errors.ArgumentError, "is a list.*may write"),
    "small": (lambda: np.zeros((2, 2), np.float32), errors.ShapeError, r"\(2, 2\)"),
    "dtype": (lambda: np.zeros((2, 3)), errors.DTypeError, "float64"),
}


@pytest.mark.parametrize("case", BAD_MEMORY)
def test_bad_memory_to_write_is_refused(fill: Kernel, case: str) -> None:
    make, kind, message = BAD_MEMORY[case]
    with pytest.raises(kind, match=f"(?s)argument 1 .memref<2x3xf32>.*{message}"):
        fill(1.0, make())


def test_memory_is_written(fill: Kernel) -> None:
    memory = np.zeros((2, 3), np.float32)
    assert fill(2.5, memory) is None
    np.testing.assert_array_equal(memory, np.full((2, 3), 2.5))


def test_written_memory_may_not_overlap_another_argument() -> None:
    kernel = compile(
        """
        func.func @copy(%a: memref<4xf32>, %b: memref<4xf32>) {
          memref.copy %a, %b : memref<4xf32> to memref<4xf32>
          return
        }
        """,
        trusted=True,
    )
    pool = np.arange(6, dtype=np.float32)
    with pytest.raises(errors.AliasingError, match=r"argument 1 .*shares memory with argument 0"):
        kernel(pool[:4], pool[2:])
    kernel(np.broadcast_to(np.float32(7), 4), pool[:4])  # the first is only read
    np.testing.assert_array_equal(pool, [7, 7, 7, 7, 4, 5])


def test_lists_take_the_dtype_of_the_parameter(add: Kernel) -> None:
    np.testing.assert_array_equal(add([[1, 2, 3], [4, 5, 6]], good()), good() + good() + 1)


def test_a_failed_assertion_gives_the_modules_own_message() -> None:
    kernel = compile(
        """
        func.func @positive(%x: i32) -> i32 {
          %c0 = arith.constant 0 : i32
          %ok = arith.cmpi sgt, %x, %c0 : i32
          cf.assert %ok, "x must be positive"
          return %x : i32
        }
        """,
        trusted=True,
    )
    assert kernel(3) == 3
    with pytest.raises(errors.ExecutionError, match="`positive` stopped: x must be positive"):
        kernel(-3)
    assert kernel(4) == 4


def test_unknown_keywords_are_refused() -> None:
    kernel = compile("func.func @f(%a: f32) -> f32 { return %a : f32 }", trusted=True)
    with pytest.raises(errors.ArityError, match=r"has no argument 'outs'(.|\n)*f\(f32\)"):
        kernel(1.0, outs=None)
