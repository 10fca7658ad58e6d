"""Who owns returned memory: every array handed back outlives all else, and nothing leaks."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

from linalg_ext.compiler import compile
from resources import skip_machine

# Each returns one memref or two of four floats; %x is memory of the caller's.
RETURNS = {
    "allocation": (
        "%r = memref.alloc() : memref<4xf32>\n"
        "memref.copy %x, %r : memref<4xf32> to memref<4xf32>\n"
        "return %r, %r : memref<4xf32>, memref<4xf32>",
        [0, 1, 2, 3],
    ),
    "two allocations": (
        "%r = memref.alloc() : memref<4xf32>\n"
        "%s = memref.alloc() : memref<4xf32>\n"
        "memref.copy %x, %r : memref<4xf32> to memref<4xf32>\n"
        "memref.copy %x, %s : memref<4xf32> to memref<4xf32>\n"
        "return %r, %s : memref<4xf32>, memref<4xf32>",
        [0, 1, 2, 3],
    ),
    "input": ("return %x, %x : memref<4xf32>, memref<4xf32>", [0, 1, 2, 3]),
    "constant": (
        "%g = memref.get_global @g : memref<4xf32>\nreturn %g, %g : memref<4xf32>, memref<4xf32>",
        [4, 5, 6, 7],
    ),
    "stack": (
        "%r = memref.alloca() : memref<4xf32>\n"
        "memref.copy %x, %r : memref<4xf32> to memref<4xf32>\n"
        "return %r, %r : memref<4xf32>, memref<4xf32>",
        [0, 1, 2, 3],
    ),
    "one or the other": (
        "%c0 = arith.constant 0 : index\n"
        "%f0 = arith.constant 0.0 : f32\n"
        "%v = memref.load %x[%c0] : memref<4xf32>\n"
        "%c = arith.cmpf oeq, %v, %f0 : f32\n"
        "%r = scf.if %c -> memref<4xf32> {\n"
        "  %a = memref.alloc() : memref<4xf32>\n"
        "  memref.copy %x, %a : memref<4xf32> to memref<4xf32>\n"
        "  scf.yield %a : memref<4xf32>\n"
        "} else {\n"
        "  scf.yield %x : memref<4xf32>\n"
        "}\n"
        "return %r, %x : memref<4xf32>, memref<4xf32>",
        [0, 1, 2, 3],
    ),
    "part of an allocation": (
        "%a = memref.alloc() : memref<8xf32>\n"
        "%s = memref.subview %a[2][4][1]\n"
        "  : memref<8xf32> to memref<4xf32, strided<[1], offset: 2>>\n"
        "memref.copy %x, %s : memref<4xf32> to memref<4xf32, strided<[1], offset: 2>>\n"
        "%r = memref.alloc() : memref<4xf32>\n"
        "memref.copy %s, %r : memref<4xf32, strided<[1], offset: 2>> to memref<4xf32>\n"
        "memref.dealloc %a : memref<8xf32>\n"
        "return %r, %r : memref<4xf32>, memref<4xf32>",
        [0, 1, 2, 3],
    ),
}


def returning(name: str) -> Any:
    body, expected = RETURNS[name]
    text = f"""
    memref.global constant @g : memref<4xf32> = dense<[4.0, 5.0, 6.0, 7.0]>
    func.func @f(%x: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {{
      {body}
    }}
    """
    return compile(text, trusted=True), expected


@pytest.mark.parametrize("name", RETURNS)
def test_returned_memory_comes_out_right_and_is_the_callers(name: str) -> None:
    kernel, expected = returning(name)
    x = np.arange(4, dtype=np.float32)
    first, second = kernel(x)
    np.testing.assert_array_equal(first, expected)
    np.testing.assert_array_equal(second, expected)
    first[:] = -1
    np.testing.assert_array_equal(second, expected)
    np.testing.assert_array_equal(x, [0, 1, 2, 3])
    again, _ = kernel(x)
    np.testing.assert_array_equal(again, expected)


def test_a_returned_view_with_strides() -> None:
    kernel = compile(
        """
        func.func @f() -> memref<2x3xf32, strided<[1, 2], offset: 1>> {
          %c = arith.constant 0.0 : f32
          %one = arith.constant 1.0 : f32
          %i = arith.constant 3 : index
          %a = memref.alloc() : memref<7xf32>
          linalg.fill ins(%c : f32) outs(%a : memref<7xf32>)
          memref.store %one, %a[%i] : memref<7xf32>
          %r = memref.reinterpret_cast %a to offset: [1], sizes: [2, 3], strides: [1, 2]
            : memref<7xf32> to memref<2x3xf32, strided<[1, 2], offset: 1>>
          return %r : memref<2x3xf32, strided<[1, 2], offset: 1>>
        }
        """,
        trusted=True,
    )
    np.testing.assert_array_equal(kernel(), [[0, 1, 0], [0, 0, 0]])


OPEN = """
func.func @f(%a: tensor<?xf32>) -> (tensor<?xf32>, tensor<4xf32>) {
  %0 = arith.addf %a, %a : tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to tensor<4xf32>
  return %0, %1 : tensor<?xf32>, tensor<4xf32>
}
"""


def test_results_outlive_the_kernel() -> None:
    kernel = compile(OPEN, trusted=True)
    y, z = kernel(np.ones(4, np.float32))
    part = y[1:3]
    del kernel, y
    gc.collect()
    np.testing.assert_array_equal(part, [2, 2])
    np.testing.assert_array_equal(z, [2, 2, 2, 2])


def test_the_kernel_outlives_the_module() -> None:
    from linalg_ext.bindings import ir

    with ir.Context() as context:
        module = ir.Module.parse(OPEN, context)
        before = str(module)
        kernel = compile(module)
        assert str(module) == before
    del module, context
    gc.collect()
    y, _ = kernel(np.ones(4, np.float32))
    np.testing.assert_array_equal(y, [2, 2, 2, 2])


def resident() -> int:
    if not sys.platform.startswith("linux"):
        skip_machine("Linux, to tell the memory in use")
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("name", ["open shape", *(name for name in RETURNS if name != "stack")])
def test_nothing_leaks(name: str) -> None:
    """Two megabytes a call: one in a hundred calls lost would show."""
    size = 1 << 18
    if name == "open shape":
        text = OPEN.replace("<4xf32>", f"<{size}xf32>")
    else:
        body, _ = RETURNS[name]
        body = body.replace("[2][4][1]", f"[2][{size}][1]").replace("<8xf32>", f"<{size + 4}xf32>")
        text = f"""
        memref.global constant @g : memref<4xf32> = dense<1.0>
        func.func @f(%x: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {{ {body} }}
        """
        text = text.replace("<4xf32", f"<{size}xf32")
    kernel = compile(text, trusted=True)
    x = np.zeros(size, np.float32)
    for _ in range(5):
        kernel(x)
    before = resident()
    for _ in range(100):
        kernel(x)
    assert resident() - before < 40 << 20


def test_two_thousand_small_calls_do_not_leak() -> None:
    class MallInfo(ctypes.Structure):
        _fields_ = [(f"field{index}", ctypes.c_size_t) for index in range(10)]

    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        skip_machine("a C library with malloc statistics")
    libc.mallinfo2.restype = MallInfo
    kernel = compile(OPEN.replace("<4xf32>", "<100xf32>"), trusted=True)
    x = np.zeros(100, np.float32)

    def in_use() -> Any:
        gc.collect()
        return libc.mallinfo2().field7

    for _ in range(100):
        kernel(x)
    before = in_use()
    for _ in range(2000):
        kernel(x)
    assert in_use() - before < 100_000  # one lost result a call would be 800,000


def test_eight_threads_call_one_kernel() -> None:
    kernel = compile(OPEN, trusted=True)
    failures = []

    def work(seed: int) -> None:
        x = np.full(4, seed, np.float32)
        out = np.zeros(4, np.float32)
        for call in range(200):
            y, z = kernel(x, out=(None, out if call % 2 else None))
            if not ((y == 2 * seed).all() and (z == 2 * seed).all()):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads_compile_at_once() -> None:
    kernels: list[Any] = [None] * 4

    def work(index: int) -> None:
        kernels[index] = compile(OPEN, trusted=True)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for kernel in kernels:
        np.testing.assert_array_equal(kernel(np.ones(4, np.float32))[0], [2, 2, 2, 2])


def test_a_view_with_strides_comes_back_as_a_copy_in_row_major_order() -> None:
    text = """
    func.func @f(%a: memref<4x?xf32>) -> memref<?x4xf32, strided<[1, ?]>> {
      %0 = memref.transpose %a (i, j) -> (j, i)
        : memref<4x?xf32> to memref<?x4xf32, strided<[1, ?]>>
      return %0 : memref<?x4xf32, strided<[1, ?]>>
    }"""
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    result = compile(text)(array)
    np.testing.assert_array_equal(result, array.T)
    assert result.flags.c_contiguous
    assert not np.shares_memory(result, array)
