"""Compute types from the accumulators of a target."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError
from linalg_ext.module import Module
from linalg_ext.rewriting import run_pipeline
from linalg_ext.transforms.rewrites import infer_compute_type as file

infer = file.infer_compute_type


def product(a: str, b: str, c: str) -> str:
    return f"""
    func.func @f(%a: tensor<16x64x{a}>, %b: tensor<64x32x{b}>, %c: tensor<16x32x{c}>)
        -> tensor<16x32x{c}> {{
      %r = linalg.matmul ins(%a, %b : tensor<16x64x{a}>, tensor<64x32x{b}>)
             outs(%c : tensor<16x32x{c}>) -> tensor<16x32x{c}>
      return %r : tensor<16x32x{c}>
    }}"""


@pytest.mark.parametrize(
    ("types", "compute"),
    [
        (("bf16", "bf16", "bf16"), "f32"),
        (("f16", "f16", "f16"), "f32"),
        (("f8E4M3FN", "f8E5M2", "f16"), "f32"),
        (("bf16", "f32", "i8"), "f32"),
        (("f32", "f32", "bf16"), "f32"),
        (("f64", "f32", "f32"), "f64"),
        (("i8", "i8", "i8"), "i32"),
        (("i16", "i8", "i16"), "i32"),
        (("i8", "i8", "bf16"), "f32"),
        (("i8", "i8", "i32"), None),
        (("bf16", "bf16", "f32"), None),
        (("f32", "f32", "f32"), None),
        (("i64", "i64", "i64"), None),
        (("i8", "i8", "f32"), None),
        (("complex<f32>", "complex<f32>", "complex<f32>"), None),
        (("i1", "i1", "i1"), None),
    ],
)
def test_what_is_inferred(types: tuple[str, str, str], compute: str | None) -> None:
    module = Module.parse(product(*types))
    infer(module)
    found = str(module).partition("linalg_ext.compute_type = ")[2].partition("}")[0]
    assert (found or None) == compute


def test_what_says_its_own_keeps_it() -> None:
    text = product("bf16", "bf16", "bf16").replace(
        "linalg.matmul", "linalg.matmul {linalg_ext.compute_type = f64}"
    )
    module = Module.parse(text)
    assert not infer(module)
    assert "linalg_ext.compute_type = f64" in str(module)


def test_what_only_moves_elements_is_left_alone() -> None:
    text = """
    func.func @f(%a: tensor<4x8xbf16>, %e: tensor<8x4xbf16>, %o: tensor<8x4xf32>)
        -> tensor<8x4xf32> {
      %t = linalg.transpose ins(%a : tensor<4x8xbf16>) outs(%e : tensor<8x4xbf16>)
             permutation = [1, 0]
      %r = linalg.copy ins(%t : tensor<8x4xbf16>) outs(%o : tensor<8x4xf32>) -> tensor<8x4xf32>
      return %r : tensor<8x4xf32>
    }"""
    assert not infer(Module.parse(text))


def test_what_no_definition_says_is_left_with_the_reason() -> None:
    text = """
    func.func @f(%a: tensor<4xi32>, %t: tensor<9xbf16>, %c: tensor<4xbf16>) -> tensor<4xbf16> {
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
             ins(%a : tensor<4xi32>) outs(%c : tensor<4xbf16>) {
      ^bb0(%in: i32, %out: bf16):
        %i = arith.index_cast %in : i32 to index
        %x = tensor.extract %t[%i] : tensor<9xbf16>
        linalg.yield %x : bf16
      } -> tensor<4xbf16>
      return %r : tensor<4xbf16>
    }"""
    report = infer(Module.parse(text))
    assert report.left == {"linalg.generic": {"the index is computed"}}


@pytest.mark.parametrize("types", [("i32", "f32", "i32"), ("bf16", "i64", "i8")])
def test_integers_that_the_accumulators_do_not_hold_keep_their_bits(
    types: tuple[str, str, str],
) -> None:
    module = Module.parse(product(*types))
    report = infer(module)
    (reason,) = report.left["linalg.matmul"]
    assert "accumulators of f32 do not hold every i" in reason
    assert "compute_type" not in str(module)


def test_products_beyond_the_mantissa_stay_exact() -> None:
    module = Module.parse(product("i32", "f32", "i32"))
    a = np.zeros((16, 64), np.int32)
    a[:, 0], a[:, 1] = 2**24, 1
    b, c = np.ones((64, 32), np.float32), np.zeros((16, 32), np.int32)
    infer(module)
    np.testing.assert_array_equal(lx.compile(module, entry="f")(a, b, c), 2**24 + 1)


def test_integers_are_compared_as_integers() -> None:
    text = """
    func.func @f(%a: tensor<2xi32>, %b: tensor<2xi32>, %x: tensor<2xbf16>, %c: tensor<2xbf16>)
        -> tensor<2xbf16> {
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                                            affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
             ins(%a, %b, %x : tensor<2xi32>, tensor<2xi32>, tensor<2xbf16>)
             outs(%c : tensor<2xbf16>) {
      ^bb0(%p: i32, %q: i32, %y: bf16, %out: bf16):
        %less = arith.cmpi slt, %p, %q : i32
        %twice = arith.addf %y, %y : bf16
        %s = arith.select %less, %twice, %y : bf16
        linalg.yield %s : bf16
      } -> tensor<2xbf16>
      return %r : tensor<2xbf16>
    }"""
    module = Module.parse(text)
    infer(module)
    assert "linalg_ext.compute_type = f32" in str(module)
    a = np.full(2, 2**24, np.int32)
    ones = np.ones(2, ml_dtypes.bfloat16)
    found = lx.compile(module, entry="f")(a, a + np.array([1, 0], np.int32), ones, ones)
    np.testing.assert_array_equal(found, np.array([2, 1], ml_dtypes.bfloat16))


def test_an_unknown_target() -> None:
    with pytest.raises(ArgumentError, match=r"(?s)'z80' is not known.*x86-64, aarch64, nvptx"):
        infer(Module.parse(product("bf16", "bf16", "bf16")), target="z80")


def test_the_sum_is_as_exact_as_the_hardware() -> None:
    """In bf16 a sum of ones ends at 256."""
    text = product("bf16", "bf16", "bf16").replace("64", "512")
    module = Module.parse(text)
    run_pipeline(module, "linalg-ext-infer-compute-type{target=aarch64}")
    a, b = (np.ones(shape, ml_dtypes.bfloat16) for shape in ((16, 512), (512, 32)))
    c = np.zeros((16, 32), ml_dtypes.bfloat16)
    assert lx.compile(text, entry="f")(a, b, c)[0, 0] == 256
    assert lx.compile(module, entry="f")(a, b, c)[0, 0] == 512


def test_folding_transposes_keeps_a_compute_type() -> None:
    text = """
    func.func @f(%a: tensor<4x3xbf16>, %b: tensor<4x5xbf16>, %e: tensor<3x4xbf16>,
                 %c: tensor<3x5xi8>) -> tensor<3x5xi8> {
      %t = linalg.transpose ins(%a : tensor<4x3xbf16>) outs(%e : tensor<3x4xbf16>)
             permutation = [1, 0]
      %r = linalg.matmul {linalg_ext.compute_type = f32}
             ins(%t, %b : tensor<3x4xbf16>, tensor<4x5xbf16>) outs(%c : tensor<3x5xi8>)
             -> tensor<3x5xi8>
      return %r : tensor<3x5xi8>
    }"""
    module = Module.parse(text)
    module.run("linalg-ext-fold-transposes,canonicalize")
    assert "linalg.transpose" not in str(module)
    assert "linalg_ext.compute_type = f32" in str(module)
    random = np.random.default_rng(0)
    a, b = (random.uniform(-3, 3, s).astype(ml_dtypes.bfloat16) for s in ((4, 3), (4, 5)))
    e, c = np.zeros((3, 4), ml_dtypes.bfloat16), np.zeros((3, 5), np.int8)
    expected = (a.T.astype(np.float32) @ b.astype(np.float32)).astype(np.int8)
    np.testing.assert_array_equal(lx.compile(module, entry="f")(a, b, e, c), expected)
    module.run("linalg-ext-materialize-compute-type")
    assert "linalg.matmul indexing_maps" in str(module)
