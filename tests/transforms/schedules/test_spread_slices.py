"""What is padded and then inserted with steps lands where it should, whatever step comes after."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import linalg_ext as lx

STEPS: dict[str, Callable[[lx.Schedule], lx.Schedule]] = {
    "fold_unit_extents": lambda s: s.fold_unit_extents(),
    "propagate_packs": lambda s: s.propagate_packs(),
    "simplify": lambda s: s.simplify(),
    "fuse_elementwise": lambda s: s.fuse_elementwise(),
}

PLANE = """
func.func @main(%x: tensor<3x2xTYPE>, %step: index) -> tensor<1x9x7xTYPE> {
  %zero = arith.constant ZERO : TYPE
  %p = tensor.pad %x low[1, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : TYPE
  } : tensor<3x2xTYPE> to tensor<4x4xTYPE>
  %e = tensor.empty() : tensor<9x7xTYPE>
  %zeros = linalg.fill ins(%zero : TYPE) outs(%e : tensor<9x7xTYPE>) -> tensor<9x7xTYPE>
  %r = tensor.insert_slice %p into %zeros[1, 0] [4, 4] [%step, 2]
    : tensor<4x4xTYPE> into tensor<9x7xTYPE>
  %wide = tensor.expand_shape %r [[0, 1], [2]] output_shape [1, 9, 7]
    : tensor<9x7xTYPE> into tensor<1x9x7xTYPE>
  %f = tensor.empty() : tensor<1x9x7xTYPE>
  %s = linalg.add ins(%wide, %wide : tensor<1x9x7xTYPE>, tensor<1x9x7xTYPE>)
    outs(%f : tensor<1x9x7xTYPE>) -> tensor<1x9x7xTYPE>
  return %s : tensor<1x9x7xTYPE>
}
"""
"""Steps that are known and a step that is not."""

LATE = """
func.func @main(%x: tensor<3xf32>) -> tensor<11xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<3xf32> to tensor<5xf32>
  %open = tensor.cast %p : tensor<5xf32> to tensor<?xf32>
  %e = tensor.empty() : tensor<1x11xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<1x11xf32>) -> tensor<1x11xf32>
  %flat = tensor.collapse_shape %zeros [[0, 1]] : tensor<1x11xf32> into tensor<11xf32>
  %c5 = arith.constant 5 : index
  %r = tensor.insert_slice %open into %flat[1] [%c5] [2] : tensor<?xf32> into tensor<11xf32>
  return %r : tensor<11xf32>
}
"""
"""The pad and the fill come to light while patterns are applied."""


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("kind", "zero"), [("f32", "0.0"), ("i32", "0"), ("f64", "2.5")])
def test_planes(step: str, kind: str, zero: str) -> None:
    module = lx.parse(PLANE.replace("TYPE", kind).replace("ZERO", zero))
    STEPS[step](lx.Schedule(module))
    assert "unrealized" not in str(module)
    x = np.arange(1, 7).reshape(3, 2).astype({"f": np.float32, "i": np.int32}[kind[0]])
    x = x.astype(np.float64) if kind == "f64" else x
    wanted = np.full((1, 9, 7), float(zero)).astype(x.dtype)
    wanted[0, 3::2, 2:5:2] = x
    np.testing.assert_array_equal(lx.compile(module)(x, 2), 2 * wanted)


@pytest.mark.parametrize("step", STEPS)
def test_what_becomes_a_pad_on_the_way(step: str) -> None:
    module = lx.parse(LATE)
    STEPS[step](lx.Schedule(module))
    x = np.array([1, 2, 3], np.float32)
    wanted = np.array([0, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0], np.float32)
    np.testing.assert_array_equal(lx.compile(module)(x), wanted)


def test_the_rest_is_still_simplified() -> None:
    """Unit dimensions go around what is inserted with steps, too."""
    module = lx.parse(PLANE.replace("TYPE", "f32").replace("ZERO", "0.0"))
    lx.Schedule(module).match("linalg.add").generalize().fold_unit_extents()
    (line,) = [line for line in str(module).splitlines() if "linalg.generic" in line]
    assert '"parallel", "parallel"]' in line
    assert "1x9x7" not in line
