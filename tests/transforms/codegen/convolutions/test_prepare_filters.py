"""Filters that are parameters come with the factors that Winograd's algorithm makes of them."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from kernels import normalized
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.convolutions import prepare_filters as file
from memrefs import integers
from window_kernels import Windows

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.skipif(not this_machine().has_fma, reason="no FMA, no plan")

AROUND = """
func.func @f(%x: tensor<1x32x18x18xf32>, %w: {type} {{linalg_ext.parameter}},
             %c: tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32> {{
  {body}
  return %r : tensor<1x32x16x16xf32>
}}"""

OF_FILTERS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)


def choice(wanted: bool) -> AbstractContextManager[lx.target.Target]:
    """Winograd's algorithm always, or never."""
    return lx.target.using(lx.target.current().with_note("convolutions.winograd", wanted))


def convolutions(images: str, results: int, *, stride: int = 1, twice: bool = False) -> str:
    """A function of an input and filters; or one that convolves twice with one set of filters."""
    size = 2 + 19 * stride - stride + 1
    once = f"""
      %e = tensor.empty({"%n" if images == "?" else ""}) : tensor<{images}x{results}x19x19xf32>
      %z = linalg.fill ins(%zero : f32) outs(%e : tensor<{images}x{results}x19x19xf32>)
        -> tensor<{images}x{results}x19x19xf32>
      %r = linalg.conv_2d_nchw_fchw {{strides = dense<{stride}> : vector<2xi64>}}
        ins(%x, %w : tensor<{images}x24x{size}x{size}xf32>, tensor<{results}x24x3x3xf32>)
        outs(%z : tensor<{images}x{results}x19x19xf32>) -> tensor<{images}x{results}x19x19xf32>"""
    again = f"""
      %s = linalg.conv_2d_nchw_fchw
        ins(%x, %w : tensor<{images}x24x{size}x{size}xf32>, tensor<{results}x24x3x3xf32>)
        outs(%r : tensor<{images}x{results}x19x19xf32>) -> tensor<{images}x{results}x19x19xf32>"""
    return f"""
    func.func @f(%x: tensor<{images}x24x{size}x{size}xf32>,
                 %w: tensor<{results}x24x3x3xf32> {{linalg_ext.parameter}})
        -> tensor<{images}x{results}x19x19xf32> {{
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %n = tensor.dim %x, %c0 : tensor<{images}x24x{size}x{size}xf32>
      {once}{again if twice else ""}
      return %{"s" if twice else "r"} : tensor<{images}x{results}x19x19xf32>
    }}"""


def prepared(w: Array, module: Module) -> Array:
    """Filters as the function takes them."""
    (shape,) = re.findall(r"%arg1: tensor<(\d+x\d+)xf32>", str(module))
    rows, width = map(int, shape.split("x"))
    factors = OF_FILTERS @ w @ OF_FILTERS.T
    filled = np.zeros((-(-len(w) // width) * width, w.shape[1], 4, 4), np.float32)
    filled[: len(w)] = factors
    strips = filled.reshape(-1, width, w.shape[1], 16).transpose(0, 3, 2, 1)
    rest = np.zeros(-w.size % width, np.float32)
    return np.concatenate([w.ravel(), rest, strips.ravel()]).reshape(rows, width)


def test_the_example() -> None:
    before, after = examples(file)[0]
    module = Module.parse(AROUND.format(type="tensor<32x32x3x3xf32>", body=before), trusted=True)
    with lx.target.using("avx2"):
        assert lx.transforms.prepare_filters(module).changed["parameter"] == 1
    module.verify()
    for attribute in list(module.ir.operation.attributes):
        del module.ir.operation.attributes[attribute]
    text = AROUND.replace("linalg_ext.parameter", "linalg_ext.factors, linalg_ext.parameter")
    wanted = Module.parse(text.format(type="tensor<6400x4xf32>", body=after), trusted=True)
    assert normalized(module.clone().ir) == normalized(wanted.ir)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize(("images", "results"), [("2", 32), ("1", 37), ("?", 24)])
def test_the_factors_are_what_is_multiplied(images: str, results: int, twice: bool) -> None:
    module = Module.parse(convolutions(images, results, twice=twice), trusted=True)
    with choice(True):
        assert lx.transforms.prepare_filters(module).changed["parameter"] == 1
        kernel = lx.compile(module, trusted=True, checked=False)
    assert kernel.as_text("loops").count("transformed before") == 1 + twice
    for count in (1, 3) if images == "?" else (int(images),):
        x, w = integers(count, 24, 21, 21), integers(results, 24, 3, 3)
        start = np.zeros((count, results, 19, 19), np.float32)
        wanted = Windows("nchw", "fchw", "nfhw").reference(x, w, start) * (2 if twice else 1)
        both = prepared(w, module)
        np.testing.assert_array_equal(kernel(x, both), wanted)
        both[-(-w.size // both.shape[1]) :] *= 2  # the factors alone
        np.testing.assert_array_equal(kernel(x, both), 2 * wanted)


def test_the_filters_do_where_no_factors_are_wanted() -> None:
    module = Module.parse(convolutions("1", 37), trusted=True)
    with choice(True):
        lx.transforms.prepare_filters(module)
    with choice(False):
        kernel = lx.compile(module, trusted=True)
    x, w = integers(1, 24, 21, 21), integers(37, 24, 3, 3)
    wanted = Windows("nchw", "fchw", "nfhw").reference(x, w, np.zeros((1, 37, 19, 19), np.float32))
    both = prepared(w, module)
    both[-(-w.size // both.shape[1]) :] = np.nan
    np.testing.assert_array_equal(kernel(x, both), wanted)


@pytest.mark.parametrize(
    "text",
    [
        convolutions("1", 32, stride=2),
        convolutions("1", 32).replace("f32", "f64"),
        convolutions("1", 32).replace("{linalg_ext.parameter}", ""),
    ],
    ids=["strides", "f64", "no parameter"],
)
def test_others_stay_as_they_are(text: str) -> None:
    module = Module.parse(text, trusted=True)
    before = str(module)
    with choice(True):
        report = lx.transforms.prepare_filters(module)
    assert not report.changed
    assert str(module) == before


def test_nothing_is_prepared_where_it_is_forbidden() -> None:
    module = Module.parse(convolutions("1", 32), trusted=True)
    with choice(False):
        assert not lx.transforms.prepare_filters(module).changed


def test_an_argument_of_another_size_has_no_factors() -> None:
    """What the attribute says is not taken for true: nothing beyond the memory is read."""
    module = Module.parse(convolutions("1", 32), trusted=True)
    with choice(True):
        lx.transforms.prepare_filters(module)
        ((rows, width),) = re.findall(r"%arg1: tensor<(\d+)x(\d+)xf32>", str(module))
        less = str(module).replace(f"tensor<{rows}x{width}", f"tensor<{int(rows) - 1}x{width}")
        kernel = lx.compile(less)
    x, w = integers(1, 24, 21, 21), integers(32, 24, 3, 3)
    wanted = Windows("nchw", "fchw", "nfhw").reference(x, w, np.zeros((1, 32, 19, 19), np.float32))
    assert "transformed at each call" in kernel.as_text("loops")
    np.testing.assert_array_equal(kernel(x, prepared(w, module)[:-1]), wanted)
