"""Accesses out of bounds are errors, and those within them are as they were."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ExecutionError
from linalg_ext.module import Module
from linalg_ext.transforms.checks import check_accesses as file

ON_BUFFERS = """
func.func @f(%x: memref<8xf32>, %k: index, %o: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %all = arith.constant dense<true> : vector<4xi1>
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  BODY
  return
}"""
ON_TENSORS = """
func.func @f(%x: tensor<8xf32>, %k: index, %o: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  BODY
  return %r : tensor<8xf32>
}"""
_KEPT = "vector.store %v, %o[%c0] : memref<8xf32>, vector<4xf32>"
_MASKED = "memref<8xf32>, vector<4xi1>, vector<4xf32>"
_LANES = "%b = vector.broadcast %k : index to vector<4xindex>"
_PUT_BACK = "%r = tensor.insert_slice %g into %o[0] [2] [1] : tensor<2xf32> into tensor<8xf32>"

# By what they try: the body, and what is in bounds, then what is not.
BUFFERS = {
    "affine load": (
        """affine.for %i = 0 to 4 {
             %v = affine.load %x[%i + symbol(%k)] : memref<8xf32>
             affine.store %v, %o[%i] : memref<8xf32>
           }""",
        (0, 4),
        (5, -1, 1 << 40, -(1 << 62)),
    ),
    "affine store": (
        """affine.for %i = 0 to 4 {
             %v = affine.load %x[%i] : memref<8xf32>
             affine.store %v, %o[%i * 2 + symbol(%k)] : memref<8xf32>
           }""",
        (0, 1),
        (2, -1, 1 << 40),
    ),
    "affine parallel loop": (
        """affine.parallel (%i) = (0) to (symbol(%k)) {
             %v = affine.load %x[%i] : memref<8xf32>
             affine.store %v, %o[%i] : memref<8xf32>
           }""",
        (8, -3),
        (9, 100),
    ),
    "affine vectors": (
        """affine.for %i = 0 to 4 step 4 {
             %v = affine.vector_load %x[%i + symbol(%k)] : memref<8xf32>, vector<4xf32>
             affine.vector_store %v, %o[%i + symbol(%k)] : memref<8xf32>, vector<4xf32>
           }""",
        (0, 4),
        (5, -1, 1 << 40, (1 << 63) - 1, -1 << 63),
    ),
    "vector load": (f"%v = vector.load %x[%k] : memref<8xf32>, vector<4xf32>\n{_KEPT}", (4,), (5,)),
    "vector store": ("vector.store %zeros, %o[%k] : memref<8xf32>, vector<4xf32>", (4,), (5, -1)),
    "transfer read": (
        "%v = vector.transfer_read %x[%k], %zero {in_bounds = [true]}"
        f": memref<8xf32>, vector<4xf32>\n{_KEPT}",
        (4,),
        (5, -1),
    ),
    "padded read": (
        f"%v = vector.transfer_read %x[%k], %zero : memref<8xf32>, vector<4xf32>\n{_KEPT}",
        (4, 6, 8, 100),
        (-1, 1 << 40),
    ),
    "transfer write": (
        "vector.transfer_write %zeros, %o[%k] {in_bounds = [true]} : vector<4xf32>, memref<8xf32>",
        (4,),
        (5, -1),
    ),
    "masked transfer": (
        """%m = vector.create_mask %k : vector<4xi1>
           %c6 = arith.constant 6 : index
           vector.transfer_write %zeros, %o[%c6], %m {in_bounds = [true]}
             : vector<4xf32>, memref<8xf32>""",
        (0, 2),
        (3, 4),
    ),
    "masked load": (
        f"%v = vector.maskedload %x[%k], %all, %zeros : {_MASKED} into vector<4xf32>\n{_KEPT}",
        (4,),
        (5, -1, 1 << 40),
    ),
    "masked store": (
        f"""%c6 = arith.constant 6 : index
            %m = vector.create_mask %k : vector<4xi1>
            vector.maskedstore %o[%c6], %m, %zeros : {_MASKED}""",
        (0, 2),
        (3, 4),
    ),
    "packed load": (
        f"%v = vector.expandload %x[%k], %all, %zeros : {_MASKED} into vector<4xf32>\n{_KEPT}",
        (4,),
        (5, -1),
    ),
    "packed store": (
        f"""%c7 = arith.constant 7 : index
            %m = vector.create_mask %k : vector<4xi1>
            vector.compressstore %o[%c7], %m, %zeros : {_MASKED}""",
        (0, 1),
        (2,),
    ),
    "gathered lanes": (
        f"""{_LANES}
            %v = vector.gather %x[%c1][%b], %all, %zeros
              : memref<8xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
            {_KEPT}""",
        (-1, 6),
        (-2, 7, 1 << 40),
    ),
    "scattered lanes": (
        f"""{_LANES}
            vector.scatter %o[%c1][%b], %all, %zeros
              : memref<8xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>""",
        (-1, 6),
        (-2, 7),
    ),
    "element of a vector": (
        """%v = vector.load %x[%c0] : memref<8xf32>, vector<4xf32>
           %e = vector.extract %v[%k] : f32 from vector<4xf32>
           memref.store %e, %o[%c0] : memref<8xf32>""",
        (3,),
        (4, -1),
    ),
    "another view": (
        """%w = memref.reinterpret_cast %x to offset: [%k], sizes: [4], strides: [1]
             : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
           %e = memref.load %w[%c1] : memref<4xf32, strided<[1], offset: ?>>
           memref.store %e, %o[%c0] : memref<8xf32>""",
        (0, 4),
        (5, -1, 1 << 40, (1 << 63) - 1, -1 << 63),
    ),
    "view of bytes": (
        """%bytes = memref.alloc() : memref<32xi8>
           %w = memref.view %bytes[%k][] : memref<32xi8> to memref<4xf32>
           memref.store %zero, %w[%c1] : memref<4xf32>
           %e = memref.load %w[%c1] : memref<4xf32>
           memref.store %e, %o[%c0] : memref<8xf32>""",
        (0, 16),
        (17, -1),
    ),
}
TENSORS = {
    "slice that is put in": (
        "%r = tensor.insert_slice %s into %o[%k] [4] [1] : tensor<4xf32> into tensor<8xf32>",
        (0, 4),
        (5, -1, 1 << 40, (1 << 63) - 1, -1 << 63),
    ),
    "slice of elements apart": (
        "%r = tensor.insert_slice %s into %o[1] [4] [%k] : tensor<4xf32> into tensor<8xf32>",
        (1, 2),
        (3, 0, 1 << 61),
    ),
    "slice of an open size": (
        """%t = tensor.extract_slice %x[0] [%k] [1] : tensor<8xf32> to tensor<?xf32>
           %r = tensor.insert_slice %t into %o[4] [%k] [1] : tensor<?xf32> into tensor<8xf32>""",
        (0, 4),
        (5, -1),
    ),
    "slices put in by a parallel loop": (
        """%r = scf.forall (%i) in (2) shared_outs(%w = %o) -> tensor<8xf32> {
             %j = affine.apply affine_map<(i)[k] -> (i * 4 + k)>(%i)[%k]
             scf.forall.in_parallel {
               tensor.parallel_insert_slice %s into %w[%j] [4] [1]
                 : tensor<4xf32> into tensor<8xf32>
             }
           }""",
        (0,),
        (1, -1),
    ),
    "gather": (
        f"""%i = tensor.from_elements %k, %c0 : tensor<2x1xindex>
            %h = tensor.gather %x[%i] gather_dims([0])
              : (tensor<8xf32>, tensor<2x1xindex>) -> tensor<2x1xf32>
            %g = tensor.collapse_shape %h [[0, 1]] : tensor<2x1xf32> into tensor<2xf32>
            {_PUT_BACK}""",
        (0, 7),
        (8, -1),
    ),
    "pad": (
        """%p = tensor.pad %x low[%k] high[0] {
           ^bb0(%i: index):
             tensor.yield %zero : f32
           } : tensor<8xf32> to tensor<?xf32>
           %g = tensor.extract_slice %p[0] [2] [1] : tensor<?xf32> to tensor<2xf32>
           """
        + _PUT_BACK,
        (0, 3),
        (-1, -9, (1 << 63) - 1),
    ),
    "shape that is computed": (
        """%shape = tensor.from_elements %k : tensor<1xindex>
           %p = tensor.reshape %x(%shape) : (tensor<8xf32>, tensor<1xindex>) -> tensor<?xf32>
           %g = tensor.extract_slice %p[0] [2] [1] : tensor<?xf32> to tensor<2xf32>
           """
        + _PUT_BACK,
        (8,),
        (9, 7, -1),
    ),
}
CASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    name: (around.replace("BODY", body), inside, outside)
    for around, cases in ((ON_BUFFERS, BUFFERS), (ON_TENSORS, TENSORS))
    for name, (body, inside, outside) in cases.items()
}


@pytest.mark.parametrize("case", CASES)
def test_accesses(case: str) -> None:
    text, inside, outside = CASES[case]
    checked, free = (lx.compile(text, entry="f", checked=each) for each in (True, False))
    x = np.arange(1, 9, dtype=np.float32)
    for k in inside:
        found = []
        for kernel in (checked, free):
            out = np.full(8, 9, np.float32)
            result = kernel(x, k, out)
            found.append(out if result is None else result)
        np.testing.assert_array_equal(found[0], found[1])
    for k in outside:
        with pytest.raises(ExecutionError, match=r"out.of.bounds|index|larger|longer"):
            checked(x, k, np.full(8, 9, np.float32))


def test_what_the_text_tells_is_not_asked() -> None:
    body = """
    %c8 = arith.constant 8 : index
    %c4 = arith.constant 4 : index
    %low = arith.maxsi %k, %c0 : index
    %at = arith.minsi %low, %c4 : index
    scf.for %i = %c0 to %c8 step %c4 {
      %v = vector.load %x[%i] : memref<8xf32>, vector<4xf32>
      vector.store %v, %o[%at] : memref<8xf32>, vector<4xf32>
    }
    affine.for %i = 0 to 4 {
      %v = affine.load %x[%i * 2 + 1] : memref<8xf32>
      affine.store %v, %o[%i] : memref<8xf32>
    }"""
    module = Module.parse(ON_BUFFERS.replace("BODY", body))
    file.check_accesses(module)
    assert "cf.assert" not in str(module)
