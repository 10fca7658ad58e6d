"""Narrow floats between functions: the example, what keeps its types, and code for bare CPUs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.target import Target
from linalg_ext.transforms.numerics import pass_narrow_floats_as_integers as file
from targets import runnable_targets


def test_whose_address_is_taken_keeps_its_types() -> None:
    module = lx.parse("""
    func.func private @g(%x: f16) -> f16 {
      return %x : f16
    }
    func.func @f() -> ((f16) -> f16) {
      %g = func.constant @g : (f16) -> f16
      return %g : (f16) -> f16
    }""")
    before = str(module)
    report = file.pass_narrow_floats_as_integers(module)
    assert str(module) == before
    assert "the address of the function is taken" in str(report)


def test_a_declaration_keeps_its_types() -> None:
    module = lx.parse("""
    func.func private @g(bf16) -> bf16
    func.func @f(%x: bf16) {
      %y = func.call @g(%x) : (bf16) -> bf16
      return
    }""")
    assert file.pass_narrow_floats_as_integers(module)
    assert "call @g" in str(module)
    assert "func.func private @g(bf16) -> bf16" in str(module)


@pytest.mark.parametrize("target", runnable_targets(), ids=lambda target: target.name)
@pytest.mark.parametrize(("element", "dtype"), [("bf16", ml_dtypes.bfloat16), ("f16", np.float16)])
def test_scalars_arrive_whatever_the_cpu_has(target: Target, element: str, dtype: Any) -> None:
    text = f"""
    func.func @scale(%x: {element}, %a: tensor<?x{element}>, %r: tensor<3x{element}>)
        -> (tensor<3x{element}>, {element}) {{
      %c = tensor.cast %a : tensor<?x{element}> to tensor<3x{element}>
      %y = linalg.map {{ arith.mulf }} ins(%c, %c : tensor<3x{element}>, tensor<3x{element}>)
        outs(%r : tensor<3x{element}>)
      return %y, %x : tensor<3x{element}>, {element}
    }}"""
    with lx.target.using(target):
        kernel = lx.compile(text)
    a = np.array([1.5, -2, 3], dtype)
    squares, x = kernel(dtype(0.75), a, np.zeros_like(a))
    assert x == dtype(0.75)
    np.testing.assert_array_equal(squares, a * a)
