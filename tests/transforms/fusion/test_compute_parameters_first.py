"""What is small and needs nothing large comes first."""

from __future__ import annotations

import re

import numpy as np

import linalg_ext as lx
from linalg_ext.module import Module

TEXT = """
#v = affine_map<(n) -> (n)>
func.func @f(%a: tensor<200x100xf32>, %b: tensor<100x300xf32>, %v: tensor<300xf32>)
    -> (tensor<200x300xf32>, tensor<15x20xf32>, tensor<300xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<200x300xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<200x300xf32>) -> tensor<200x300xf32>
  %r = linalg.matmul ins(%a, %b : tensor<200x100xf32>, tensor<100x300xf32>)
                     outs(%z : tensor<200x300xf32>) -> tensor<200x300xf32>
  %i = arith.constant 0 : index
  %x = tensor.extract %a[%i, %i] : tensor<200x100xf32>
  %t = tensor.empty() : tensor<300xf32>
  %s = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%v : tensor<300xf32>) outs(%t : tensor<300xf32>) {
  ^bb0(%p: f32, %o: f32):
    %two = arith.addf %p, %p : f32
    linalg.yield %two : f32
  } -> tensor<300xf32>
  %w = tensor.expand_shape %s [[0, 1]] output_shape [15, 20]
    : tensor<300xf32> into tensor<15x20xf32>
  %u = linalg.negf ins(%w : tensor<15x20xf32>) outs(%w : tensor<15x20xf32>) -> tensor<15x20xf32>
  %y = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%v : tensor<300xf32>) outs(%t : tensor<300xf32>) {
  ^bb0(%p: f32, %o: f32):
    %q = arith.mulf %p, %x : f32
    linalg.yield %q : f32
  } -> tensor<300xf32>
  return %r, %u, %y : tensor<200x300xf32>, tensor<15x20xf32>, tensor<300xf32>
}"""


def test_what_hangs_on_something_later_stays() -> None:
    module = Module.parse(TEXT, trusted=True)
    module.run("linalg-generalize-named-ops")
    report = lx.transforms.compute_parameters_first(module)
    module.verify()
    # The double, and its negative behind a reshape; not what takes a number from further down.
    assert report.changed["linalg.generic"] == 2
    body = re.findall(r"arith.(addf|mulf|negf)", str(module))
    assert body[:2] == ["addf", "negf"]
    assert body[-1] == "mulf"


def test_results_are_the_same() -> None:
    a, b, v = (np.random.rand(*shape).astype("f4") for shape in ((200, 100), (100, 300), (300,)))
    product, reshaped, scaled = lx.compile(TEXT)(a, b, v)
    np.testing.assert_allclose(product, a @ b, rtol=1e-5)
    np.testing.assert_array_equal(reshaped, -2 * v.reshape(15, 20))
    np.testing.assert_array_equal(scaled, v * a[0, 0])
