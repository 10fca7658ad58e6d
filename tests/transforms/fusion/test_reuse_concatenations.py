"""A concatenation reads an earlier one of its first operands, and no other."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import cache

DENSE = """
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>, %c: tensor<2x5xf32>)
    -> (tensor<2x4xf32>, tensor<2x9xf32>, tensor<2x12xf32>, tensor<2x9xf32>) {
  %p = tensor.concat dim(1) %a, %b : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %q = tensor.concat dim(1) %a, %b, %c
      : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x5xf32>) -> tensor<2x9xf32>
  %r = tensor.concat dim(1) %a, %b, %c, %a
      : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x5xf32>, tensor<2x3xf32>) -> tensor<2x12xf32>
  %s = tensor.concat dim(1) %b, %a, %c
      : (tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x9xf32>
  return %p, %q, %r, %s : tensor<2x4xf32>, tensor<2x9xf32>, tensor<2x12xf32>, tensor<2x9xf32>
}
"""


def test_each_reads_the_longest_beginning() -> None:
    module = lx.parse(DENSE)
    report = lx.transforms.reuse_concatenations(module)
    assert (report.matched.total(), report.changed.total()) == (4, 2)
    operands = [line.partition(" : (")[2].count("tensor") - 1 for line in str(module).splitlines()]
    assert [count for count in operands if count > 0] == [2, 2, 2, 3]


def test_the_results_are_those_of_numpy() -> None:
    a, b, c = (np.arange(2 * n, dtype=np.float32).reshape(2, n) + n for n in (3, 1, 5))
    with cache.off():
        results = lx.compile(DENSE)(a, b, c)
    for result, parts in zip(results, ((a, b), (a, b, c), (a, b, c, a), (b, a, c)), strict=True):
        np.testing.assert_array_equal(result, np.concatenate(parts, axis=1))


@pytest.mark.parametrize(
    "first",
    [
        "tensor.concat dim(0) %a, %b : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<6x3xf32>",
        "tensor.concat dim(1) %b, %a : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x6xf32>",
        "tensor.concat dim(1) %a, %b, %b, %a : (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, "
        "tensor<3x3xf32>) -> tensor<3x12xf32>",
        "tensor.concat dim(1) %a, %b : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x?xf32>",
    ],
)
def test_another_concatenation_stays(first: str) -> None:
    result = first.rpartition("-> ")[2]
    module = lx.parse(f"""
    func.func @f(%a: tensor<3x3xf32>, %b: tensor<3x3xf32>) -> ({result}, tensor<3x9xf32>) {{
      %p = {first}
      %q = tensor.concat dim(1) %a, %b, %a
          : (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x9xf32>
      return %p, %q : {result}, tensor<3x9xf32>
    }}""")
    assert not lx.transforms.reuse_concatenations(module)
