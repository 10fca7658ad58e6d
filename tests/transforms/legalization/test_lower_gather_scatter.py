"""tensor.gather and scatter; their values are tested with the tensor ops."""

from __future__ import annotations

from examples import check_example, examples
from linalg_ext.transforms.legalization import lower_gather_scatter as file


def test_the_example() -> None:
    around = """
    func.func @f(%a: tensor<4x5xf32>, %i: tensor<3x1xindex>) -> tensor<3x5xf32> {
      {}
      return %r : tensor<3x5xf32>
    }"""
    check_example(file.lower_gather_scatter, examples(file)[0], around=around, given="c0 0 : index")
