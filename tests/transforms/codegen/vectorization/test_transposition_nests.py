"""Inputs that lie across the rows of a result: transposes, by squares in registers."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from guarded_memory import guarded
from kernels import kernel
from linalg_ext.module import Module
from linalg_ext.target import Target
from linalg_ext.transforms.codegen.vectorization.vectorize_loops import vectorize_loops
from loop_texts import function, generic
from targets import runnable_targets

ELEMENTS: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i1": np.bool_,
}
PARALLEL = ["parallel"] * 2
SIZES = [
    (4, 4),
    (5, 7),
    (8, 16),
    (16, 16),
    (17, 33),
    (31, 16),
    (4, 40),
    (40, 4),
    (12, 100),
    (64, 9),
]
"""Below, at and above each multiple of a square, and sizes that are not those of a square."""


def transpose(shape: tuple[int | None, ...], order: tuple[int, ...], element: str) -> str:
    def type_(sizes: Any) -> str:
        return "memref<" + "x".join("?" if n is None else str(n) for n in sizes) + f"x{element}>"

    source, target = type_(shape), type_(shape[axis] for axis in order)
    return f"""
    func.func @f(%a: {source}, %o: {target}) {{
      linalg.transpose ins(%a : {source}) outs(%o : {target}) permutation = {list(order)}
      return
    }}"""


def example(shape: tuple[int, ...], dtype: Any) -> Any:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("one", runnable_targets())
@pytest.mark.parametrize("element", ELEMENTS)
def test_matrices(one: Target, element: str) -> None:
    with lx.target.using(one):
        run = kernel(transpose((None, None), (1, 0), element))
        for shape in [*SIZES, (0, 5), (5, 0), (1, 1), (1, 20), (20, 1)]:
            a = example(shape, ELEMENTS[element])
            out = np.empty(shape[::-1], a.dtype)
            run(a, out)
            np.testing.assert_array_equal(out, a.T)


@pytest.mark.parametrize("shape", SIZES)
def test_known_sizes(shape: tuple[int, ...]) -> None:
    a = example(shape, np.float32)
    out = np.empty(shape[::-1], a.dtype)
    kernel(transpose(shape, (1, 0), "f32"))(a, out)
    np.testing.assert_array_equal(out, a.T)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_every_order_of_axes(order: tuple[int, ...]) -> None:
    a = example((5, 6, 7, 18), np.float32)
    out = np.empty([a.shape[axis] for axis in order], a.dtype)
    kernel(transpose(a.shape, order, "f32"))(a, out)
    np.testing.assert_array_equal(out, a.transpose(order))


def test_several_inputs_of_either_kind() -> None:
    a, b = example((37, 37), np.float32), example((37, 37), np.float32) - 50

    @lx.jit
    def f(a: Any, b: Any) -> Any:
        turned = lx.ops.transpose_2d(a)
        return lx.ops.add(lx.ops.mul(turned, b), lx.ops.exp(lx.ops.sub(turned, turned)))

    np.testing.assert_array_equal(f(a, b), a.T * b + 1)


def test_added_in_place() -> None:
    operands = [("%a", "memref<21x35xf32>"), ("%o", "memref<35x21xf32>")]
    body = "%r = arith.addf %in0, %out0 : f32"
    run = kernel(function(operands, generic(["j, i", "i, j"], PARALLEL, operands, body)))
    a = example((21, 35), np.float32)
    out = np.ones((35, 21), np.float32)
    run(a, out)
    np.testing.assert_array_equal(out, a.T + 1)


def test_nothing_beyond_the_arrays_is_touched() -> None:
    for shape in [(17, 33), (4, 9), (30, 5), (16, 16), (31, 31)]:
        a, out = guarded(example(shape, np.float32)), guarded(np.zeros(shape[::-1], np.float32))
        kernel(transpose(shape, (1, 0), "f32"))(a, out)
        np.testing.assert_array_equal(out, a.T)


def test_no_element_is_loaded_alone() -> None:
    operands = [("%a", "memref<64x64xf32>"), ("%o", "memref<64x64xf32>")]
    body = "%r = arith.negf %in0 : f32"
    text = function(operands, generic(["j, i", "i, j"], PARALLEL, operands, body))
    module = Module.parse(text, trusted=True)
    report = vectorize_loops(module, vector_bits=512)
    assert report.changed["linalg.generic"] == 1
    after = str(module)
    assert "memref.load" not in after
    assert after.count("vector.load") == 16
    assert after.count("vector.shuffle") == 64
