"""Parallel loops, and what loops carry, raised to structured ops: the numbers of the loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ScheduleError
from raised_loops import same_effect

PARALLEL = """
func.func @f(%a: memref<5x7xf32>, %c: memref<7x5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  scf.parallel (%i, %j) = (%c1, %c0) to (%c5, %c7) step (%c1, %c2) {
    %x = memref.load %a[%i, %j] : memref<5x7xf32>
    %y = math.exp %x : f32
    memref.store %y, %c[%j, %i] : memref<7x5xf32>
    scf.reduce
  }
  return
}"""

AFFINE = """
func.func @f(%a: memref<?x?xf32>, %c: memref<?x?xf32>, %m: index, %n: index) {
  affine.parallel (%i, %j) = (0, 0) to (symbol(%m), symbol(%n)) {
    %x = affine.load %a[%i, %j] : memref<?x?xf32>
    affine.store %x, %c[%j, %i] : memref<?x?xf32>
  }
  return
}"""

NESTED = """
func.func @f(%a: memref<5x7xf32>, %c: memref<7x5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %zero = arith.constant 0.0 : f32
  %seven = arith.constant 7.0 : f32
  scf.parallel (%i) = (%c0) to (%c5) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%c7) step (%c1) init (%zero) -> f32 {
      %x = memref.load %a[%i, %j] : memref<5x7xf32>
      scf.reduce(%x : f32) {
      ^bb0(%one: f32, %other: f32):
        %y = arith.addf %one, %other : f32
        scf.reduce.return %y : f32
      }
    }
    %mean = arith.divf %sum, %seven : f32
    memref.store %mean, %c[%c1, %i] : memref<7x5xf32>
    scf.reduce
  }
  return
}"""
"""Means of rows."""


@pytest.mark.parametrize("text", [PARALLEL, NESTED], ids=["elements", "means"])
def test_parallel_loops(text: str) -> None:
    module = lx.parse(text)
    lx.Schedule(module).raise_loops()
    assert "scf." not in str(module)
    assert "was_parallel" not in str(module)
    same_effect(text, module, (5, 7), (7, 5))


def test_parallel_loops_of_affine_and_open_sizes() -> None:
    module = lx.parse(AFFINE)
    assert lx.transforms.raise_loops(module)
    assert "linalg.generic" in str(module)
    a, c = np.random.default_rng(0).random((3, 4), np.float32), np.zeros((4, 3), np.float32)
    lx.compile(module, "f")(a, c, 3, 4)
    np.testing.assert_array_equal(c, a.T)


REDUCTIONS: dict[str, tuple[np.ufunc, Any, Any]] = {
    "addf": (np.add, 0.5, np.float32),
    "mulf": (np.multiply, 0.5, np.float64),
    "maximumf": (np.maximum, 0.5, np.float32),
    "minimumf": (np.minimum, 0.5, np.float64),
    "addi": (np.add, 3, np.int32),
    "muli": (np.multiply, 3, np.int64),
    "maxsi": (np.maximum, 3, np.int8),
    "minsi": (np.minimum, 3, np.int16),
    "andi": (np.bitwise_and, -5, np.int32),
    "ori": (np.bitwise_or, 8, np.int64),
    "xori": (np.bitwise_xor, 8, np.int32),
}
KINDS = {np.float32: "f32", np.float64: "f64", np.int8: "i8", np.int16: "i16"} | {
    np.int32: "i32",
    np.int64: "i64",
}

REDUCED = """
func.func @f(%a: HOLDER<?x7xTYPE>, %n: index) -> TYPE {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %start = arith.constant START : TYPE
  LOOPS
  return %r : TYPE
}"""
AT_ONCE = """
  %r = scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c7) step (%c1, %c2) init (%start) -> TYPE {
    %x = READ %a[%i, %j] : HOLDER<?x7xTYPE>
    scf.reduce(%x : TYPE) {
    ^bb0(%one: TYPE, %other: TYPE):
      %y = arith.OP %one, %other : TYPE
      scf.reduce.return %y : TYPE
    }
  }"""
IN_TURN = """
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %start) -> TYPE {
    %row = scf.for %j = %c0 to %c7 step %c2 iter_args(%one = %s) -> TYPE {
      %x = READ %a[%i, %j] : HOLDER<?x7xTYPE>
      %y = arith.OP %x, %one : TYPE
      scf.yield %y : TYPE
    }
    scf.yield %row : TYPE
  }"""


@pytest.mark.parametrize("holder", ["memref", "tensor"])
@pytest.mark.parametrize("loops", [AT_ONCE, IN_TURN], ids=["parallel", "for"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_is_reduced_to_one_number(name: str, loops: str, holder: str) -> None:
    function, start, dtype = REDUCTIONS[name]
    text = REDUCED.replace("LOOPS", loops).replace("OP", name).replace("START", str(start))
    text = text.replace("READ", {"memref": "memref.load", "tensor": "tensor.extract"}[holder])
    text = text.replace("HOLDER", holder).replace("TYPE", KINDS[dtype])
    module = lx.parse(text)
    lx.Schedule(module).raise_loops()
    assert "scf." not in str(module)
    kernel = lx.compile(module, "f")
    for rows in (5, 1, 0):
        a = (np.random.default_rng(rows).random((rows, 7)) * 20 + 1).astype(dtype)
        wanted = function.reduce(a[:, ::2].ravel(), initial=dtype(start))
        np.testing.assert_allclose(kernel(a, rows), wanted, rtol=1e-5)


SCATTER = """
func.func @f(%a: memref<8xf32>, %at: memref<8xindex>, %c: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %where = memref.load %at[%i] : memref<8xindex>
    %x = memref.load %a[%i] : memref<8xf32>
    memref.store %x, %c[%where] : memref<8xf32>
    scf.reduce
  }
  MORE
  return
}"""


def test_what_is_no_structured_op_stays_parallel_and_says_where() -> None:
    text = SCATTER.replace("MORE", "")
    module = lx.parse(text, filename="scatter.mlir")
    before = str(module)
    with pytest.raises(ScheduleError, match=r"sum of multiples.*scf.parallel at .*:6:3"):
        lx.Schedule(module).raise_loops()
    assert str(module) == before
    report = lx.transforms.raise_loops(module)
    assert not report
    assert "scf.parallel at" in str(report)
    assert str(module) == before


def test_of_two_loops_one_is_raised() -> None:
    more = PARALLEL[PARALLEL.index("scf.parallel") : PARALLEL.index("  return")]
    more = more.replace("%c[%j, %i]", "%c[%j]").replace("%a[%i, %j]", "%a[%j]")
    more = more.replace("7x5", "8").replace("5x7", "8").replace("%i, %j) =", "%j) =")
    more = more.replace("(%c1, %c0) to (%c5, %c7) step (%c1, %c2)", "(%c0) to (%c8) step (%c1)")
    text = SCATTER.replace("MORE", more)
    module = lx.parse(text)
    lx.Schedule(module).raise_loops()
    assert str(module).count("scf.parallel") == 1
    assert str(module).count("linalg.generic") == 1
    assert "was_parallel" not in str(module)
    a, at = np.random.default_rng(0).random(8, np.float32), np.arange(8)[::-1].copy()
    c = np.zeros(8, np.float32)
    lx.compile(module, "f")(a, at, c)
    np.testing.assert_allclose(c, np.exp(a), rtol=1e-6)


def test_in_a_function_by_itself() -> None:
    module = lx.parse(PARALLEL)
    module.run("func.func(linalg-ext-raise-loops)")
    assert "scf." not in str(module)
    same_effect(PARALLEL, module, (5, 7), (7, 5))


MEANS = """
func.func @f(%a: memref<8x6xf32>, %c: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  scf.forall (%i) in (8) {
    %sum = scf.for %j = %c0 to %c6 step %c1 iter_args(%s = %zero) -> (f32) {
      %x = memref.load %a[%i, %j] : memref<8x6xf32>
      %u = arith.addf %s, %x : f32
      scf.yield %u : f32
    }
    %e = arith.divf %sum, %six : f32
    memref.store %e, %c[%i] : memref<8xf32>
  }
  return
}"""


def test_what_is_computed_of_a_sum_and_stored_has_the_place_of_the_sum() -> None:
    module = lx.parse(MEANS)
    lx.Schedule(module).raise_loops()
    assert "alloca" not in str(module)
    assert "scf.for " not in str(module)
    same_effect(MEANS, module, (8, 6), (8,))
