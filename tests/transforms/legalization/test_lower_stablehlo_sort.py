"""The example of the lowering of StableHLO's `sort`."""

from __future__ import annotations

from examples import check_example, examples
from linalg_ext.transforms.legalization import lower_stablehlo_sort as file


def test_the_example() -> None:
    around = """
    func.func @f(%x: tensor<9xf32>) -> tensor<9xf32> {
      {}
      return %r : tensor<9xf32>
    }"""
    check_example(file.lower_stablehlo_sort, examples(file)[0], around=around)
