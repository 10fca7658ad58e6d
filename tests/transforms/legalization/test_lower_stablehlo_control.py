"""The example of the lowering of StableHLO's `control`."""

from __future__ import annotations

from examples import check_example, examples
from linalg_ext.transforms.legalization import lower_stablehlo_control as file


def test_the_example() -> None:
    around = """
    func.func @f(%n: tensor<i32>, %m: tensor<i32>) -> tensor<i32> {
      {}
      return %r : tensor<i32>
    }"""
    check_example(file.lower_stablehlo_control, examples(file)[0], around=around)
