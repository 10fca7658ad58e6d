"""Transposes and broadcasts taken out of indexing maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import run
from linalg_ext import transforms
from linalg_ext.module import Module


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.float32)


def same_numbers(text: str, *arrays: Any) -> str:
    module = Module.parse(text, trusted=True)
    before = run(text, *arrays)
    assert transforms.unfold_maps(module)
    np.testing.assert_array_equal(run(str(module), *arrays), before)
    assert not transforms.unfold_maps(module), "what is plain stays"
    return str(module)


def matmul(name: str, maps: list[str], shapes: list[str]) -> str:
    arguments = ", ".join(
        f"%{letter}: tensor<{shape}xf32>" for letter, shape in zip("abc", shapes, strict=True)
    )
    ins = ", ".join(f"tensor<{shape}xf32>" for shape in shapes[:2])
    result = f"tensor<{shapes[2]}xf32>"
    listed = ", ".join(f"affine_map<{map}>" for map in maps)
    return f"""
    func.func @f({arguments}) -> {result} {{
      %r = {name} indexing_maps = [{listed}] {{test.kept}}
             ins(%a, %b : {ins}) outs(%c : {result}) -> {result}
      return %r : {result}
    }}"""


@pytest.mark.parametrize(
    ("name", "maps", "shapes", "moved"),
    [
        (
            "linalg.matmul",
            ["(m, n, k) -> (k, m)", "(m, n, k) -> (k)", "(m, n, k) -> (m, n)"],
            ["4x5", "4", "5x6"],
            {"transpose": 1, "broadcast": 1},
        ),
        (
            "linalg.matmul",
            ["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (n, m)"],
            ["5x4", "4x6", "6x5"],
            {"transpose": 2},
        ),
        (
            "linalg.batch_matmul",
            ["(b, m, n, k) -> (b, k, m)", "(b, m, n, k) -> (k, n)", "(b, m, n, k) -> (b, m, n)"],
            ["2x4x5", "4x6", "2x5x6"],
            {"transpose": 1, "broadcast": 1},
        ),
        (
            "linalg.batch_reduce_matmul",
            ["(b, m, n, k) -> (b, m, k)", "(b, m, n, k) -> (b, n, k)", "(b, m, n, k) -> (m, n)"],
            ["2x5x4", "2x6x4", "5x6"],
            {"transpose": 1},
        ),
    ],
)
def test_the_matmul_family(
    name: str, maps: list[str], shapes: list[str], moved: dict[str, int]
) -> None:
    arrays = [numbers(*map(int, shape.split("x"))) for shape in shapes]
    text = same_numbers(matmul(name, maps, shapes), *arrays)
    assert f"{name} {{test.kept}}" in text  # without maps
    for op in ("transpose", "broadcast"):
        assert text.count(f"linalg.{op} ") == moved.get(op, 0)


def test_a_contraction_has_its_dimensions_in_the_order_of_the_result() -> None:
    text = same_numbers(
        matmul(
            "linalg.contract",
            ["(n, m, k) -> (k, m)", "(n, m, k) -> (k, n)", "(n, m, k) -> (m, n)"],
            ["4x5", "4x6", "5x6"],
        ),
        numbers(4, 5),
        numbers(4, 6),
        numbers(5, 6),
    )
    assert text.count("linalg.transpose ") == 1


def test_scalars_fill_and_sizes_may_be_unknown() -> None:
    text = """
    func.func @f(%s: f32, %a: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %r = linalg.elementwise kind = #linalg.elementwise_kind<sub>
             indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>,
                              affine_map<(d0, d1) -> (d1, d0)>]
             ins(%s, %a : f32, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
      return %r : tensor<?x?xf32>
    }"""
    for shape in ((4, 5), (0, 3)):
        made = same_numbers(text, np.float32(7), numbers(*shape), numbers(*shape[::-1]))
        assert "linalg.sub ins" in made
        assert "linalg.fill" in made


def test_an_op_of_ours_becomes_a_named_one_where_there_is_one() -> None:
    segments = ", ".join(["1", "1", *["0"] * 23, "1"])
    op = f"""
    func.func @f(%a: tensor<5x4xf32>, %x: tensor<KxTYPE>, %c: tensor<4x5xf32>) -> tensor<4x5xf32> {{
      %r = "linalg_ext.elementwise"(%a, %x, %c) {{kind = #linalg.elementwise_kind<add>,
             permutation_a = [1, 0], broadcast_b = [1],
             operandSegmentSizes = array<i32: {segments}>}}
             : (tensor<5x4xf32>, tensor<KxTYPE>, tensor<4x5xf32>) -> tensor<4x5xf32>
      return %r : tensor<4x5xf32>
    }}"""
    text = op.replace("KxTYPE", "4xf32")
    assert "linalg.add ins" in same_numbers(text, numbers(5, 4), numbers(4), numbers(4, 5))
    # It casts, which no named op does: it keeps its own name, with plain maps.
    text = op.replace("KxTYPE", "4xi32")
    casting = same_numbers(text, numbers(5, 4), numbers(4).astype(np.int32), numbers(4, 5))
    assert "linalg_ext.elementwise" in casting
    assert "linalg.broadcast" in casting


def test_a_generic_that_only_moves_elements_is_gone() -> None:
    text = """
    func.func @f(%a: tensor<5xf32>, %c: tensor<4x5xf32>) -> tensor<4x5xf32> {
      %r = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]
      } ins(%a : tensor<5xf32>) outs(%c : tensor<4x5xf32>) {
      ^bb0(%x: f32, %y: f32):
        linalg.yield %x : f32
      } -> tensor<4x5xf32>
      return %r : tensor<4x5xf32>
    }"""
    made = same_numbers(text, numbers(5), numbers(4, 5))
    assert "linalg.generic" not in made
    assert "linalg.broadcast" in made


def test_positions_in_a_body_stay_right() -> None:
    text = """
    func.func @f(%a: tensor<5x4xi64>) -> tensor<5x4xi64> {
      %c = tensor.empty() : tensor<5x4xi64>
      %r = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1, d0)>],
        iterator_types = ["parallel", "parallel"]
      } ins(%a : tensor<5x4xi64>) outs(%c : tensor<5x4xi64>) {
      ^bb0(%x: i64, %y: i64):
        %i = linalg.index 0 : index
        %j = arith.index_cast %i : index to i64
        %s = arith.addi %x, %j : i64
        linalg.yield %s : i64
      } -> tensor<5x4xi64>
      return %r : tensor<5x4xi64>
    }"""
    same_numbers(text, numbers(5, 4).astype(np.int64))


WINDOWS = """
func.func @f(%a: tensor<8xf32>, %w: tensor<3xf32>, %c: tensor<6xf32>) -> tensor<6xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d1)>,
                     affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a, %w : tensor<8xf32>, tensor<3xf32>) outs(%c : tensor<6xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %z : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}"""
PLAIN = matmul(
    "linalg.matmul",
    ["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"],
    ["5x4", "4x6", "5x6"],
)


@pytest.mark.parametrize("text", [WINDOWS, PLAIN], ids=["windows", "plain"])
def test_what_is_plain_stays(text: str) -> None:
    assert not transforms.unfold_maps(Module.parse(text, trusted=True))


def test_memrefs_are_left_with_a_reason() -> None:
    text = """
    func.func @f(%a: memref<5x4xf32>, %c: memref<4x5xf32>) {
      linalg.elementwise kind = #linalg.elementwise_kind<exp>
        indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
        ins(%a : memref<5x4xf32>) outs(%c : memref<4x5xf32>)
      return
    }"""
    report = transforms.unfold_maps(Module.parse(text, trusted=True))
    assert report.left == {"linalg.elementwise": {"on memrefs a transpose would be a copy"}}
