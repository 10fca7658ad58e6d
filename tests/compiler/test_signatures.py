"""What an entry may look like, and what is said where it may not."""

from __future__ import annotations

import numpy as np
import pytest

from linalg_ext import errors
from linalg_ext.compiler import compile

UNSUPPORTED = {
    "tensor<*xf32>": "has no rank",
    "memref<*xf32>": "has no rank",
    "tensor<4xf32, 7>": "has an encoding",
    "memref<4xf32, 3>": "memory space",
    "tuple<f32, i32>": "arrays and numbers have no such type",
    "(f32) -> f32": "arrays and numbers have no such type",
    "vector<4xf32>": "arrays and numbers have no such type",
    "!llvm.ptr": "arrays and numbers have no such type",
    "none": "arrays and numbers have no such type",
    "i7": "arrays and numbers have no such type",
    "memref<9223372036854775807xf64>": "larger than any memory",
    "f128": "arrays and numbers have no such type",
    "tensor<4xi7>": "no dtype",
    "memref<4xf128>": "no dtype",
    "memref<4xvector<3xf32>>": "padded",
    "memref<4xvector<8xi1>>": "packed into bits",
    "memref<4xvector<[4]xf32>>": "scalable",
    "memref<4x4xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>": "not one of strides",
}


@pytest.mark.parametrize("type_", UNSUPPORTED)
def test_unsupported_arguments_are_named(type_: str) -> None:
    text = f"func.func @f(%ok: f32, %arg: {type_}) {{ return }}"
    with pytest.raises(errors.SignatureError, match="argument 1 of `f` has type") as caught:
        compile(text, trusted=True)
    assert UNSUPPORTED[type_] in str(caught.value)


def test_unsupported_results_are_named() -> None:
    text = "func.func @f(%arg: vector<4xf32>) -> vector<4xf32> { return %arg : vector<4xf32> }"
    with pytest.raises(errors.SignatureError, match="argument 0 of `f`"):
        compile(text, trusted=True)
    text = """func.func @f() -> vector<4xf32> {
      %0 = arith.constant dense<0.0> : vector<4xf32>
      return %0 : vector<4xf32>
    }"""
    with pytest.raises(errors.SignatureError, match="result 0 of `f`"):
        compile(text, trusted=True)


TWO = """
func.func @one() -> i32 { %0 = arith.constant 1 : i32  return %0 : i32 }
func.func @two() -> i32 { %0 = arith.constant 2 : i32  return %0 : i32 }
"""


def test_one_of_several_functions_must_be_named() -> None:
    with pytest.raises(errors.SignatureError, match=r"(?s)several functions.*`one`, `two`"):
        compile(TWO, trusted=True)
    assert compile(TWO, "two", trusted=True)() == 2


def test_an_entry_that_is_not_there() -> None:
    with pytest.raises(errors.SignatureError, match=r"(?s)no function `three`.*`one`, `two`"):
        compile(TWO, entry="three", trusted=True)
    with pytest.raises(errors.SignatureError, match="no function to call"):
        compile("module {}", trusted=True)
    with pytest.raises(errors.SignatureError, match="no function to call"):
        compile("func.func private @only_declared()", trusted=True)


def test_private_helpers_do_not_count() -> None:
    text = """
    func.func private @helper(%x: i32) -> i32 { return %x : i32 }
    func.func @main(%x: i32) -> i32 {
      %0 = call @helper(%x) : (i32) -> i32
      return %0 : i32
    }
    """
    assert compile(text, trusted=True)(5) == 5


def test_functions_named_as_the_c_library_names_its_own() -> None:
    text = """
    memref.global @expf : memref<2xf32> = dense<[1.0, 2.0]>
    func.func @exp(%x: tensor<2xf64>) -> tensor<2xf64> {
      %0 = math.exp %x : tensor<2xf64>
      return %0 : tensor<2xf64>
    }
    func.func @malloc(%x: tensor<2xf64>, %y: tensor<2xf32>) -> (tensor<2xf64>, tensor<2xf32>) {
      %0 = call @exp(%x) : (tensor<2xf64>) -> tensor<2xf64>
      %g = memref.get_global @expf : memref<2xf32>
      %t = bufferization.to_tensor %g restrict : memref<2xf32> to tensor<2xf32>
      %z = arith.addf %y, %t : tensor<2xf32>
      %1 = math.exp %z : tensor<2xf32>
      return %0, %1 : tensor<2xf64>, tensor<2xf32>
    }
    """
    x = np.array([0.5, 1.0])
    y, z = compile(text, "malloc", trusted=True)(x, x.astype(np.float32))
    np.testing.assert_allclose(y, np.exp(x))
    np.testing.assert_allclose(z, np.exp(x + np.array([1, 2])), rtol=1e-6)


def test_functions_named_as_ours_are() -> None:
    text = """
    func.func @f(%x: i32) -> i32 { return %x : i32 }
    func.func @lx.f(%x: i32) -> i32 {
      %0 = call @f(%x) : (i32) -> i32
      %1 = arith.addi %0, %0 : i32
      return %1 : i32
    }
    func.func @lx_entry_f(%x: i32) -> i32 {
      %0 = call @lx.f(%x) : (i32) -> i32
      return %0 : i32
    }
    """
    assert compile(text, "f", trusted=True)(3) == 3
    assert compile(text, "lx.f", trusted=True)(3) == 6
    assert compile(text, "lx_entry_f", trusted=True)(3) == 6
    named = 'func.func @"a b/\u00e9"(%x: i32) -> i32 { return %x : i32 }'
    assert compile(named, trusted=True)(3) == 3


def test_a_function_with_its_own_c_interface() -> None:
    text = """
    func.func @f(%x: f32) -> f32 attributes {llvm.emit_c_interface} { return %x : f32 }
    """
    assert compile(text, trusted=True)(2.0) == 2.0


def test_result_dtypes() -> None:
    text = "func.func @f(%a: tensor<2xi8>) -> tensor<2xi8> { return %a : tensor<2xi8> }"
    x = np.array([-1, 1], np.int8)
    assert compile(text, trusted=True)(x).dtype == np.int8
    result = compile(text, trusted=True, result_dtypes=[np.uint8])(x)
    assert result.dtype == np.uint8
    assert result.tolist() == [255, 1]
    with pytest.raises(errors.SignatureError, match=r"result 0 of `f`.*int16"):
        compile(text, trusted=True, result_dtypes=[np.int16])
    with pytest.raises(errors.SignatureError, match="2 entries, `f` has 1 result"):
        compile(text, trusted=True, result_dtypes=[None, None])
    with pytest.raises(errors.SignatureError, match="result_dtypes"):
        compile(text, trusted=True, result_dtypes=np.uint8)  # type: ignore[call-overload]
    with pytest.raises(errors.SignatureError, match="result 0 of `f`"):
        compile(text, trusted=True, result_dtypes=["no dtype"])


def test_mixed_arguments_and_results_in_order() -> None:
    text = """
    func.func @f(%a: tensor<?xf32>, %s: f32, %m: memref<2xf32>)
        -> (i64, tensor<?xf32>, memref<2xf32>, tensor<2xf32>, tensor<f32>) {
      %n = arith.constant 7 : i64
      %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %t = tensor.splat %s : tensor<f32>
      %d = arith.addf %a, %a : tensor<?xf32>
      %r = memref.alloc() : memref<2xf32>
      memref.copy %m, %r : memref<2xf32> to memref<2xf32>
      return %n, %d, %r, %c, %t : i64, tensor<?xf32>, memref<2xf32>, tensor<2xf32>, tensor<f32>
    }
    """
    kernel = compile(text, trusted=True)
    n, d, r, c, t = kernel(np.arange(5, dtype=np.float32), 3.0, np.array([8, 9], np.float32))
    assert n == 7
    assert isinstance(n, np.int64)
    np.testing.assert_array_equal(d, np.arange(5) * 2)
    np.testing.assert_array_equal(r, [8, 9])
    np.testing.assert_array_equal(c, [1, 2])
    assert t.shape == ()
    assert t == 3


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("1x" * 65, "the rank is beyond that of any array(.|\n)*64"),
        ("2305843009213693952x0x", "larger than any memory"),
        ("2305843009213693952x", "larger than any memory"),
    ],
)
def test_shapes_that_no_array_has(shape: str, said: str) -> None:
    type_ = f"tensor<{shape}f32>"
    text = f"func.func @f() -> {type_} {{ %c = tensor.empty() : {type_} return %c : {type_} }}"
    with pytest.raises(errors.SignatureError, match=f"result 0 of `f`.*{said}"):
        compile(text)
    text = f"func.func @f(%c: {type_}) {{ return }}"
    with pytest.raises(errors.SignatureError, match=f"argument 0 of `f`.*{said}"):
        compile(text)
