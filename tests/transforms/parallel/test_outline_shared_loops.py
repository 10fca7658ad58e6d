"""Loops over slices as functions: the example, and what a slice takes from around it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.errors import ExecutionError
from linalg_ext.executable import code_variants
from linalg_ext.module import Module
from linalg_ext.transforms.parallel import _partition
from linalg_ext.transforms.parallel import outline_shared_loops as file


@pytest.fixture(autouse=True)
def _every_loop_is_worth_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_partition, "WORTH_SHARING", 0)
    monkeypatch.setattr(_partition, "LEAST_SLICE", 1e-3)
    monkeypatch.setattr(code_variants, "LEAST_BYTES", 0)


def test_a_loop_that_is_not_in_slices_stays() -> None:
    text = examples(file)[0][0].replace("{linalg_ext.slices = 2 : i64}", "")
    module = Module.parse(text, trusted=True)
    assert not file.outline_shared_loops(module)
    assert "scf.forall" in str(module)


def test_what_is_given_is_no_status_though_no_loop_is_left() -> None:
    text = """
    func.func @entry(%status: memref<1xi64>)
        attributes {linalg_ext.status, linalg_ext.threads = 2 : i64} { return }"""
    module = Module.parse(text, trusted=True)
    file.outline_shared_loops(module)
    assert "memref.store %c0_i64, %arg0" in str(module)


TAKEN = """
func.func @f(%a: memref<6x5xf32>, %h: f16, %i: i8, %c: complex<f32>, %n: index,
             %o: memref<6x5xf32>) {
  %h32 = arith.extf %h : f16 to f32
  %v = vector.broadcast %h32 : f32 to vector<5xf32>
  %two = arith.constant 2.0 : f32
  %own = memref.alloc() : memref<f32>
  memref.store %two, %own[] : memref<f32>
  %six = arith.constant 6 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.parallel (%r) = (%zero) to (%six) step (%one) {
    %row = vector.load %a[%r, %zero] : memref<6x5xf32>, vector<5xf32>
    %re = complex.re %c : complex<f32>
    %i32 = arith.sitofp %i : i8 to f32
    %n64 = arith.index_cast %n : index to i64
    %n32 = arith.sitofp %n64 : i64 to f32
    %h1 = arith.extf %h : f16 to f32
    %d = memref.load %own[] : memref<f32>
    %s0 = arith.addf %re, %i32 : f32
    %s1 = arith.addf %s0, %n32 : f32
    %s2 = arith.addf %s1, %d : f32
    %s3 = arith.addf %s2, %h1 : f32
    %s = vector.broadcast %s3 : f32 to vector<5xf32>
    %x = arith.mulf %row, %v : vector<5xf32>
    %y = arith.addf %x, %s : vector<5xf32>
    vector.store %y, %o[%r, %zero] : memref<6x5xf32>, vector<5xf32>
    scf.reduce
  }
  memref.dealloc %own : memref<f32>
  return
}
"""


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_slice_has_all_that_is_around_it(threads: int) -> None:
    """Buffers, vectors, and scalars of every kind: narrow floats and complex ones too."""
    kernel = lx.compile(TAKEN)
    a = np.arange(30, dtype=np.float32).reshape(6, 5)
    o = np.full_like(a, np.nan)
    kernel(a, np.float16(1.5), np.int8(-3), np.complex64(4 + 9j), 100, o, threads=threads)
    np.testing.assert_array_equal(o, a * 1.5 + (4 - 3 + 100 + 2 + 1.5))


FAILS = """
func.func @f(%a: memref<40xi32>, %o: memref<40xi32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %all = arith.constant 40 : index
  scf.parallel (%i) = (%zero) to (%all) step (%one) {
    %x = memref.load %a[%i] : memref<40xi32>
    %none = arith.constant 0 : i32
    %good = arith.cmpi sge, %x, %none : i32
    cf.assert %good, "it is negative"
    %small = arith.constant 9 : i32
    %fits = arith.cmpi sle, %x, %small : i32
    cf.assert %fits, "it is large"
    memref.store %x, %o[%i] : memref<40xi32>
    scf.reduce
  }
  return
}
"""


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_what_fails_in_a_slice_is_reported(threads: int) -> None:
    """By the message of the first slice that fails, whichever thread comes first."""
    kernel = lx.compile(FAILS)
    a: np.ndarray[Any, Any] = np.zeros(40, np.int32)
    kernel(a, np.empty_like(a), threads=threads)
    for _ in range(20):
        a[[3, 37]] = -1, 100
        with pytest.raises(ExecutionError, match="it is negative"):
            kernel(a, np.empty_like(a), threads=threads)
        a[[3, 37]] = 100, -1
        with pytest.raises(ExecutionError, match="it is large"):
            kernel(a, np.empty_like(a), threads=threads)


def test_loops_that_are_alike_are_one_function() -> None:
    """Slices of layers that are alike were compiled once for each layer."""
    loop = """
      scf.forall (%slice) in (2) {{
        %one = arith.constant {one} : f32
        memref.store %one, %{buffer}[%slice] : memref<8xf32>
      }} {{linalg_ext.slices = 2 : i64}}"""
    cases = (("1.0", "a"), ("2.0", "a"), ("1.0", "b"))
    loops = "".join(loop.format(one=one, buffer=buffer) for one, buffer in cases)
    module = Module.parse(
        "func.func @entry(%a: memref<8xf32>, %b: memref<8xf32>, %status: memref<1xi64>)"
        f" attributes {{linalg_ext.status}} {{{loops} return }}",
        trusted=True,
    )
    assert file.outline_shared_loops(module).changed["scf.forall"] == 3
    text = str(module)
    assert text.count("func.func private") == 2
    assert re.findall(r"constant @entry_slices_(\d)", text) == ["0", "1", "0"]


def test_layers_that_are_alike_give_what_they_gave() -> None:
    w = np.random.default_rng(0).standard_normal((3, 40, 40)).astype(np.float32) / 6

    def layers(x: Any, w: Any) -> Any:
        for layer in w:
            x = np.tanh(x @ layer)
        return x

    x = np.ones((64, 40), np.float32)
    kernel = lx.jit(lambda x, u, v, w: layers(x, (u, v, w)))
    np.testing.assert_allclose(kernel(x, *w, threads=2), layers(x, w), rtol=1e-4, atol=1e-5)
