"""Fusion of producers: the documented ops, destinations, constants, fills and scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import check_example, examples
from kernels import run
from linalg_ext.module import Module
from linalg_ext.transforms.fusion import fuse_producers as file
from linalg_ext.transforms.fusion.fuse_producers import fuse_producers


def fused(text: str) -> str:
    """The text after fusion and clean-up."""
    module = Module.parse(text, trusted=True)
    fuse_producers(module)
    module.verify()
    module.run("canonicalize,cse")
    return str(module)


def test_the_example() -> None:
    around = (
        "func.func @f(%x: tensor<9xf32>, %y: tensor<9xf32>) -> tensor<9xf32> {\n{}\n"
        "return %r : tensor<9xf32>\n}"
    )
    check_example(fuse_producers, examples(file)[0], around=around)


TEXT = """
func.func @f(%a: tensor<?xf32>, %i: tensor<?xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %s = linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]
  } ins(%a : tensor<?xf32>) outs(%i : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %o, %x : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?x3xf32>
  %r = linalg.broadcast ins(%s : tensor<?xf32>) outs(%e : tensor<?x3xf32>) dimensions = [1]
  return %r : tensor<?x3xf32>
}"""


@pytest.mark.parametrize("opt_level", [0, 2])
def test_it_is_added_once(opt_level: int) -> None:
    a, i = np.array([10, 20], np.float32), np.array([1, 2], np.float32)
    result = run(TEXT, a, i.copy(), opt_level=opt_level)
    np.testing.assert_array_equal(result, np.repeat((a + i)[:, None], 3, axis=1))


def test_it_is_added_once_some_ops_before_the_broadcast() -> None:
    square = """%q = linalg.square ins(%s : tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32>
      %e = tensor.empty"""
    text = TEXT.replace("%e = tensor.empty", square)
    text = text.replace("linalg.broadcast ins(%s", "linalg.broadcast ins(%q")
    a, i = np.array([10, 20], np.float32), np.array([1, 2], np.float32)
    result = run(text, a.copy(), i.copy())
    np.testing.assert_array_equal(result, np.repeat(((a + i) ** 2)[:, None], 3, axis=1))


GENERIC = """
#one = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
func.func @f(%x: tensor<9xf32>, %s: f32, %e: tensor<9xf32>) -> tensor<9xf32> {{
  {given}
  %r = linalg.generic {{indexing_maps = [#one, {map}, #one], iterator_types = ["parallel"]}}
      ins(%x, %t : tensor<9xf32>, {type}) outs(%e : tensor<9xf32>) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  }} -> tensor<9xf32>
  return %r : tensor<9xf32>
}}"""

FILL = """%z = tensor.empty() : tensor<9xf32>
  %t = linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]}
      outs(%z : tensor<9xf32>) {
  ^bb0(%o: f32):
    linalg.yield %s : f32
  } -> tensor<9xf32>"""


@pytest.mark.parametrize(
    ("given", "map_", "type_"),
    [
        ("%t = tensor.from_elements %s : tensor<f32>", "#none", "tensor<f32>"),
        ("%t = arith.constant dense<2.0> : tensor<9xf32>", "#one", "tensor<9xf32>"),
        ("%t = arith.constant 2.0 : f32", "#none", "f32"),
        (FILL, "#one", "tensor<9xf32>"),
    ],
)
def test_scalars_are_read_as_they_are(given: str, map_: str, type_: str) -> None:
    text = fused(GENERIC.format(given=given, map=map_, type=type_))
    assert "from_elements" not in text
    assert "dense" not in text
    assert text.count("linalg.generic") == 1


def test_masks_that_are_constant_are_read_as_they_are() -> None:
    x = np.arange(-3, 3, dtype=np.float32)
    kernel = lx.jit(lambda x: np.where(np.zeros(6, bool) | (x > 0), x, 1))
    np.testing.assert_array_equal(kernel(x), np.where(x > 0, x, 1))


def test_complex_constants_are_left() -> None:
    x = np.arange(24, dtype=np.float32).reshape(4, 6) * (1 + 2j)
    kernel = lx.jit(lambda x: np.reshape(x * 2 + 1j, (24,)) * np.ones(24, np.complex64))
    np.testing.assert_allclose(kernel(x.astype(np.complex64)), np.reshape(x * 2 + 1j, 24))


def test_a_scalar_of_scalars_is_no_buffer() -> None:
    text = """
    func.func @f(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
      %t = tensor.from_elements %s : tensor<f32>
      %e = tensor.empty() : tensor<f32>
      %u = linalg.exp ins(%t : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
      %b = tensor.empty() : tensor<4xf32>
      %c = linalg.broadcast ins(%u : tensor<f32>) outs(%b : tensor<4xf32>) dimensions = [0]
      %r = linalg.add ins(%x, %c : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xf32>)
        -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    x = np.ones(4, np.float32)
    compiled = lx.compile(text)
    np.testing.assert_allclose(compiled(x, np.float32(2)), 1 + np.exp(2 * x), rtol=1e-6)
    assert "memref<f32>" not in compiled.as_text("buffers")


def test_a_tensor_of_one_element_along_an_axis_stays() -> None:
    given = "%t = tensor.from_elements %s : tensor<1xf32>"
    text = GENERIC.format(given=given, map="affine_map<(i) -> (0)>", type="tensor<1xf32>")
    assert "from_elements" in fused(text)


def test_a_constant_that_alone_says_how_often_a_loop_runs_stays() -> None:
    text = """
    func.func @f(%c: tensor<4xf32>) -> tensor<4xf32> {
      %t = arith.constant dense<2.0> : tensor<4x5xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
                                            affine_map<(i, j) -> (i)>],
                           iterator_types = ["parallel", "reduction"]}
          ins(%t : tensor<4x5xf32>) outs(%c : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %a, %o : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    np.testing.assert_array_equal(run(text, np.ones(4, np.float32)), np.full(4, 11, np.float32))


def test_an_operand_that_is_read_twice_is_fused_once() -> None:
    """Its other readers have gone into the reader by then."""
    compiled = lx.jit(lambda x, y: np.exp(x + y) * (x + y) + (x + y)).lower(
        *[np.ones((6, 7), np.float32)] * 2
    )
    text = compiled.compile().as_text("linalg")
    assert text.count("linalg.generic") == 1
    assert text.count("arith.addf") == 2


def test_a_result_that_is_not_read_is_not_computed() -> None:
    text = """
    #both = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<4x5xf32>, %m: tensor<4xf32>, %k: tensor<4xi64>) -> tensor<4xf32> {
      %r:2 = linalg.generic {indexing_maps = [#both, #row, #row],
                             iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<4x5xf32>) outs(%m, %k : tensor<4xf32>, tensor<4xi64>) {
      ^bb0(%a: f32, %o: f32, %p: i64):
        %j = linalg.index 1 : index
        %n = arith.index_cast %j : index to i64
        %g = arith.cmpf ogt, %a, %o : f32
        %v = arith.maximumf %a, %o : f32
        %q = arith.select %g, %n, %p : i64
        linalg.yield %v, %q : f32, i64
      } -> (tensor<4xf32>, tensor<4xi64>)
      return %r#0 : tensor<4xf32>
    }"""
    assert "arith.select" not in fused(text)


def test_a_mean_of_open_length_is_one_pass_over_rows() -> None:
    def normalized(x: Any) -> Any:
        d = x - np.mean(x, axis=-1, keepdims=True)
        return d / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + 1e-5)

    x = np.random.default_rng(1).random((5, 37), np.float32)
    opened = lx.jit(normalized, signature=[lx.ShapeDtype((lx.Dim("m"), lx.Dim("k")), "f32")])
    np.testing.assert_allclose(opened(x), normalized(x), rtol=1e-4, atol=1e-6)
    loops = opened.lower(x).compile().as_text("loops")
    assert "memref<i64>" not in loops
    assert sum(line.startswith("    scf.for") for line in loops.splitlines()) == 1
