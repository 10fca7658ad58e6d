"""Broadcasts folded into indexing maps: the text, the numbers, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels import run
from linalg_ext import transforms
from linalg_ext.module import Module

X = np.arange(5, dtype=np.float32) - 2
Y = (np.arange(40, dtype=np.float32) % 7).reshape(5, 8)


def parsed(body: str, arguments: str = "%x: tensor<5xf32>, %y: tensor<5x8xf32>") -> Module:
    text = (
        f"func.func @f({arguments}) -> tensor<5x8xf32> {{\n"
        f"%e = tensor.empty() : tensor<5x8xf32>\n{body}\nreturn %r : tensor<5x8xf32>\n}}"
    )
    return Module.parse(text, trusted=True)


ADDED = (
    "%r = linalg.add {test.kept} ins(%s, %y : tensor<5x8xf32>, tensor<5x8xf32>) "
    "outs(%e : tensor<5x8xf32>) -> tensor<5x8xf32>"
)
BROADCAST = (
    "%s = linalg.broadcast ins(%x : tensor<5xf32>) outs(%e : tensor<5x8xf32>) dimensions = [1]\n"
)


def check(module: Module, expected: Any, *arrays: Any) -> str:
    assert transforms.fold_broadcasts(module)
    np.testing.assert_array_equal(run(str(module), *arrays), expected)
    return str(module)


def test_the_numbers_and_the_attributes() -> None:
    text = check(parsed(BROADCAST + ADDED), X[:, None] + Y, X, Y)
    assert "linalg.broadcast" not in text
    assert "test.kept" in text


def test_a_tensor_of_rank_0_and_a_scalar() -> None:
    of_rank_0 = (
        "%s = linalg.broadcast ins(%x : tensor<f32>) outs(%e : tensor<5x8xf32>) "
        "dimensions = [0, 1]\n"
    )
    module = parsed(of_rank_0 + ADDED, "%x: tensor<f32>, %y: tensor<5x8xf32>")
    assert "-> ()>" in check(module, 3 + Y, np.array(3, np.float32), Y)
    of_scalar = "%s = linalg.fill ins(%x : f32) outs(%e : tensor<5x8xf32>) -> tensor<5x8xf32>\n"
    module = parsed(of_scalar + ADDED, "%x: f32, %y: tensor<5x8xf32>")
    assert "linalg.fill" not in check(module, 3 + Y, np.float32(3), Y)


def test_both_operands_at_once() -> None:
    both = (
        BROADCAST + "%t = linalg.broadcast ins(%z : tensor<8xf32>) outs(%e : tensor<5x8xf32>) "
        "dimensions = [0]\n%r = linalg.sub ins(%s, %t : tensor<5x8xf32>, tensor<5x8xf32>) "
        "outs(%e : tensor<5x8xf32>) -> tensor<5x8xf32>"
    )
    module = parsed(both, "%x: tensor<5xf32>, %z: tensor<8xf32>")
    check(module, X[:, None] - Y[0], X, Y[0])


def test_what_exporters_write() -> None:
    """A generic that reads a dimension of one element at 0; the map has no such dimension after."""
    copied = """
    %s = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%x : tensor<5x1xf32>) outs(%e : tensor<5x8xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<5x8xf32>
    """
    module = parsed(copied + ADDED, "%x: tensor<5x1xf32>, %y: tensor<5x8xf32>")
    text = check(module, X[:, None] + Y, X[:, None], Y)
    assert "linalg.generic" not in text
    assert "tensor.collapse_shape" in text


def test_a_slice_at_0_is_no_broadcast_of_it() -> None:
    """A generic may read row 0 of many: there is no dimension of one element to drop."""
    copied = """
    %s = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%x : tensor<5x3xf32>) outs(%e : tensor<5x8xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<5x8xf32>
    """
    module = parsed(copied + ADDED, "%x: tensor<5x3xf32>, %y: tensor<5x8xf32>")
    assert not transforms.fold_broadcasts(module)


def test_a_matmul_reads_a_row_for_every_row() -> None:
    text = """
    func.func @f(%x: tensor<8xf32>, %b: tensor<8x3xf32>, %c: tensor<5x3xf32>) -> tensor<5x3xf32> {
      %e = tensor.empty() : tensor<5x8xf32>
      %s = linalg.broadcast ins(%x : tensor<8xf32>) outs(%e : tensor<5x8xf32>) dimensions = [0]
      %r = linalg.matmul ins(%s, %b : tensor<5x8xf32>, tensor<8x3xf32>)
                         outs(%c : tensor<5x3xf32>) -> tensor<5x3xf32>
      return %r : tensor<5x3xf32>
    }"""
    x, b, c = Y[0], Y.T[:, :3].copy(), np.ones((5, 3), np.float32)
    module = Module.parse(text, trusted=True)
    assert "linalg.broadcast" not in check(module, (x @ b)[None] + c, x, b, c)


def test_a_dimension_that_only_the_broadcast_has_is_left() -> None:
    """The sum over it has no other operand that says how far it runs."""
    text = """
    func.func @f(%x: tensor<5xf32>, %c: tensor<5xf32>) -> tensor<5xf32> {
      %e = tensor.empty() : tensor<5x8xf32>
      %s = linalg.broadcast ins(%x : tensor<5xf32>) outs(%e : tensor<5x8xf32>) dimensions = [1]
      %r = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
        iterator_types = ["parallel", "reduction"]
      } ins(%s : tensor<5x8xf32>) outs(%c : tensor<5xf32>) {
      ^bb0(%a: f32, %b: f32):
        %t = arith.addf %a, %b : f32
        linalg.yield %t : f32
      } -> tensor<5xf32>
      return %r : tensor<5xf32>
    }"""
    report = transforms.fold_broadcasts(Module.parse(text, trusted=True))
    assert report.left == {"linalg.generic": {"dimension d1 would index no operand"}}


def test_a_batch_that_only_the_broadcasts_have_is_left() -> None:
    """Of the two operands one is folded; the other says the size of the batch."""
    text = """
    func.func @f(%a: tensor<3x4xf32>, %b: tensor<4x2xf32>, %c: tensor<3x2xf32>) -> tensor<3x2xf32> {
      %d = tensor.empty() : tensor<5x3x4xf32>
      %e = tensor.empty() : tensor<5x4x2xf32>
      %s = linalg.broadcast ins(%a : tensor<3x4xf32>) outs(%d : tensor<5x3x4xf32>) dimensions = [0]
      %t = linalg.broadcast ins(%b : tensor<4x2xf32>) outs(%e : tensor<5x4x2xf32>) dimensions = [0]
      %r = linalg.batch_reduce_matmul
             ins(%s, %t : tensor<5x3x4xf32>, tensor<5x4x2xf32>)
             outs(%c : tensor<3x2xf32>) -> tensor<3x2xf32>
      return %r : tensor<3x2xf32>
    }"""
    a, b, c = Y[:3, :4].copy(), Y[1:, 3:5].copy(), np.ones((3, 2), np.float32)
    text = check(Module.parse(text, trusted=True), 5 * (a @ b) + c, a, b, c)
    assert text.count("linalg.broadcast") == 1


def test_a_broadcast_that_transposes_too_is_a_transpose_where_the_maps_only_broadcast() -> None:
    text = """
    func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<4x2xf32>, %c: tensor<2x3x5xf32>)
        -> tensor<2x3x5xf32> {
      %e = tensor.empty() : tensor<2x4x5xf32>
      %s = linalg.generic {
        indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0)>,
                         affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
        iterator_types = ["parallel", "parallel", "parallel"]
      } ins(%b : tensor<4x2xf32>) outs(%e : tensor<2x4x5xf32>) {
      ^bb0(%x: f32, %y: f32):
        linalg.yield %x : f32
      } -> tensor<2x4x5xf32>
      %r = linalg.batch_matmul ins(%a, %s : tensor<2x3x4xf32>, tensor<2x4x5xf32>)
                               outs(%c : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
      return %r : tensor<2x3x5xf32>
    }"""
    a, b, c = Y[:3].reshape(2, 3, 4), Y[1:3, :4].T.copy(), np.ones((2, 3, 5), np.float32)
    expected = (a * b.T[:, None]).sum(2, keepdims=True) + c
    text = check(Module.parse(text, trusted=True), expected, a, b, c)
    assert "linalg.generic" not in text
    assert "linalg.transpose" in text


def test_a_contract_keeps_what_it_sums_over() -> None:
    text = """
    func.func @f(%x: tensor<5xf32>, %b: tensor<8x3xf32>, %c: tensor<5x3xf32>) -> tensor<5x3xf32> {
      %e = tensor.empty() : tensor<5x8xf32>
      %s = linalg.broadcast ins(%x : tensor<5xf32>) outs(%e : tensor<5x8xf32>) dimensions = [1]
      %r = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                            affine_map<(m, n, k) -> (k, n)>,
                                            affine_map<(m, n, k) -> (m, n)>]
        ins(%s, %b : tensor<5x8xf32>, tensor<8x3xf32>) outs(%c : tensor<5x3xf32>)
        -> tensor<5x3xf32>
      return %r : tensor<5x3xf32>
    }"""
    report = transforms.fold_broadcasts(Module.parse(text, trusted=True))
    assert not report
    (reason,) = report.left["linalg.contract"]
    assert "both inputs have" in reason


COMPUTED = (
    "%i = tensor.empty() : tensor<5xf32>\n"
    "%x2 = linalg.exp ins(%x : tensor<5xf32>) outs(%i : tensor<5xf32>) -> tensor<5xf32>\n"
    "%r = linalg.broadcast ins(%x2 : tensor<5xf32>) outs(%e : tensor<5x8xf32>) dimensions = [1]"
)


def test_a_result_is_written_broadcast() -> None:
    module = parsed(COMPUTED, "%x: tensor<5xf32>")
    before = run(str(module), X)
    assert "linalg.broadcast" not in check(module, before, X)


def test_a_result_stays_where_its_reader_can_read_it_as_it_is() -> None:
    module = parsed(COMPUTED.replace("%r =", "%s =") + "\n" + ADDED)
    text = check(module, run(str(module), X, Y), X, Y)
    assert "linalg.exp" in text  # computed once for each of its elements
    assert "linalg.broadcast" not in text


def test_a_sum_is_not_repeated() -> None:
    text = """
    func.func @f(%a: tensor<5x4xf32>, %b: tensor<4x8xf32>, %c: tensor<5x8xf32>)
        -> tensor<5x8x3xf32> {
      %m = linalg.matmul ins(%a, %b : tensor<5x4xf32>, tensor<4x8xf32>)
                         outs(%c : tensor<5x8xf32>) -> tensor<5x8xf32>
      %e = tensor.empty() : tensor<5x8x3xf32>
      %r = linalg.broadcast ins(%m : tensor<5x8xf32>) outs(%e : tensor<5x8x3xf32>) dimensions = [2]
      return %r : tensor<5x8x3xf32>
    }"""
    report = transforms.fold_broadcasts(Module.parse(text, trusted=True))
    assert report.left == {"linalg.matmul": {"a broadcast result would repeat the reduction"}}
