"""What an element-wise generic adds to is added once, however its result is read."""

from __future__ import annotations

import numpy as np
import pytest

from examples import examples
from kernels import run
from linalg_ext.module import Module
from linalg_ext.transforms.fusion import read_destinations_as_inputs as file

TEXT = """
func.func @f(%a: tensor<?xf32>, %i: tensor<?xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %s = linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]
  } ins(%a : tensor<?xf32>) outs(%i : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %o, %x : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?x3xf32>
  %r = linalg.broadcast ins(%s : tensor<?xf32>) outs(%e : tensor<?x3xf32>) dimensions = [1]
  return %r : tensor<?x3xf32>
}"""


@pytest.mark.parametrize("opt_level", [0, 2])
def test_it_is_added_once(opt_level: int) -> None:
    a, i = np.array([10, 20], np.float32), np.array([1, 2], np.float32)
    result = run(TEXT, a, i.copy(), opt_level=opt_level)
    np.testing.assert_array_equal(result, np.repeat((a + i)[:, None], 3, axis=1))


def test_it_is_added_once_some_ops_before_the_broadcast() -> None:
    square = """%q = linalg.square ins(%s : tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32>
      %e = tensor.empty"""
    text = TEXT.replace("%e = tensor.empty", square)
    text = text.replace("linalg.broadcast ins(%s", "linalg.broadcast ins(%q")
    a, i = np.array([10, 20], np.float32), np.array([1, 2], np.float32)
    result = run(text, a.copy(), i.copy())
    np.testing.assert_array_equal(result, np.repeat(((a + i) ** 2)[:, None], 3, axis=1))


def test_what_no_generic_reads_is_left() -> None:
    """It may be written in place."""
    before, _ = examples(file)[0]
    text = (
        "func.func @f(%a: tensor<2xf32>, %i: tensor<2xf32>, %c: tensor<2x3xf32>)"
        f" -> tensor<2xf32> {{\n{before}\nreturn %s : tensor<2xf32>\n}}"
    )
    assert file.read_destinations_as_inputs(Module.parse(text, trusted=True))
    alone = text[: text.index("%r =")] + "return %s : tensor<2xf32>\n}"
    assert not file.read_destinations_as_inputs(Module.parse(alone, trusted=True))
