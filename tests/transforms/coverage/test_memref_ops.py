"""Memory: views, copies, globals, allocations, and the way between memory and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import run

F = np.float32
A = np.arange(24, dtype=F).reshape(4, 6)
M = "memref<4x6xf32>"

# The signature, the body, the arguments, the results. %c0, %c1, %c2, %c4 and %f1 are given.
CASES: dict[str, tuple[str, str, tuple[Any, ...], Any]] = {
    "subview and copy": (
        f"(%m: {M}) -> memref<2x3xf32>",
        f"""%s = memref.subview %m[1, 0] [2, 3] [2, 2]
          : {M} to memref<2x3xf32, strided<[12, 2], offset: 6>>
        %b = memref.alloc() : memref<2x3xf32>
        memref.copy %s, %b : memref<2x3xf32, strided<[12, 2], offset: 6>> to memref<2x3xf32>
        return %b : memref<2x3xf32>""",
        (A,),
        A[1::2, ::2],
    ),
    "subview from where only the run tells": (
        f"(%m: {M}, %i: index) -> f32",
        f"""%s = memref.subview %m[%i, 0] [%i, 3] [1, %i]
          : {M} to memref<?x3xf32, strided<[6, ?], offset: ?>>
        %x = memref.load %s[%c1, %c1] : memref<?x3xf32, strided<[6, ?], offset: ?>>
        return %x : f32""",
        (A, 2),
        A[3, 2],
    ),
    "reinterpret_cast, view, transpose, expand_shape, collapse_shape": (
        f"(%m: {M}) -> (f32, i8, f32, f32)",
        f"""%s = memref.reinterpret_cast %m to offset: [3], sizes: [2, 2], strides: [6, 2]
          : {M} to memref<2x2xf32, strided<[6, 2], offset: 3>>
        %x = memref.load %s[%c1, %c1] : memref<2x2xf32, strided<[6, 2], offset: 3>>
        %b = memref.alloc() : memref<64xi8>
        %v = memref.view %b[%c4][%c2] : memref<64xi8> to memref<?x4xf32>
        memref.store %f1, %v[%c1, %c2] : memref<?x4xf32>
        %c30 = arith.constant 30 : index
        %y = memref.load %b[%c30] : memref<64xi8>
        %t = memref.transpose %m (i, j) -> (j, i) : {M} to memref<6x4xf32, strided<[1, 6]>>
        %z = memref.load %t[%c4, %c1] : memref<6x4xf32, strided<[1, 6]>>
        %e = memref.expand_shape %m [[0], [1, 2]] output_shape [4, 2, 3]
          : {M} into memref<4x2x3xf32>
        %q = memref.collapse_shape %e [[0, 1], [2]] : memref<4x2x3xf32> into memref<8x3xf32>
        %w = memref.load %q[%c4, %c2] : memref<8x3xf32>
        return %x, %y, %z, %w : f32, i8, f32, f32""",
        (A,),
        # The third byte of 1.0f at 4 + 24 is 0x80.
        (A.ravel()[3 + 6 + 2], -128, A[1, 4], A.ravel()[14]),
    ),
    "globals": (
        "() -> (f32, f32, f32)",
        """%g = memref.get_global @constants : memref<3xf32>
        %h = memref.get_global @variables : memref<2xf32>
        %u = memref.get_global @anything : memref<2xf32>
        %x = memref.load %g[%c2] : memref<3xf32>
        memref.store %x, %u[%c1] : memref<2xf32>
        %y = memref.load %u[%c1] : memref<2xf32>
        %z = memref.load %h[%c1] : memref<2xf32>
        return %x, %y, %z : f32, f32, f32""",
        (),
        (3, 3, 5),
    ),
    "realloc": (
        "(%n: index) -> f32",
        """%b = memref.alloc(%c4) : memref<?xf32>
        memref.store %f1, %b[%c1] : memref<?xf32>
        %r = memref.realloc %b(%n) : memref<?xf32> to memref<?xf32>
        %x = memref.load %r[%c1] : memref<?xf32>
        memref.dealloc %r : memref<?xf32>
        return %x : f32""",
        (1000,),
        1,
    ),
    "atomic_rmw and assume_alignment": (
        f"(%m: {M}) -> (f32, f32)",
        f"""%a = memref.assume_alignment %m, 4 : {M}
        %x = memref.atomic_rmw addf %f1, %a[%c0, %c1] : (f32, {M}) -> f32
        %m2 = memref.atomic_rmw maximumf %f1, %a[%c0, %c0] : (f32, {M}) -> f32
        %y = memref.load %a[%c0, %c0] : {M}
        return %x, %y : f32, f32""",
        (A.copy(),),
        (1, 1),
    ),
    "unranked and reshape": (
        f"(%m: {M}, %s: memref<2xi32>) -> (index, index, f32, f32, index)",
        f"""%u = memref.cast %m : {M} to memref<*xf32>
        %r = memref.rank %u : memref<*xf32>
        %d = memref.dim %u, %c1 : memref<*xf32>
        %k = memref.cast %u : memref<*xf32> to {M}
        %x = memref.load %k[%c1, %c1] : {M}
        %v = memref.reshape %m(%s) : ({M}, memref<2xi32>) -> memref<?x?xf32>
        %y = memref.load %v[%c1, %c1] : memref<?x?xf32>
        %e = memref.dim %v, %c0 : memref<?x?xf32>
        return %r, %d, %x, %y, %e : index, index, f32, f32, index""",
        (A, np.array([8, 3], np.int32)),
        (2, 6, 7, 4, 8),
    ),
    "alloca_scope": (
        "(%n: index) -> f32",
        """%r = memref.alloca_scope -> f32 {
          %b = memref.alloca() : memref<4xf32>
          %d = memref.alloca(%n) : memref<?xf32>
          memref.store %f1, %b[%c1] : memref<4xf32>
          %x = memref.load %b[%c1] : memref<4xf32>
          memref.store %x, %d[%c1] : memref<?xf32>
          %y = memref.load %d[%c1] : memref<?xf32>
          memref.alloca_scope.return %y : f32
        }
        return %r : f32""",
        (3_000_000,),
        1,
    ),
    "metadata": (
        f"(%m: {M}, %n: memref<6xf32>) -> (index, index, index)",
        f"""%b, %o, %s:2, %t:2 = memref.extract_strided_metadata %m
          : {M} -> memref<f32>, index, index, index, index, index
        %x, %y = memref.distinct_objects %m, %n : {M}, memref<6xf32>
        memref.store %f1, %x[%c0, %c0] : {M}
        memref.store %f1, %y[%c0] : memref<6xf32>
        return %o, %s#1, %t#0 : index, index, index""",
        (A.copy(), np.zeros(6, F)),
        (0, 6, 6),
    ),
    "between memory and tensors": (
        f"(%m: {M}) -> (f32, f32)",
        f"""%t = bufferization.to_tensor %m restrict writable : {M} to tensor<4x6xf32>
        %c = bufferization.alloc_tensor() copy(%t) : tensor<4x6xf32>
        %0 = arith.addf %c, %t : tensor<4x6xf32>
        bufferization.materialize_in_destination %0 in restrict writable %m
          : (tensor<4x6xf32>, {M}) -> ()
        %b = bufferization.to_buffer %c : tensor<4x6xf32> to {M}
        %k = bufferization.clone %b : {M} to {M}
        %x = memref.load %k[%c1, %c1] : {M}
        %y = memref.load %m[%c1, %c1] : {M}
        return %x, %y : f32, f32""",
        (A.copy(),),
        (7, 14),
    ),
}

GLOBALS = """
memref.global "private" constant @constants : memref<3xf32> = dense<[1.0, 2.0, 3.0]>
memref.global "private" @variables : memref<2xf32> = dense<5.0>
memref.global "private" @anything : memref<2xf32> = uninitialized
"""


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    signature, body, arguments, expected = CASES[case]
    text = f"""{GLOBALS}
    func.func @f{signature} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %f1 = arith.constant 1.0 : f32
      {body}
    }}"""
    actual = run(text, *arguments)
    if not isinstance(expected, tuple):
        actual, expected = (actual,), (expected,)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)
