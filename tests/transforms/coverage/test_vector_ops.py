"""The ops of the dialect `vector`, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import FLOATS, run

F = np.float32
A = np.arange(24, dtype=F).reshape(4, 6)
ROW = A[1]

CONTRACT = """vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
  affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
  iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
  %x, %x, %zeros : vector<4x6xf32>, vector<4x6xf32> into vector<4x4xf32>"""
SUM_COLUMNS = "vector.multi_reduction <add>, %x, %ones [0] : vector<4x6xf32> to vector<6xf32>"
READ = "vector.transfer_read %m[%c0, %c0], %f1 : memref<4x6xf32>, vector<4x6xf32>"
MASKED = np.where((np.arange(4) < 2)[:, None] & (np.arange(6) < 4), A, F(1))

# Lines that define %y of the type, from %x (the 4x6 numbers of the memory %m) and %v (row 1).
VALUES: dict[str, tuple[str, str, Any]] = {
    "read through a permutation, past the end": (
        "%y = vector.transfer_read %m[%c1, %c2], %f0 {permutation_map ="
        " affine_map<(i, j) -> (j, i)>} : memref<4x6xf32>, vector<5x4xf32>",
        "5x4xf32",
        np.pad(A[1:, 2:], ((0, 1), (0, 1))).T,
    ),
    "read with a broadcast": (
        "%y = vector.transfer_read %m[%c1, %c2], %f0 {permutation_map ="
        " affine_map<(i, j) -> (j, 0)>} : memref<4x6xf32>, vector<4x3xf32>",
        "4x3xf32",
        np.repeat(A[1, 2:][:, None], 3, 1),
    ),
    "read with a mask": (
        """%k = vector.create_mask %c2, %c4 : vector<4x6xi1>
        %y = vector.transfer_read %m[%c0, %c0], %f1, %k : memref<4x6xf32>, vector<4x6xf32>""",
        "4x6xf32",
        MASKED,
    ),
    "mask of a read": (
        f"%k = vector.create_mask %c2, %c4 : vector<4x6xi1>\n"
        f"%y = vector.mask %k {{ {READ} }} : vector<4x6xi1> -> vector<4x6xf32>",
        "4x6xf32",
        MASKED,
    ),
    "mask of a reduction": (
        f"%k = vector.create_mask %c2, %c4 : vector<4x6xi1>\n"
        f"%y = vector.mask %k {{ {SUM_COLUMNS} }} : vector<4x6xi1> -> vector<6xf32>",
        "6xf32",
        1 + np.where(np.arange(6) < 4, A[0] + A[1], 0),
    ),
    "mask of a contraction": (
        f"%k = vector.create_mask %c2, %c4, %c4 : vector<4x4x6xi1>\n"
        f"%y = vector.mask %k {{ {CONTRACT} }} : vector<4x4x6xi1> -> vector<4x4xf32>",
        "4x4xf32",
        np.where((np.arange(4) < 2)[:, None], A[:, :4] @ A[:, :4].T, 0),
    ),
    "constant_mask": (
        """%k = vector.constant_mask [2, 3] : vector<4x6xi1>
        %n = arith.negf %x : vector<4x6xf32>
        %y = arith.select %k, %x, %n : vector<4x6xi1>, vector<4x6xf32>""",
        "4x6xf32",
        np.where((np.arange(4) < 2)[:, None] & (np.arange(6) < 3), A, -A),
    ),
    "contract": (f"%y = {CONTRACT}", "4x4xf32", A @ A.T),
    "multi_reduction": (f"%y = {SUM_COLUMNS}", "6xf32", 1 + A.sum(0)),
    "multi_reduction of the last": (
        """%n = vector.broadcast %f0 : f32 to vector<4xf32>
        %y = vector.multi_reduction <maximumf>, %x, %n [1] : vector<4x6xf32> to vector<4xf32>""",
        "4xf32",
        A.max(1),
    ),
    "shape_cast": (
        "%y = vector.shape_cast %x : vector<4x6xf32> to vector<3x8xf32>",
        "3x8xf32",
        A.reshape(3, 8),
    ),
    "transpose": (
        "%y = vector.transpose %x, [1, 0] : vector<4x6xf32> to vector<6x4xf32>",
        "6x4xf32",
        A.T,
    ),
    "extract and insert": (
        """%s = vector.extract %x[2, 3] : f32 from vector<4x6xf32>
        %d = vector.extract %x[0, %c4] : f32 from vector<4x6xf32>
        %0 = vector.insert %v, %x[3] : vector<6xf32> into vector<4x6xf32>
        %1 = vector.insert %s, %0[0, 0] : f32 into vector<4x6xf32>
        %y = vector.insert %d, %1[1, %c2] : f32 into vector<4x6xf32>""",
        "4x6xf32",
        np.array([[15, *A[0, 1:]], [6, 7, 4, 9, 10, 11], A[2], A[1]], F),
    ),
    "strided slices": (
        """%e = vector.extract_strided_slice %x {offsets = [1, 2], sizes = [2, 3],
          strides = [1, 1]} : vector<4x6xf32> to vector<2x3xf32>
        %y = vector.insert_strided_slice %e, %x {offsets = [0, 0], strides = [1, 1]}
          : vector<2x3xf32> into vector<4x6xf32>""",
        "4x6xf32",
        np.vstack([np.hstack([A[1:3, 2:5], A[:2, 3:]]), A[2:]]),
    ),
    "outerproduct": (
        "%y = vector.outerproduct %v, %v {kind = #vector.kind<add>} : vector<6xf32>, vector<6xf32>",
        "6x6xf32",
        np.outer(ROW, ROW),
    ),
    "outerproduct with a scalar": (
        "%y = vector.outerproduct %v, %f1, %v {kind = #vector.kind<add>} : vector<6xf32>, f32",
        "6xf32",
        2 * ROW,
    ),
    "broadcast": (
        "%y = vector.broadcast %v : vector<6xf32> to vector<2x6xf32>",
        "2x6xf32",
        np.stack([ROW, ROW]),
    ),
    "broadcast of a unit dimension": (
        """%e = vector.extract_strided_slice %x {offsets = [0, 2], sizes = [4, 1],
          strides = [1, 1]} : vector<4x6xf32> to vector<4x1xf32>
        %y = vector.broadcast %e : vector<4x1xf32> to vector<4x6xf32>""",
        "4x6xf32",
        np.repeat(A[:, 2:3], 6, 1),
    ),
    "shuffle": (
        """%w = vector.extract %x[2] : vector<6xf32> from vector<4x6xf32>
        %y = vector.shuffle %v, %w [0, 6, 1, 7] : vector<6xf32>, vector<6xf32>""",
        "4xf32",
        [6, 12, 7, 13],
    ),
    "shuffle of rows": (
        "%y = vector.shuffle %x, %x [0, 5, 3] : vector<4x6xf32>, vector<4x6xf32>",
        "3x6xf32",
        A[[0, 1, 3]],
    ),
    "interleave and deinterleave": (
        """%w = vector.extract %x[2] : vector<6xf32> from vector<4x6xf32>
        %i = vector.interleave %v, %w : vector<6xf32> -> vector<12xf32>
        %p, %q = vector.deinterleave %i : vector<12xf32> -> vector<6xf32>
        %y = arith.subf %q, %p : vector<6xf32>""",
        "6xf32",
        A[2] - A[1],
    ),
    "interleave of rows": (
        "%y = vector.interleave %x, %x : vector<4x6xf32> -> vector<4x12xf32>",
        "4x12xf32",
        np.repeat(A, 2, 1),
    ),
    "bitcast": (
        "%y = vector.bitcast %x : vector<4x6xf32> to vector<4x12xi16>",
        "4x12xi16",
        A.view(np.int16),
    ),
    "fma": ("%y = vector.fma %x, %x, %x : vector<4x6xf32>", "4x6xf32", A * A + A),
    "elements": (
        """%e:6 = vector.to_elements %v : vector<6xf32>
        %y = vector.from_elements %e#5, %e#0, %e#2, %e#1 : vector<2x2xf32>""",
        "2x2xf32",
        [[11, 6], [8, 7]],
    ),
    "step": ("%y = vector.step : vector<6xindex>", "6xindex", np.arange(6)),
    "gather": (
        """%i = arith.constant dense<[5, 4, 3, 2, 1, 0]> : vector<6xindex>
        %k = arith.constant dense<[true, true, false, true, true, true]> : vector<6xi1>
        %w = vector.broadcast %f1 : f32 to vector<6xf32>
        %y = vector.gather %m[%c1, %c0][%i], %k, %w : memref<4x6xf32>, vector<6xindex>,
          vector<6xi1>, vector<6xf32> into vector<6xf32>""",
        "6xf32",
        [11, 10, 1, 8, 7, 6],
    ),
    "gather of rows": (
        """%i = arith.constant dense<3> : vector<4x6xindex>
        %k = arith.constant dense<true> : vector<4x6xi1>
        %y = vector.gather %m[%c1, %c0][%i], %k, %x : memref<4x6xf32>, vector<4x6xindex>,
          vector<4x6xi1>, vector<4x6xf32> into vector<4x6xf32>""",
        "4x6xf32",
        np.full((4, 6), 9),
    ),
    "masked and expanding loads": (
        """%k = arith.constant dense<[true, true, false, true, true, true]> : vector<6xi1>
        %b = vector.maskedload %m[%c2, %c0], %k, %v
          : memref<4x6xf32>, vector<6xi1>, vector<6xf32> into vector<6xf32>
        %y = vector.expandload %m[%c0, %c0], %k, %b
          : memref<4x6xf32>, vector<6xi1>, vector<6xf32> into vector<6xf32>""",
        "6xf32",
        [0, 1, 8, 2, 3, 4],
    ),
}


@pytest.mark.parametrize("case", VALUES)
def test_values(case: str) -> None:
    lines, type_, expected = VALUES[case]
    at = ", ".join(["%c0"] * len(np.shape(expected)))
    text = f"""
    func.func @f(%m: memref<4x6xf32>) -> memref<{type_}> {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %f0 = arith.constant 0.0 : f32
      %f1 = arith.constant 1.0 : f32
      %ones = vector.broadcast %f1 : f32 to vector<6xf32>
      %zeros = vector.broadcast %f0 : f32 to vector<4x4xf32>
      %x = {READ}
      %v = vector.load %m[%c1, %c0] : memref<4x6xf32>, vector<6xf32>
      {lines}
      %r = memref.alloc() : memref<{type_}>
      vector.transfer_write %y, %r[{at}] : vector<{type_}>, memref<{type_}>
      return %r : memref<{type_}>
    }}"""
    np.testing.assert_array_equal(run(text, A.copy()), expected)


# Lines that change the memory %m, from what %x and %v hold of it.
WRITES: dict[str, tuple[str, Any]] = {
    "write with a mask": (
        """%k = vector.create_mask %c1, %c4 : vector<1x6xi1>
        %n = arith.negf %v : vector<6xf32>
        %w = vector.broadcast %n : vector<6xf32> to vector<1x6xf32>
        vector.transfer_write %w, %m[%c2, %c1], %k : vector<1x6xf32>, memref<4x6xf32>""",
        [((2, slice(1, 5)), -ROW[:4])],
    ),
    "write past the end": (
        "vector.transfer_write %v, %m[%c0, %c4] : vector<6xf32>, memref<4x6xf32>",
        [((0, slice(4, 6)), ROW[:2])],
    ),
    "scatter": (
        """%i = arith.constant dense<[5, 4, 3, 2, 1, 0]> : vector<6xindex>
        %k = arith.constant dense<[true, true, false, true, true, true]> : vector<6xi1>
        vector.scatter %m[%c0, %c0][%i], %k, %v
          : memref<4x6xf32>, vector<6xindex>, vector<6xi1>, vector<6xf32>""",
        [((0, slice(0, 6)), [11, 10, 9, 3, 7, 6])],
    ),
    "masked and compressing stores": (
        """%k = arith.constant dense<[true, false, true, false, true, true]> : vector<6xi1>
        vector.maskedstore %m[%c0, %c0], %k, %v : memref<4x6xf32>, vector<6xi1>, vector<6xf32>
        vector.compressstore %m[%c2, %c0], %k, %v : memref<4x6xf32>, vector<6xi1>, vector<6xf32>""",
        [((0, slice(0, 6)), [6, 1, 8, 3, 10, 11]), ((2, slice(0, 4)), [6, 8, 10, 11])],
    ),
}


@pytest.mark.parametrize("case", WRITES)
def test_writes(case: str) -> None:
    lines, changes = WRITES[case]
    text = f"""
    func.func @f(%m: memref<4x6xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %v = vector.load %m[%c1, %c0] : memref<4x6xf32>, vector<6xf32>
      {lines}
      return
    }}"""
    memory, expected = A.copy(), A.copy()
    run(text, memory)
    for where, values in changes:
        expected[where] = values
    np.testing.assert_array_equal(memory, expected)


def test_reductions() -> None:
    kinds: dict[str, Any] = {
        "add": np.sum,
        "mul": np.prod,
        "minnumf": np.min,
        "maxnumf": np.max,
        "minimumf": np.min,
        "maximumf": np.max,
    }
    lines = "\n".join(
        f"%{kind} = vector.reduction <{kind}>, %x : vector<5xf32> into f32" for kind in kinds
    )
    text = f"""
    func.func @f(%m: memref<5xf32>) -> ({", ".join(["f32"] * (len(kinds) + 2))}) {{
      %c0 = arith.constant 0 : index
      %x = vector.load %m[%c0] : memref<5xf32>, vector<5xf32>
      %start = arith.constant 10.0 : f32
      {lines}
      %from = vector.reduction <add>, %x, %start : vector<5xf32> into f32
      %k = arith.constant dense<[true, true, false, false, false]> : vector<5xi1>
      %some = vector.mask %k {{ vector.reduction <add>, %x : vector<5xf32> into f32 }}
        : vector<5xi1> -> f32
      return {", ".join("%" + kind for kind in kinds)}, %from, %some
        : {", ".join(["f32"] * (len(kinds) + 2))}
    }}"""
    x = np.array([3, -1, 4, 1.5, 9], F)
    expected = [*(function(x) for function in kinds.values()), 10 + x.sum(), 2]
    np.testing.assert_array_equal(run(text, x), expected)


def test_integer_reductions() -> None:
    kinds: dict[str, Any] = {
        "add": np.sum,
        "mul": np.prod,
        "minsi": np.min,
        "maxsi": np.max,
        "minui": lambda x: x.view("u4").min().view("i4"),
        "maxui": lambda x: x.view("u4").max().view("i4"),
        "and": np.bitwise_and.reduce,
        "or": np.bitwise_or.reduce,
        "xor": np.bitwise_xor.reduce,
    }
    lines = "\n".join(
        f"%{kind} = vector.reduction <{kind}>, %x : vector<5xi32> into i32" for kind in kinds
    )
    text = f"""
    func.func @f(%m: memref<5xi32>) -> ({", ".join(["i32"] * len(kinds))}) {{
      %c0 = arith.constant 0 : index
      %x = vector.load %m[%c0] : memref<5xi32>, vector<5xi32>
      {lines}
      return {", ".join("%" + kind for kind in kinds)} : {", ".join(["i32"] * len(kinds))}
    }}"""
    x = np.array([3, -1, 4, 15, 9], np.int32)
    assert list(run(text, x)) == [function(x) for function in kinds.values()]


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E5M2"])
def test_narrow_vectors(name: str) -> None:
    text = f"""
    func.func @f(%t: tensor<8x{name}>, %z: {name}) -> ({name}, {name}, {name}, tensor<8x{name}>) {{
      %c0 = arith.constant 0 : index
      %x = vector.transfer_read %t[%c0], %z : tensor<8x{name}>, vector<8x{name}>
      %sum = vector.reduction <add>, %x : vector<8x{name}> into {name}
      %most = vector.reduction <maximumf>, %x : vector<8x{name}> into {name}
      %dot = vector.contract {{indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>,
        affine_map<(k) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<add>}}
        %x, %x, %z : vector<8x{name}>, vector<8x{name}> into {name}
      %twice = arith.addf %x, %x : vector<8x{name}>
      %r = vector.transfer_write %twice, %t[%c0] : vector<8x{name}>, tensor<8x{name}>
      return %sum, %most, %dot, %r : {name}, {name}, {name}, tensor<8x{name}>
    }}"""
    dtype = FLOATS[name]
    x = np.array([0, 1, 2, 0, 1, 0, 2, 2]).astype(dtype)
    total, most, dot, twice = run(text, x, dtype(0))
    assert [float(total), float(most), float(dot)] == [8, 2, 14]
    np.testing.assert_array_equal(twice.astype(F), 2 * x.astype(F))


def test_tensors_and_memory_of_vectors() -> None:
    text = """
    func.func @f(%t: tensor<4x6xf32>, %m: memref<?xvector<4xf32>>) -> tensor<4x6xf32> {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %f1 = arith.constant 1.0 : f32
      %x = vector.transfer_read %t[%c2, %c4], %f1 : tensor<4x6xf32>, vector<4x4xf32>
      %y = vector.transfer_write %x, %t[%c1, %c4] : vector<4x4xf32>, tensor<4x6xf32>
      %q = memref.load %m[%c2] : memref<?xvector<4xf32>>
      %p = arith.addf %q, %q : vector<4xf32>
      memref.store %p, %m[%c1] : memref<?xvector<4xf32>>
      return %y : tensor<4x6xf32>
    }"""
    memory = np.arange(12, dtype=F).reshape(3, 4)
    expected = A.copy()
    expected[1:, 4:] = np.vstack([A[2:, 4:], np.ones((1, 2))])
    np.testing.assert_array_equal(run(text, A, memory), expected)
    np.testing.assert_array_equal(memory[1], 2 * memory[2])
