"""Texts of TOSA and StableHLO: parsed as linalg on tensors, compiled, and right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import errors

A = np.linspace(-2, 2, 12, dtype=np.float32).reshape(1, 4, 3)
TOSA: dict[str, tuple[str, tuple[Any, ...], Callable[..., Any]]] = {
    "broadcast, branch": (
        """func.func @f(%p: tensor<i1>, %a: tensor<1x4x3xf32>, %b: tensor<1x1x3xf32>)
            -> tensor<1x4x3xf32> {
          %s = tosa.add %a, %b : (tensor<1x4x3xf32>, tensor<1x1x3xf32>) -> tensor<1x4x3xf32>
          %r = tosa.cond_if %p (%x = %s) : tensor<i1> (tensor<1x4x3xf32>) -> tensor<1x4x3xf32> {
          ^bb0(%y: tensor<1x4x3xf32>):
            %e = tosa.exp %y : (tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
            tosa.yield %e : tensor<1x4x3xf32>
          } else {
          ^bb0(%y: tensor<1x4x3xf32>):
            tosa.yield %y : tensor<1x4x3xf32>
          }
          return %r : tensor<1x4x3xf32>
        }""",
        (np.array(True), A, A[:, :1]),
        lambda p, a, b: np.exp(a + b),
    ),
    "scatter, reduction": (
        """func.func @f(%a: tensor<1x4x3xf32>, %i: tensor<1x2xi32>, %b: tensor<1x2x3xf32>)
            -> tensor<1x4x1xf32> {
          %s = tosa.scatter %a, %i, %b : (tensor<1x4x3xf32>, tensor<1x2xi32>, tensor<1x2x3xf32>)
            -> tensor<1x4x3xf32>
          %r = tosa.reduce_sum %s {axis = 2 : i32} : (tensor<1x4x3xf32>) -> tensor<1x4x1xf32>
          return %r : tensor<1x4x1xf32>
        }""",
        (A, np.array([[2, 0]], np.int32), A[:, 2:]),
        lambda a, i, b: np.stack([b[0, 1], a[0, 1], b[0, 0], a[0, 3]]).sum(1)[None, :, None],
    ),
    "rescale": (
        """func.func @f(%a: tensor<4xi32>) -> tensor<4xi8> {
          %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
          %s = "tosa.const"() <{values = dense<33> : tensor<1xi8>}> : () -> tensor<1xi8>
          %i = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
          %o = "tosa.const"() <{values = dense<1> : tensor<1xi8>}> : () -> tensor<1xi8>
          %r = tosa.rescale %a, %m, %s, %i, %o {scale32 = true, rounding_mode = SINGLE_ROUND,
            per_channel = false, input_unsigned = false, output_unsigned = false}
            : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>)
            -> tensor<4xi8>
          return %r : tensor<4xi8>
        }""",
        (np.array([8, -80, 9999, 4], np.int32),),
        lambda a: np.clip(np.floor(a / 8 + 0.5) + 1, -128, 127).astype(np.int8),
    ),
}


@pytest.mark.parametrize("case", TOSA)
def test_tosa(case: str) -> None:
    text, given, formula = TOSA[case]
    found = lx.compile(text)(*given)
    np.testing.assert_allclose(found, formula(*given), rtol=1e-6)


SWITCH = """func.func @f(%k: tensor<i32>, %x: tensor<2xui8>) -> tensor<2xui8> {
  %r = "stablehlo.case"(%k) ({
    stablehlo.return %x : tensor<2xui8>
  }, {
    %d = stablehlo.divide %x, %x : tensor<2xui8>
    stablehlo.return %d : tensor<2xui8>
  }, {
    %c = stablehlo.constant dense<3> : tensor<2xui8>
    %d = stablehlo.divide %x, %c : tensor<2xui8>
    stablehlo.return %d : tensor<2xui8>
  }) : (tensor<i32>) -> tensor<2xui8>
  return %r : tensor<2xui8>
}"""


def test_a_branch_of_unsigned_integers_and_an_index_that_names_none() -> None:
    x = np.array([200, 7], np.uint8)
    kernel = lx.compile(SWITCH, result_dtypes=[np.uint8])
    for chosen, expected in {0: x, 1: x // x, 2: x // 3, 7: x // 3, -1: x // 3}.items():
        np.testing.assert_array_equal(kernel(np.array(chosen, np.int32), x), expected)


def test_parse_gives_linalg_and_keeps_what_it_is_told_to_keep() -> None:
    assert "stablehlo" not in str(lx.parse(SWITCH))
    assert "stablehlo.case" in str(lx.parse(SWITCH, legalize=False))


def test_an_op_without_a_lowering_is_named() -> None:
    text = """func.func @f(%x: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
      %0 = stablehlo.fft %x, type = FFT, length = [8]
        : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
      return %0 : tensor<8xcomplex<f32>>
    }"""
    with pytest.raises(errors.LoweringError, match=r"(?s)stablehlo\.fft.*:2:12.*by lx\.from_jax"):
        lx.parse(text)
