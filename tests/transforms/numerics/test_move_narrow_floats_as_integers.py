"""Narrow floats in memory: the text of the documentation, and code for CPUs without them."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.target import Target
from linalg_ext.transforms.numerics.move_narrow_floats_as_integers import (
    move_narrow_floats_as_integers,
)
from targets import runnable_targets

TEXT = """
llvm.func @f(%p: !llvm.ptr, %m: vector<8xi1>, %z: vector<8xELEMENT>) {
  %v = llvm.intr.masked.load %p, %m, %z {alignment = 2 : i32}
    : (!llvm.ptr, vector<8xi1>, vector<8xELEMENT>) -> vector<8xELEMENT>
  llvm.intr.masked.store %v, %p, %m {alignment = 2 : i32}
    : vector<8xELEMENT>, vector<8xi1> into !llvm.ptr
  llvm.return
}"""


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_both_are_of_integers(element: str) -> None:
    module = lx.parse(TEXT.replace("ELEMENT", element))
    assert move_narrow_floats_as_integers(module).changed.total() == 2
    lines = str(module).splitlines()
    masked = [line for line in lines if "masked" in line]
    assert all("vector<8xi16>" in line and f"x{element}" not in line for line in masked)
    assert sum("llvm.bitcast" in line for line in lines) == 3


@pytest.mark.parametrize("type_", ["bf16", "f16", "vector<1xbf16>", "vector<16xf16>"])
def test_so_are_those_without_a_mask(type_: str) -> None:
    module = lx.parse(f"""
    llvm.func @f(%p: !llvm.ptr, %q: !llvm.ptr) {{
      %v = llvm.load %p {{alignment = 2 : i64}} : !llvm.ptr -> {type_}
      llvm.store %v, %q {{alignment = 2 : i64}} : {type_}, !llvm.ptr
      llvm.return
    }}""")
    assert move_narrow_floats_as_integers(module).changed.total() == 2
    bits = type_.replace("bf16", "i16").replace("f16", "i16")
    text = str(module)
    assert f"!llvm.ptr -> {bits}" in text
    assert f": {bits}, !llvm.ptr" in text


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_so_are_elements_of_vectors(element: str) -> None:
    module = lx.parse(f"""
    llvm.func @f(%x: {element}, %n: i32, %c: i1) -> {element} {{
      %p = llvm.mlir.poison : vector<4x{element}>
      %v = llvm.insertelement %x, %p[%n : i32] : vector<4x{element}>
      %w = llvm.shufflevector %v, %p [0, 0, 0, 0] : vector<4x{element}>
      %s = llvm.select %c, %v, %w : i1, vector<4x{element}>
      %e = llvm.extractelement %s[%n : i32] : vector<4x{element}>
      llvm.return %e : {element}
    }}""")
    assert move_narrow_floats_as_integers(module).changed.total() == 4
    lines = str(module).splitlines()
    moves = [line for line in lines if re.search("element |vector |select", line)]
    assert len(moves) == 4
    assert not any(element in line for line in moves)


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_so_are_gathers_and_scatters(element: str) -> None:
    module = lx.parse(f"""
    llvm.func @f(%p: vector<8x!llvm.ptr>, %m: vector<8xi1>, %z: vector<8x{element}>) {{
      %v = llvm.intr.masked.gather %p, %m, %z {{alignment = 2 : i32}}
        : (vector<8x!llvm.ptr>, vector<8xi1>, vector<8x{element}>) -> vector<8x{element}>
      llvm.intr.masked.scatter %v, %p, %m {{alignment = 2 : i32}}
        : vector<8x{element}>, vector<8xi1> into vector<8x!llvm.ptr>
      llvm.return
    }}""")
    assert move_narrow_floats_as_integers(module).changed.total() == 2
    masked = [line for line in str(module).splitlines() if "masked" in line]
    assert len(masked) == 2
    assert not any(element in line for line in masked)


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_so_are_values_that_branches_hand_on(element: str) -> None:
    module = lx.parse(f"""
    llvm.func @f(%p: !llvm.ptr, %c: i1) {{
      %v = llvm.load %p : !llvm.ptr -> vector<4x{element}>
      llvm.br ^loop(%v : vector<4x{element}>)
    ^loop(%w: vector<4x{element}>):
      %s = llvm.shufflevector %w, %w [1, 0, 3, 2] : vector<4x{element}>
      llvm.cond_br %c, ^loop(%s : vector<4x{element}>), ^end(%w : vector<4x{element}>)
    ^end(%r: vector<4x{element}>):
      llvm.store %r, %p : vector<4x{element}>, !llvm.ptr
      llvm.return
    }}""")
    assert move_narrow_floats_as_integers(module)
    module.run("canonicalize")
    assert element not in str(module)


def test_others_stay() -> None:
    module = lx.parse(TEXT.replace("ELEMENT", "f32").replace("alignment = 2", "alignment = 4"))
    before = str(module)
    assert not move_narrow_floats_as_integers(module)
    assert str(module) == before


@pytest.mark.parametrize("one", runnable_targets())
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_a_rounded_scalar_fills_a_vector(one: Target, dtype: Any) -> None:
    @lx.jit(dynamic=True)
    def filled(x: Any, like: Any) -> Any:
        return lx.ops.copy(np.broadcast_to((x * x).astype(dtype), like.shape))

    with lx.target.using(one):
        result = filled(np.float32(1.5), np.zeros(70, dtype))
    np.testing.assert_array_equal(result, np.full(70, 2.25, dtype))


@pytest.mark.parametrize("one", runnable_targets())
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("size", [63, 1000])
def test_on_every_cpu(one: Target, dtype: Any, size: int) -> None:
    x = (np.arange(size) % 64).astype(dtype)
    with lx.target.using(one):
        np.testing.assert_array_equal(lx.ops.add(x, x), x + x)


@pytest.mark.parametrize("one", runnable_targets())
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_gathers_and_scatters_on_every_cpu(one: Target, dtype: Any) -> None:
    @lx.jit(dynamic=True)
    def moved(x: Any, places: Any, values: Any) -> Any:
        written = x.copy()
        np.put(written, places, values)
        return written[places]

    x, places = np.zeros(40, dtype), np.array([7, -1, 30, 7, 2])
    values = np.array([1.5, 2.5, 3.5], dtype)
    expected = x.copy()
    np.put(expected, places, values)
    with lx.target.using(one):
        np.testing.assert_array_equal(moved(x, places, values), expected[places])


@pytest.mark.parametrize("one", runnable_targets())
def test_carried_values_on_every_cpu(one: Target) -> None:
    @lx.jit(dynamic=True)
    def place(x: Any, exponent: Any) -> Any:
        return (x**exponent).argmax()

    x = (np.arange(66) % 5 - 2).reshape(2, 33).astype(ml_dtypes.bfloat16)
    with lx.target.using(one):
        assert place(x, ml_dtypes.bfloat16(2)) == np.argmax(x**2)
