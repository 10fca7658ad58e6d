"""Transposes folded into indexing maps: the text, the numbers, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from examples import check_documented, examples_of
from kernels import run
from linalg_ext import transforms
from linalg_ext.module import Module
from linalg_ext.transforms.rewrites import fold_transposes as file

TRANSPOSE = "affine_map<(d0, d1) -> (d1, d0)>"
IDENTITY = "affine_map<(d0, d1) -> (d0, d1)>"


def parsed(body: str, arguments: str, result: str) -> Module:
    text = f"func.func @f({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"
    return Module.parse(text, trusted=True)


def counted(module: Module, *names: str) -> dict[str, int]:
    return {name: str(module).count(f"linalg.{name} ") for name in names}


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(dtype)


def same_numbers(module: Module, rewrite: Any, *arrays: np.ndarray[Any, Any]) -> Module:
    """Run a module before and after a rewrite, which must change it."""
    before = run(str(module), *arrays)
    assert rewrite(module)
    np.testing.assert_array_equal(run(str(module), *arrays), before)
    return module


def test_the_example() -> None:
    module = check_documented(file.fold_transposes, examples_of(file.fold_transposes)[0])
    assert counted(module, "transpose") == {"transpose": 0}


def transposed(name: str, source: str, shape: str, result: str, order: str = "[1, 0]") -> str:
    return (
        f"%e_{name} = tensor.empty() : tensor<{result}>\n"
        f"%{name} = linalg.transpose ins(%{source} : tensor<{shape}>) "
        f"outs(%e_{name} : tensor<{result}>) permutation = {order}\n"
    )


def test_both_operands_and_the_result_of_a_matmul() -> None:
    body = (
        transposed("s", "a", "8x5xf32", "5x8xf32")
        + transposed("t", "b", "7x8xf32", "8x7xf32")
        + "%z = arith.constant 0.0 : f32\n%e = tensor.empty() : tensor<5x7xf32>\n"
        "%i = linalg.fill ins(%z : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>\n"
        "%m = linalg.matmul {linalg_ext.compute_type = f32} "
        "ins(%s, %t : tensor<5x8xf32>, tensor<8x7xf32>) outs(%i : tensor<5x7xf32>) "
        "-> tensor<5x7xf32>\n" + transposed("r", "m", "5x7xf32", "7x5xf32")
    )
    module = parsed(body, "%a: tensor<8x5xf32>, %b: tensor<7x8xf32>", "tensor<7x5xf32>")
    same_numbers(module, transforms.fold_transposes, numbers(8, 5), numbers(7, 8))
    assert counted(module, "transpose", "matmul", "fill") == {
        "transpose": 0,
        "matmul": 1,
        "fill": 1,
    }
    assert "linalg_ext.compute_type = f32" in str(module)


def test_a_result_on_a_destination_that_is_read_is_left() -> None:
    """Its destination would have to be transposed instead: nothing is gained."""
    body = (
        "%m = linalg.matmul ins(%a, %b : tensor<5x8xf32>, tensor<8x7xf32>) "
        "outs(%c : tensor<5x7xf32>) -> tensor<5x7xf32>\n"
        + transposed("r", "m", "5x7xf32", "7x5xf32")
    )
    arguments = "%a: tensor<5x8xf32>, %b: tensor<8x7xf32>, %c: tensor<5x7xf32>"
    module = parsed(body, arguments, "tensor<7x5xf32>")
    report = transforms.fold_transposes(module)
    assert not report
    assert report.left == {
        "linalg.matmul": {"the destination would have to be arranged like the result"}
    }


def test_one_value_read_twice_and_by_several_ops() -> None:
    body = transposed("t", "a", "4x4xf32", "4x4xf32") + (
        "%e = tensor.empty() : tensor<4x4xf32>\n"
        "%s = linalg.mul ins(%t, %t : tensor<4x4xf32>, tensor<4x4xf32>) "
        "outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>\n"
        "%r = linalg.sub ins(%s, %t : tensor<4x4xf32>, tensor<4x4xf32>) "
        "outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>"
    )
    module = parsed(body, "%a: tensor<4x4xf32>", "tensor<4x4xf32>")
    same_numbers(module, transforms.fold_transposes, numbers(4, 4))
    assert counted(module, "transpose", "elementwise") == {"transpose": 0, "elementwise": 2}


def test_a_transpose_that_somebody_else_needs_stays() -> None:
    text = f"""
    func.func @f(%a: tensor<4x5xf32>, %b: tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>) {{
      {transposed("t", "a", "4x5xf32", "5x4xf32")}
      %e = tensor.empty() : tensor<5x4xf32>
      %r = linalg.add ins(%t, %b : tensor<5x4xf32>, tensor<5x4xf32>)
                      outs(%e : tensor<5x4xf32>) -> tensor<5x4xf32>
      return %t, %r : tensor<5x4xf32>, tensor<5x4xf32>
    }}"""
    module = Module.parse(text, trusted=True)
    assert transforms.fold_transposes(module)
    assert counted(module, "transpose", "elementwise") == {"transpose": 1, "elementwise": 1}
    given = numbers(4, 5), numbers(5, 4)
    first, second = run(str(module), *given)
    np.testing.assert_array_equal(first, given[0].T)
    np.testing.assert_array_equal(second, given[0].T + given[1])


def test_a_transpose_of_a_transpose() -> None:
    body = (
        transposed("s", "a", "2x3x4xf32", "4x2x3xf32", "[2, 0, 1]")
        + transposed("t", "s", "4x2x3xf32", "3x4x2xf32", "[2, 0, 1]")
        + "%e = tensor.empty() : tensor<3x4x2xf32>\n"
        "%r = linalg.add ins(%t, %b : tensor<3x4x2xf32>, tensor<3x4x2xf32>) "
        "outs(%e : tensor<3x4x2xf32>) -> tensor<3x4x2xf32>"
    )
    module = parsed(body, "%a: tensor<2x3x4xf32>, %b: tensor<3x4x2xf32>", "tensor<3x4x2xf32>")
    same_numbers(module, transforms.fold_transposes, numbers(2, 3, 4), numbers(3, 4, 2))
    assert "affine_map<(d0, d1, d2) -> (d2, d0, d1)>" in str(module)


def test_a_generic_that_only_transposes_is_a_transpose() -> None:
    body = (
        "%e = tensor.empty() : tensor<5x4xf32>\n"
        f"%t = linalg.generic {{indexing_maps = [{TRANSPOSE}, {IDENTITY}], "
        'iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x5xf32>) '
        "outs(%e : tensor<5x4xf32>) {\n^bb0(%x: f32, %y: f32):\nlinalg.yield %x : f32\n} "
        "-> tensor<5x4xf32>\n"
        "%r = linalg.exp ins(%t : tensor<5x4xf32>) outs(%e : tensor<5x4xf32>) -> tensor<5x4xf32>"
    )
    module = parsed(body, "%a: tensor<4x5xf32>", "tensor<5x4xf32>")
    same_numbers(module, transforms.fold_transposes, numbers(4, 5))
    assert counted(module, "generic", "elementwise") == {"generic": 0, "elementwise": 1}


@pytest.mark.parametrize("yielded", ["%y", "%z"])
def test_a_generic_that_does_anything_else_is_none(yielded: str) -> None:
    """It yields what its output held, or a number."""
    body = (
        "%z = arith.constant 2.0 : f32\n"
        f"%t = linalg.generic {{indexing_maps = [{TRANSPOSE}, {IDENTITY}], "
        'iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x4xf32>) '
        f"outs(%a : tensor<4x4xf32>) {{\n^bb0(%x: f32, %y: f32):\nlinalg.yield {yielded} : f32\n}} "
        "-> tensor<4x4xf32>\n"
        "%r = linalg.exp ins(%t : tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>"
    )
    assert not transforms.fold_transposes(parsed(body, "%a: tensor<4x4xf32>", "tensor<4x4xf32>"))


def test_positions_in_a_body_stay_right() -> None:
    body = transposed("t", "a", "4x5xi64", "5x4xi64") + (
        "%e = tensor.empty() : tensor<5x4xi64>\n"
        f"%r = linalg.generic {{indexing_maps = [{IDENTITY}, {IDENTITY}], "
        'iterator_types = ["parallel", "parallel"]} ins(%t : tensor<5x4xi64>) '
        "outs(%e : tensor<5x4xi64>) {\n^bb0(%x: i64, %y: i64):\n%i = linalg.index 0 : index\n"
        "%j = arith.index_cast %i : index to i64\n%s = arith.addi %x, %j : i64\n"
        "linalg.yield %s : i64\n} -> tensor<5x4xi64>"
    )
    module = parsed(body, "%a: tensor<4x5xi64>", "tensor<5x4xi64>")
    same_numbers(module, transforms.fold_transposes, numbers(4, 5, dtype=np.int64))
    assert counted(module, "transpose") == {"transpose": 0}


def test_what_a_batch_matmul_cannot_hold_is_left() -> None:
    body = transposed("t", "a", "4x2x8xf32", "2x4x8xf32", "[1, 0, 2]") + (
        "%r = linalg.batch_matmul ins(%t, %b : tensor<2x4x8xf32>, tensor<2x8x3xf32>) "
        "outs(%c : tensor<2x4x3xf32>) -> tensor<2x4x3xf32>"
    )
    arguments = "%a: tensor<4x2x8xf32>, %b: tensor<2x8x3xf32>, %c: tensor<2x4x3xf32>"
    module = parsed(body, arguments, "tensor<2x4x3xf32>")
    before = str(module)
    report = transforms.fold_transposes(module)
    assert str(module) == before
    (reason,) = report.left["linalg.batch_matmul"]
    assert "allows no map" in reason
    assert "operand 0" in reason


@pytest.mark.parametrize(
    "op",
    [
        "linalg.reduce { arith.addf } ins(%t : tensor<5x4xf32>) outs(%c : tensor<4xf32>) "
        "dimensions = [0]",
        "linalg.vecmat ins(%v, %t : tensor<5xf32>, tensor<5x4xf32>) outs(%c : tensor<4xf32>) "
        "-> tensor<4xf32>",
    ],
)
def test_an_op_without_maps_is_left_with_a_reason(op: str) -> None:
    body = transposed("t", "a", "4x5xf32", "5x4xf32") + f"%r = {op}"
    arguments = "%a: tensor<4x5xf32>, %v: tensor<5xf32>, %c: tensor<4xf32>"
    report = transforms.fold_transposes(parsed(body, arguments, "tensor<4xf32>"))
    assert not report
    (reasons,) = report.left.values()
    assert all("has no maps of its own" in reason for reason in reasons)


def test_an_op_of_a_function_that_upstream_has_not_becomes_ours() -> None:
    """The absolute value of integers: upstream's category op ends the process for it."""
    body = transposed("t", "a", "4x5xi32", "5x4xi32") + (
        "%e = tensor.empty() : tensor<5x4xi32>\n"
        "%r = linalg.map { math.absi } ins(%t : tensor<5x4xi32>) outs(%e : tensor<5x4xi32>)"
    )
    module = parsed(body, "%a: tensor<4x5xi32>", "tensor<5x4xi32>")
    same_numbers(module, transforms.fold_transposes, numbers(4, 5, dtype=np.int32))
    assert '"linalg_ext.elementwise"' in str(module)


def test_a_condition() -> None:
    body = transposed("t", "p", "4x5xi1", "5x4xi1") + (
        "%e = tensor.empty() : tensor<5x4xf32>\n"
        "%r = linalg.select ins(%t, %a, %b : tensor<5x4xi1>, tensor<5x4xf32>, tensor<5x4xf32>) "
        "outs(%e : tensor<5x4xf32>) -> tensor<5x4xf32>"
    )
    arguments = "%p: tensor<4x5xi1>, %a: tensor<5x4xf32>, %b: tensor<5x4xf32>"
    module = parsed(body, arguments, "tensor<5x4xf32>")
    same_numbers(
        module, transforms.fold_transposes, numbers(4, 5) > 0, numbers(5, 4), -numbers(5, 4)
    )
    assert "elementwise_kind<select>" in str(module)


def test_sizes_that_are_not_known() -> None:
    text = """
    func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = tensor.dim %a, %c0 : tensor<?x?xf32>
      %n = tensor.dim %a, %c1 : tensor<?x?xf32>
      %e = tensor.empty(%n, %m) : tensor<?x?xf32>
      %t = linalg.transpose ins(%a : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>)
                            permutation = [1, 0]
      %s = linalg.add ins(%t, %b : tensor<?x?xf32>, tensor<?x?xf32>)
                      outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
      %d = tensor.empty(%m, %n) : tensor<?x?xf32>
      %r = linalg.transpose ins(%s : tensor<?x?xf32>) outs(%d : tensor<?x?xf32>)
                            permutation = [1, 0]
      return %r : tensor<?x?xf32>
    }"""
    for shape in ((4, 5), (1, 3), (0, 3)):
        module = Module.parse(text, trusted=True)
        same_numbers(module, transforms.fold_transposes, numbers(*shape), numbers(*shape[::-1]))
        assert counted(module, "transpose") == {"transpose": 0}


def test_memrefs_are_left_with_a_reason() -> None:
    module = Module.parse(
        """
        func.func @f(%a: memref<8x5xf32>, %t: memref<5x8xf32>, %c: memref<5x8xf32>) {
          linalg.transpose ins(%a : memref<8x5xf32>) outs(%t : memref<5x8xf32>) permutation = [1, 0]
          linalg.exp ins(%t : memref<5x8xf32>) outs(%c : memref<5x8xf32>)
          return
        }""",
        trusted=True,
    )
    report = transforms.fold_transposes(module)
    assert report.left == {
        "linalg.exp": {"on memrefs a transpose or a broadcast is a copy, not a view"}
    }


def test_results_can_be_kept_out() -> None:
    body = (
        "%e = tensor.empty() : tensor<5x7xf32>\n"
        "%m = linalg.exp ins(%a : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>\n"
        + transposed("r", "m", "5x7xf32", "7x5xf32")
    )
    module = parsed(body, "%a: tensor<5x7xf32>", "tensor<7x5xf32>")
    assert not transforms.fold_transposes(module, results=False)
    same_numbers(module, transforms.fold_transposes, numbers(5, 7))


def test_one_result_of_several() -> None:
    both = ", ".join([IDENTITY] * 3)
    text = f"""
    func.func @f(%a: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<5x4xf32>) {{
      %e = tensor.empty() : tensor<4x5xf32>
      %s:2 = linalg.generic {{indexing_maps = [{both}], iterator_types = ["parallel", "parallel"]}}
        ins(%a : tensor<4x5xf32>) outs(%e, %e : tensor<4x5xf32>, tensor<4x5xf32>) {{
      ^bb0(%x: f32, %y: f32, %z: f32):
        %n = arith.negf %x : f32
        %d = arith.addf %x, %x : f32
        linalg.yield %n, %d : f32, f32
      }} -> (tensor<4x5xf32>, tensor<4x5xf32>)
      {transposed("t", "s#1", "4x5xf32", "5x4xf32")}
      return %s#0, %t : tensor<4x5xf32>, tensor<5x4xf32>
    }}"""
    module = Module.parse(text, trusted=True)
    assert transforms.fold_transposes(module)
    given = numbers(4, 5)
    first, second = run(str(module), given)
    np.testing.assert_array_equal(first, -given)
    np.testing.assert_array_equal(second, 2 * given.T)
    assert counted(module, "transpose") == {"transpose": 0}


def test_a_transpose_that_rounds_is_left() -> None:
    """With a compute type it casts what it moves: folded, the numbers would be others."""
    body = transposed("t", "a", "4x5xf32", "5x4xf32").rstrip() + (
        " {linalg_ext.compute_type = bf16}\n"
        "%e = tensor.empty() : tensor<5x4xf32>\n"
        "%r = linalg.exp ins(%t : tensor<5x4xf32>) outs(%e : tensor<5x4xf32>) -> tensor<5x4xf32>"
    )
    report = transforms.fold_transposes(parsed(body, "%a: tensor<4x5xf32>", "tensor<5x4xf32>"))
    assert not report
    (reason,) = report.left["linalg.exp"]
    assert "compute type" in reason


@pytest.mark.parametrize("rewrite", ["fold_transposes", "unfold_maps"])
def test_an_op_that_names_a_library_function_is_left(rewrite: str) -> None:
    """The function is written for the operands that the op has."""
    body = transposed("t", "a", "4x5xf32", "5x4xf32") + (
        "%e = tensor.empty() : tensor<5x4xf32>\n"
        f"%r = linalg.generic {{indexing_maps = [{IDENTITY}, {TRANSPOSE}, {IDENTITY}], "
        'iterator_types = ["parallel", "parallel"], library_call = "ours"} '
        "ins(%t, %a : tensor<5x4xf32>, tensor<4x5xf32>) outs(%e : tensor<5x4xf32>) {\n"
        "^bb0(%x: f32, %y: f32, %z: f32):\n%s = arith.addf %x, %y : f32\n"
        "linalg.yield %s : f32\n} -> tensor<5x4xf32>"
    )
    module = parsed(body, "%a: tensor<4x5xf32>", "tensor<5x4xf32>")
    report = getattr(transforms, rewrite)(module)
    assert not report
    assert report.left == {"linalg.generic": {"the op names the library function that it calls"}}
