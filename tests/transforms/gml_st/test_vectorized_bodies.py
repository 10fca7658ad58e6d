"""What is computed on tiles of known sizes is computed with vectors, in loops of all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from filechecks import check_text

VIEW = "memref<4x8xf32, strided<[?, 1], offset: ?>>"
PARALLEL = f"""
func.func @main(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %o: memref<?x?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  gml_st.parallel (%i, %j) = (%c0, %c0) to (%m, %n) step (%c4, %c8) {{
    %t = gml_st.tile %x [%i, %j] [4, 8] [1, 1] : memref<?x?xf32> to !gml_st.subset<4x8xf32>
    %u = gml_st.tile %y [%i, %j] [4, 8] [1, 1] : memref<?x?xf32> to !gml_st.subset<4x8xf32>
    %v = gml_st.tile %o [%i, %j] [4, 8] [1, 1] : memref<?x?xf32> to !gml_st.subset<4x8xf32>
    %a = gml_st.materialize %x[%t] : memref<?x?xf32>[!gml_st.subset<4x8xf32>] to {VIEW}
    %b = gml_st.materialize %y[%u] : memref<?x?xf32>[!gml_st.subset<4x8xf32>] to {VIEW}
    %c = gml_st.materialize %o[%v] : memref<?x?xf32>[!gml_st.subset<4x8xf32>] to {VIEW}
    linalg.add ins(%a, %b : {VIEW}, {VIEW}) outs(%c : {VIEW})
    gml_st.set_yield
  }}
  return
}}
"""
FOR = """
func.func @main(%x: tensor<16x24xf32>, %y: tensor<16x24xf32>, %o: tensor<16x24xf32>)
    -> tensor<16x24xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %r = gml_st.for (%i, %j) = (%c0, %c0) to (%c16, %c24) step (%c4, %c8)
      outs(%o_ = %o: tensor<16x24xf32>) {
    %t = gml_st.tile %x [%i, %j] [4, 8] [1, 1] : tensor<16x24xf32> to !gml_st.subset<4x8xf32>
    %u = gml_st.tile %y [%i, %j] [4, 8] [1, 1] : tensor<16x24xf32> to !gml_st.subset<4x8xf32>
    %v = gml_st.tile %o_ [%i, %j] [4, 8] [1, 1] : tensor<16x24xf32> to !gml_st.subset<4x8xf32>
    %a = gml_st.materialize %x[%t] : tensor<16x24xf32>[!gml_st.subset<4x8xf32>]
    %b = gml_st.materialize %y[%u] : tensor<16x24xf32>[!gml_st.subset<4x8xf32>]
    %c = gml_st.materialize %o_[%v] : tensor<16x24xf32>[!gml_st.subset<4x8xf32>]
    %s = linalg.add ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%c : tensor<4x8xf32>)
        -> tensor<4x8xf32>
    gml_st.set_yield %s into %o_[%v]
        : tensor<4x8xf32> into tensor<16x24xf32>[!gml_st.subset<4x8xf32>]
  } : tensor<16x24xf32>
  return %r : tensor<16x24xf32>
}
"""
CHECKS = """
// CHECK-NOT: linalg.
// CHECK:     scf.{{for|forall}}
// CHECK:     arith.addf %{{.*}}, %{{.*}} : vector<{{[0-9]+}}xf32>
// CHECK:     return
"""


@pytest.mark.parametrize("text", [PARALLEL, FOR], ids=["parallel", "for"])
def test_tiles_of_known_sizes_are_vectors(
    text: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = lx.compile(lx.parse(text), entry="main")
    checks = tmp_path / "checks.mlir"
    checks.write_text(CHECKS)
    check_text(kernel.stages["loops"], checks, "CHECK", tmp_path, capsys)
    rng = np.random.default_rng(3)
    x, y, o = (rng.integers(-9, 9, (16, 24)).astype(np.float32) for _ in range(3))
    result = kernel(x, y, o)
    np.testing.assert_array_equal(o if result is None else result, x + y)
