"""Assertions of sizes: where they stand, and which are not needed."""

from __future__ import annotations

import pytest

from linalg_ext.module import Module
from linalg_ext.transforms.checks import check_sizes as file

STATIC = """
func.func @f(%a: tensor<1x9x9x2xf32>, %k: tensor<2x2x2x3xf32>, %o: tensor<1x3x3x3xf32>,
             %p: tensor<8x6xf32>) -> (tensor<1x3x3x3xf32>, tensor<4x2x2x3xf32>, tensor<4x12xf32>) {
  %x = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4x2x2x3xf32>
  %c = linalg.conv_2d_nhwc_hwcf
    {strides = dense<2> : tensor<2xi64>, dilations = dense<3> : tensor<2xi64>}
    ins(%a, %k : tensor<1x9x9x2xf32>, tensor<2x2x2x3xf32>) outs(%o : tensor<1x3x3x3xf32>)
    -> tensor<1x3x3x3xf32>
  %q = linalg.pack %p inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %e
    : tensor<8x6xf32> -> tensor<4x2x2x3xf32>
  %d = tensor.expand_shape %p [[0, 1], [2]] output_shape [4, 2, 6]
    : tensor<8x6xf32> into tensor<4x2x6xf32>
  %s = tensor.collapse_shape %d [[0], [1, 2]] : tensor<4x2x6xf32> into tensor<4x12xf32>
  %t = arith.addf %s, %s : tensor<4x12xf32>
  %u = tensor.concat dim(0) %p, %p : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<16x6xf32>
  %v = tensor.pad %p low[1, 2] high[0, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %x : f32
  } : tensor<8x6xf32> to tensor<9x11xf32>
  return %c, %q, %t : tensor<1x3x3x3xf32>, tensor<4x2x2x3xf32>, tensor<4x12xf32>
}"""
OF_ONE_ORIGIN = """
func.func @f(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?x?xf32>
  %m = tensor.dim %a, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %f = linalg.fill ins(%x : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %p = linalg.exp ins(%a : tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  %q = arith.mulf %p, %a : tensor<?x?xf32>
  %s = arith.addf %q, %f : tensor<?x?xf32>
  %r = linalg.softmax dimension(1) ins(%s : tensor<?x?xf32>) outs(%f : tensor<?x?xf32>)
    -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}"""


@pytest.mark.parametrize("text", [STATIC, OF_ONE_ORIGIN])
def test_nothing_is_asked_that_the_text_tells(text: str) -> None:
    module = Module.parse(text)
    before = str(module)
    assert not file.check_sizes(module)
    assert str(module) == before


def test_sizes_of_types_that_do_not_fit_fail_when_it_runs() -> None:
    module = Module.parse(
        """
        func.func @f(%a: tensor<?x4xf32>, %x: tensor<0xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
          %r = linalg.matvec ins(%a, %x : tensor<?x4xf32>, tensor<0xf32>)
            outs(%y : tensor<?xf32>) -> tensor<?xf32>
          return %r : tensor<?xf32>
        }"""
    )
    file.check_sizes(module)
    module.run("canonicalize")
    assert 'cf.assert %false, "linalg.matvec: dimension #0 of input/output operand #1' in str(
        module
    )
