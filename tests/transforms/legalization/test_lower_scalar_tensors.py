"""Structured ops on tensors without dimensions become scalar code; others stay."""

from __future__ import annotations

from examples import check_example, examples
from linalg_ext.transforms.legalization import lower_scalar_tensors as file

AROUND = """
func.func @f(%a: tensor<f32>, %o: tensor<f32>) -> tensor<f32> {
  {}
  return %r : tensor<f32>
}"""


def test_the_example() -> None:
    check_example(file.lower_scalar_tensors, examples(file)[0], around=AROUND)
