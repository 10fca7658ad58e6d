"""Memory that cannot be had is an error of ours."""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Any

import numpy as np
import pytest

from kernels import kernel
from linalg_ext import errors
from resources import skip_machine

OUT_OF_MEMORY = "out of memory"


@pytest.fixture(scope="module")
def last() -> Any:
    """Writes the last element of a fresh buffer of `m` rows of `n` columns, and reads it again."""
    return kernel(
        """
        func.func @last(%m: index, %n: index) -> (f64, index) {
          %c1 = arith.constant 1 : index
          %x = arith.constant 3.5 : f64
          %a = memref.alloc(%m, %n) : memref<?x?xf64>
          %i = arith.subi %m, %c1 : index
          %j = arith.subi %n, %c1 : index
          memref.store %x, %a[%i, %j] : memref<?x?xf64>
          %y = memref.load %a[%i, %j] : memref<?x?xf64>
          %p = memref.extract_aligned_pointer_as_index %a : memref<?x?xf64> -> index
          return %y, %p : f64, index
        }
        """,
    )


def test_what_fits_is_allocated(last: Any) -> None:
    value, pointer = last(300, 200)
    assert value == 3.5
    assert pointer != 0


@pytest.mark.parametrize(
    "shape",
    [
        (1 << 61, 1),  # 2^64 bytes: modulo 2^64, none
        (1 << 31, 1 << 30),
        (1 << 32, 1 << 32),  # 2^64 elements
        ((1 << 61) + 1, 1),  # modulo 2^64, one element
        (1 << 62, 4),
        (1 << 60, 1),
        (-1, 1),
        (-1, -1),
        (1, -4),
        (np.iinfo(np.int64).min, 2),
    ],
)
def test_a_size_that_no_memory_has(last: Any, shape: tuple[int, int]) -> None:
    with pytest.raises(errors.ExecutionError, match=OUT_OF_MEMORY):
        last(*shape)
    assert last(2, 2)[0] == 3.5


def test_a_size_that_the_machine_does_not_have(last: Any) -> None:
    with pytest.raises(errors.ExecutionError, match=OUT_OF_MEMORY):
        last(1 << 28, 1 << 28)


def test_a_static_size_that_no_memory_has() -> None:
    run = kernel(
        """
        func.func @huge(%i: index) -> f32 {
          %x = arith.constant 3.5 : f32
          %a = memref.alloc() : memref<4611686018427387904x4xf32>
          memref.store %x, %a[%i, %i] : memref<4611686018427387904x4xf32>
          %y = memref.load %a[%i, %i] : memref<4611686018427387904x4xf32>
          return %y : f32
        }
        """
    )
    with pytest.raises(errors.ExecutionError, match=OUT_OF_MEMORY):
        run(1)


def test_intermediate_tensors() -> None:
    run = kernel(
        """
        func.func @sum(%n: index) -> i64 {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %zero = arith.constant dense<0> : tensor<i64>
          %e = tensor.empty(%n) : tensor<?xi64>
          // An `scf.for` that carries a tensor is not fused into the reader: the memory is needed.
          %g = scf.for %i = %c0 to %n step %c1 iter_args(%t = %e) -> tensor<?xi64> {
            %v = arith.index_cast %i : index to i64
            %u = tensor.insert %v into %t[%i] : tensor<?xi64>
            scf.yield %u : tensor<?xi64>
          }
          %s = linalg.reduce ins(%g : tensor<?xi64>) outs(%zero : tensor<i64>) dimensions = [0]
            (%x: i64, %o: i64) { %t = arith.addi %x, %o : i64  linalg.yield %t : i64 }
          %r = tensor.extract %s[] : tensor<i64>
          return %r : i64
        }
        """,
        checked=True,
    )
    assert run(1000) == 499_500
    with pytest.raises(errors.ExecutionError, match=OUT_OF_MEMORY):
        run(1 << 61)


LEAKLESS = {
    "one after another": """
        func.func @f(%a: tensor<?xf32>, %n: index) -> f32 {
          %c3 = arith.constant 3 : index
          %0 = arith.addf %a, %a : tensor<?xf32>
          %1 = math.exp %0 : tensor<?xf32>
          %z = arith.constant dense<0.0> : tensor<f32>
          %s = linalg.reduce ins(%1 : tensor<?xf32>) outs(%z : tensor<f32>) dimensions = [0]
            (%x: f32, %o: f32) { %t = arith.addf %x, %o : f32  linalg.yield %t : f32 }
          %p = tensor.pad %1 low[%n] high[%n] {
          ^bb0(%i: index):
            %v = tensor.extract %s[] : tensor<f32>
            tensor.yield %v : f32
          } : tensor<?xf32> to tensor<?xf32>
          %r = tensor.extract %p[%c3] : tensor<?xf32>
          return %r : f32
        }""",
    "carried by a loop, of growing size": """
        func.func @f(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> tensor<?xf32> {
            %u = tensor.concat dim(0) %t, %a
              : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
            scf.yield %u : tensor<?xf32>
          }
          return %r : tensor<?xf32>
        }""",
    "chosen by branches": """
        func.func @f(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> tensor<?xf32> {
            %m = arith.remui %i, %c2 : index
            %even = arith.cmpi eq, %m, %c0 : index
            %u = scf.if %even -> tensor<?xf32> {
              %v = tensor.pad %t low[%i] high[0] {
              ^bb0(%j: index):
                %zero = arith.constant 0.0 : f32
                tensor.yield %zero : f32
              } : tensor<?xf32> to tensor<?xf32>
              scf.yield %v : tensor<?xf32>
            } else {
              scf.yield %t : tensor<?xf32>
            }
            scf.yield %u : tensor<?xf32>
          }
          return %r : tensor<?xf32>
        }""",
    "its own memory, freed and not": """
        func.func @f(%a: tensor<?xf32>, %n: index) -> f32 {
          %c1 = arith.constant 1 : index
          %x = arith.constant 2.0 : f32
          %m = memref.alloc(%n) : memref<?xf32>
          %k = memref.alloc(%n) : memref<?xf32>
          memref.store %x, %m[%c1] : memref<?xf32>
          memref.store %x, %k[%c1] : memref<?xf32>
          %big = memref.realloc %k(%n) : memref<?xf32> to memref<?xf32>
          %y = memref.load %m[%c1] : memref<?xf32>
          %z = memref.load %big[%c1] : memref<?xf32>
          memref.dealloc %m : memref<?xf32>
          %s = arith.addf %y, %z : f32
          return %s : f32
        }""",
}


class _Heap(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def in_use() -> int:
    """Bytes that malloc has given out and not got back."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        skip_machine("a C library that counts what it allocates")
    library.mallinfo2.restype = _Heap
    heap = library.mallinfo2()
    return int(heap.uordblks + heap.hblkhd)


@pytest.mark.parametrize("case", LEAKLESS)
def test_every_buffer_is_freed(case: str) -> None:
    run = kernel(LEAKLESS[case], opt_level=1)
    a = np.ones(1000, np.float32)
    for _ in range(50):
        run(a, 5)
    before = in_use()
    for _ in range(2000):
        run(a, 5)
    # One lost buffer a call would be eight million bytes.
    assert in_use() - before < 200_000


def test_a_failed_assertion_costs_the_live_buffers_and_no_more() -> None:
    run = kernel(
        """
        func.func @f(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
          %c0 = arith.constant 0 : index
          %0 = math.exp %a : tensor<?xf32>
          %x = tensor.extract %0[%n] : tensor<?xf32>
          %zero = arith.constant 0.0 : f32
          %ok = arith.cmpf olt, %x, %zero : f32
          cf.assert %ok, "never"
          %1 = math.exp %0 : tensor<?xf32>
          return %1 : tensor<?xf32>
        }
        """
    )
    a = np.ones(1000, np.float32)
    before = in_use()
    for _ in range(100):
        with pytest.raises(errors.ExecutionError, match="never"):
            run(a, 0)
    assert in_use() - before < 100 * (a.nbytes + 400)
