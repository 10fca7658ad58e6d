"""Every op of the dialect `tensor`, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import run

A = np.arange(24, dtype=np.float32).reshape(4, 6)
B = A[:2] + 100

CASES: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "pad": (
        """func.func @f(%a: tensor<4x6xf32>, %v: f32) -> tensor<7x9xf32> {
          %0 = tensor.pad %a low[1, 2] high[2, 1] {
          ^bb0(%i: index, %j: index):
            tensor.yield %v : f32
          } : tensor<4x6xf32> to tensor<7x9xf32>
          return %0 : tensor<7x9xf32>
        }""",
        (A, 7.0),
        np.pad(A, ((1, 2), (2, 1)), constant_values=7),
    ),
    "pad by what only the run tells, with a body that computes": (
        """func.func @f(%a: tensor<?x?xf32>, %l: index, %h: index) -> tensor<?x?xf32> {
          %0 = tensor.pad %a low[%l, 0] high[0, %h] {
          ^bb0(%i: index, %j: index):
            %s = arith.addi %i, %j : index
            %n = arith.index_cast %s : index to i32
            %v = arith.sitofp %n : i32 to f32
            tensor.yield %v : f32
          } : tensor<?x?xf32> to tensor<?x?xf32>
          return %0 : tensor<?x?xf32>
        }""",
        (A, 2, 1),
        np.block(
            [
                [np.add.outer(np.arange(2), np.arange(6)), np.array([[6], [7]])],
                [A, np.arange(8, 12).reshape(4, 1)],
            ]
        ).astype(np.float32),
    ),
    "concat": (
        """func.func @f(%a: tensor<4x6xf32>, %b: tensor<2x6xf32>, %c: tensor<?x6xf32>)
            -> (tensor<6x6xf32>, tensor<?x6xf32>) {
          %0 = tensor.concat dim(0) %a, %b : (tensor<4x6xf32>, tensor<2x6xf32>) -> tensor<6x6xf32>
          %1 = tensor.concat dim(0) %c, %a : (tensor<?x6xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
          return %0, %1 : tensor<6x6xf32>, tensor<?x6xf32>
        }""",
        (A, B, B),
        (np.concatenate([A, B]), np.concatenate([B, A])),
    ),
    "generate, splat, from_elements, rank, dim": (
        """func.func @f(%n: index, %x: f32) -> (tensor<?x3xindex>, tensor<2x?xf32>,
                                                tensor<2x2xf32>, index, index) {
          %c1 = arith.constant 1 : index
          %y = arith.addf %x, %x : f32
          %g = tensor.generate %n {
          ^bb0(%i: index, %j: index):
            %v = arith.muli %i, %j : index
            tensor.yield %v : index
          } : tensor<?x3xindex>
          %s = tensor.splat %x[%n] : tensor<2x?xf32>
          %e = tensor.from_elements %x, %y, %y, %x : tensor<2x2xf32>
          %r = tensor.rank %s : tensor<2x?xf32>
          %d = tensor.dim %s, %c1 : tensor<2x?xf32>
          return %g, %s, %e, %r, %d
            : tensor<?x3xindex>, tensor<2x?xf32>, tensor<2x2xf32>, index, index
        }""",
        (4, 2.5),
        (
            np.multiply.outer(np.arange(4), np.arange(3)),
            np.full((2, 4), 2.5, np.float32),
            np.array([[2.5, 5], [5, 2.5]], np.float32),
            2,
            4,
        ),
    ),
    "extract and insert": (
        """func.func @f(%a: tensor<4x6xf32>, %i: index, %j: index) -> (tensor<4x6xf32>, f32) {
          %x = tensor.extract %a[%i, %j] : tensor<4x6xf32>
          %y = arith.negf %x : f32
          %0 = tensor.insert %y into %a[%j, %i] : tensor<4x6xf32>
          return %0, %x : tensor<4x6xf32>, f32
        }""",
        (A, 2, 3),
        (np.where(np.arange(24).reshape(4, 6) == 20, -A[2, 3], A), A[2, 3]),
    ),
    "extract_slice with strides, of lower rank, from where only the run tells": (
        """func.func @f(%a: tensor<4x6xf32>, %i: index)
            -> (tensor<2x3xf32>, tensor<6xf32>, tensor<?x2xf32>) {
          %0 = tensor.extract_slice %a[1, 0] [2, 3] [2, 2] : tensor<4x6xf32> to tensor<2x3xf32>
          %1 = tensor.extract_slice %a[%i, 0] [1, 6] [1, 1] : tensor<4x6xf32> to tensor<6xf32>
          %2 = tensor.extract_slice %a[0, %i] [%i, 2] [1, %i] : tensor<4x6xf32> to tensor<?x2xf32>
          return %0, %1, %2 : tensor<2x3xf32>, tensor<6xf32>, tensor<?x2xf32>
        }""",
        (A, 2),
        (A[1::2, ::2][:2], A[2], A[:2, 2::2][:, :2]),
    ),
    "insert_slice with strides": (
        """func.func @f(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<6xf32>, %i: index)
            -> (tensor<4x6xf32>, tensor<4x6xf32>) {
          %0 = tensor.insert_slice %b into %a[1, 1] [2, 3] [2, 2]
            : tensor<2x3xf32> into tensor<4x6xf32>
          %1 = tensor.insert_slice %c into %a[%i, 0] [1, 6] [1, 1]
            : tensor<6xf32> into tensor<4x6xf32>
          return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
        }""",
        (A, np.full((2, 3), -1, np.float32), np.full(6, -2, np.float32), 3),
        (
            np.where((np.arange(4) % 2 == 1)[:, None] & (np.arange(6) % 2 == 1), np.float32(-1), A),
            np.where((np.arange(4) == 3)[:, None], np.float32(-2), A),
        ),
    ),
    "collapse_shape and expand_shape": (
        """func.func @f(%a: tensor<4x6xf32>, %b: tensor<?x6xf32>)
            -> (tensor<24xf32>, tensor<4x2x3xf32>, tensor<?xf32>, tensor<?x2x6xf32>) {
          %c0 = arith.constant 0 : index
          %c2 = arith.constant 2 : index
          %0 = tensor.collapse_shape %a [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
          %1 = tensor.expand_shape %a [[0], [1, 2]] output_shape [4, 2, 3]
            : tensor<4x6xf32> into tensor<4x2x3xf32>
          %2 = tensor.collapse_shape %b [[0, 1]] : tensor<?x6xf32> into tensor<?xf32>
          %n = tensor.dim %b, %c0 : tensor<?x6xf32>
          %h = arith.divui %n, %c2 : index
          %3 = tensor.expand_shape %b [[0, 1], [2]] output_shape [%h, 2, 6]
            : tensor<?x6xf32> into tensor<?x2x6xf32>
          return %0, %1, %2, %3
            : tensor<24xf32>, tensor<4x2x3xf32>, tensor<?xf32>, tensor<?x2x6xf32>
        }""",
        (A, A),
        (A.ravel(), A.reshape(4, 2, 3), A.ravel(), A.reshape(2, 2, 6)),
    ),
    "collapse_shape of a strided slice": (
        """func.func @f(%a: tensor<4x6xf32>) -> tensor<6xf32> {
          %0 = tensor.extract_slice %a[0, 0] [2, 3] [2, 2] : tensor<4x6xf32> to tensor<2x3xf32>
          %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
          return %1 : tensor<6xf32>
        }""",
        (A,),
        A[::2, ::2].ravel(),
    ),
    "reshape and cast": (
        """func.func @f(%a: tensor<4x6xf32>, %s: tensor<3xi32>)
            -> (tensor<?x?x?xf32>, tensor<4x?xf32>) {
          %0 = tensor.reshape %a(%s) : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
          %1 = tensor.cast %a : tensor<4x6xf32> to tensor<4x?xf32>
          return %0, %1 : tensor<?x?x?xf32>, tensor<4x?xf32>
        }""",
        (A, np.array([2, 4, 3], np.int32)),
        (A.reshape(2, 4, 3), A),
    ),
    "bitcast": (
        """func.func @f(%a: tensor<4x6xf32>) -> tensor<4x6xi32> {
          %0 = tensor.bitcast %a : tensor<4x6xf32> to tensor<4x6xi32>
          return %0 : tensor<4x6xi32>
        }""",
        (A,),
        A.view(np.int32),
    ),
    "gather": (
        """func.func @f(%a: tensor<4x6xf32>, %i: tensor<3x1xindex>, %j: tensor<?x2xi32>)
            -> (tensor<3x6xf32>, tensor<?xf32>, tensor<3x1x6xf32>) {
          %0 = tensor.gather %a[%i] gather_dims([0])
            : (tensor<4x6xf32>, tensor<3x1xindex>) -> tensor<3x6xf32>
          %1 = tensor.gather %a[%j] gather_dims([0, 1])
            : (tensor<4x6xf32>, tensor<?x2xi32>) -> tensor<?xf32>
          %2 = tensor.gather %a[%i] gather_dims([0])
            : (tensor<4x6xf32>, tensor<3x1xindex>) -> tensor<3x1x6xf32>
          return %0, %1, %2 : tensor<3x6xf32>, tensor<?xf32>, tensor<3x1x6xf32>
        }""",
        (A, np.array([[3], [0], [3]]), np.array([[1, 2], [0, 5]], np.int32)),
        (A[[3, 0, 3]], A[[1, 0], [2, 5]], A[[3, 0, 3]][:, None]),
    ),
    "scatter": (
        """func.func @f(%a: tensor<4x6xf32>, %i: tensor<2x1xindex>, %s: tensor<2x1x6xf32>)
            -> tensor<4x6xf32> {
          %0 = tensor.scatter %s into %a[%i] scatter_dims([0]) unique
            : (tensor<2x1x6xf32>, tensor<4x6xf32>, tensor<2x1xindex>) -> tensor<4x6xf32>
          return %0 : tensor<4x6xf32>
        }""",
        (A, np.array([[3], [1]]), B[:, None]),
        np.stack([A[0], B[1], A[2], B[0]]),
    ),
    "parallel_insert_slice": (
        """func.func @f(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
          %e = tensor.empty() : tensor<4x6xf32>
          %0 = scf.forall (%i) in (4) shared_outs(%o = %e) -> tensor<4x6xf32> {
            %row = tensor.extract_slice %a[%i, 0] [1, 6] [1, 1] : tensor<4x6xf32> to tensor<6xf32>
            %m = tensor.empty() : tensor<6xf32>
            %n = linalg.negf ins(%row : tensor<6xf32>) outs(%m : tensor<6xf32>) -> tensor<6xf32>
            scf.forall.in_parallel {
              tensor.parallel_insert_slice %n into %o[%i, 0] [1, 6] [1, 1]
                : tensor<6xf32> into tensor<4x6xf32>
            }
          }
          return %0 : tensor<4x6xf32>
        }""",
        (A,),
        -A,
    ),
    "a constant that is written": (
        """func.func @f(%i: index) -> (tensor<3xf32>, tensor<3xf32>) {
          %c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
          %x = arith.constant 9.0 : f32
          %0 = tensor.insert %x into %c[%i] : tensor<3xf32>
          return %c, %0 : tensor<3xf32>, tensor<3xf32>
        }""",
        (1,),
        (np.array([1, 2, 3], np.float32), np.array([1, 9, 3], np.float32)),
    ),
    "dimensions of no size": (
        """func.func @f(%a: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3xf32>) {
          %z = arith.constant dense<1.0> : tensor<3xf32>
          %0 = arith.addf %a, %a : tensor<?x3xf32>
          %1 = linalg.reduce ins(%a : tensor<?x3xf32>) outs(%z : tensor<3xf32>) dimensions = [0]
            (%x: f32, %o: f32) { %s = arith.addf %x, %o : f32  linalg.yield %s : f32 }
          return %0, %1 : tensor<?x3xf32>, tensor<3xf32>
        }""",
        (np.zeros((0, 3), np.float32),),
        (np.zeros((0, 3), np.float32), np.ones(3, np.float32)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_op(case: str) -> None:
    text, arguments, expected = CASES[case]
    actual = run(text, *arguments)
    if not isinstance(expected, tuple):
        actual, expected = (actual,), (expected,)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)
