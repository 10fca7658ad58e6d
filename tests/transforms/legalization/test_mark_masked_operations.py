"""A masked operation is not taken for an equal one that has no mask."""

from __future__ import annotations

import numpy as np

from examples import check_documented, examples_of
from kernels import run
from linalg_ext.module import Module
from linalg_ext.transforms.legalization import mark_masked_operations as file

BOTH = """
func.func @f(%m: memref<4xf32>, %k: vector<4xi1>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %x = vector.load %m[%c0] : memref<4xf32>, vector<4xf32>
  %all = vector.reduction <add>, %x : vector<4xf32> into f32
  %some = vector.mask %k { vector.reduction <add>, %x : vector<4xf32> into f32 }
            : vector<4xi1> -> f32
  return %all, %some : f32, f32
}
"""


def test_the_example() -> None:
    module = check_documented(
        file.mark_masked_operations, examples_of(file.mark_masked_operations)[0]
    )
    module.run("cse", trusted=True)
    assert str(module).count("vector.reduction") == 2


def test_upstreams_cse_still_needs_it() -> None:
    module = Module.parse(BOTH, trusted=True).run("cse", trusted=True)
    assert str(module).count("vector.reduction") == 1


def test_values() -> None:
    text = BOTH.replace(", %k: vector<4xi1>", "").replace(
        "%c0 =", "%k = arith.constant dense<[true, false, true, false]> : vector<4xi1>\n%c0 =", 1
    )
    for checked in (True, False):
        assert run(text, np.array([1, 2, 4, 8], np.float32), checked=checked) == (15, 5)
