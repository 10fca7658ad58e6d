"""`vector.scan` on its way down."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import run
from linalg_ext.bindings import ir
from linalg_ext.transforms.llvm import lower_vector_scan as file

SCAN = """
func.func @f(%a: memref<3x4xf32>, %s: memref<3x4xf32>, %t: memref<{rest}xf32>) {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %v = vector.transfer_read %a[%c0, %c0], %zero : memref<3x4xf32>, vector<3x4xf32>
  %init = arith.constant dense<10.0> : vector<{rest}xf32>
  %0:2 = vector.scan <add>, %v, %init {{inclusive = {inclusive}, reduction_dim = {axis} : i64}}
    : vector<3x4xf32>, vector<{rest}xf32>
  vector.transfer_write %0#0, %s[%c0, %c0] : vector<3x4xf32>, memref<3x4xf32>
  vector.transfer_write %0#1, %t[%c0] : vector<{rest}xf32>, memref<{rest}xf32>
  return
}}
"""


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("inclusive", [True, False])
def test_scan_equals_cumulative_sum(axis: int, inclusive: bool) -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    rest = a.shape[1 - axis]
    scanned, last = np.zeros_like(a), np.zeros(rest, np.float32)
    run(SCAN.format(axis=axis, inclusive=str(inclusive).lower(), rest=rest), a, scanned, last)
    sums = np.cumsum(a, axis)
    expected = sums if inclusive else sums - a + 10
    np.testing.assert_array_equal(scanned, expected)
    np.testing.assert_array_equal(last, expected.take(-1, axis))


def test_scan_is_gone_and_a_module_without_one_unchanged() -> None:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(SCAN.format(axis=0, inclusive="true", rest=4))
        assert file.lower_vector_scan.apply(module.operation).changed["vector.scan"] == 1
        assert "vector.scan" not in str(module)
        before = str(module)
        assert not file.lower_vector_scan.apply(module.operation)
        assert str(module) == before
