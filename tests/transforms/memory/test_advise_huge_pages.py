"""Large buffers of kernels are advised to be of huge pages, whole pages of theirs only."""

from __future__ import annotations

import mmap
import re

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.module import Module
from resources import skip_machine

pytestmark = pytest.mark.skipif(
    not hasattr(mmap, "MADV_HUGEPAGE"), reason="this system knows no such advice"
)

DYNAMIC = """
func.func @double(%a: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x256xf32>
  %e = tensor.empty(%n) : tensor<?x256xf32>
  %r = linalg.add ins(%a, %a : tensor<?x256xf32>, tensor<?x256xf32>)
                  outs(%e : tensor<?x256xf32>) -> tensor<?x256xf32>
  return %r : tensor<?x256xf32>
}
"""


@pytest.mark.parametrize(
    ("allocation", "kind"),
    [
        ("memref.alloc() : memref<1048576xf32>", "always"),
        ("memref.alloc() : memref<1048575xf32>", "never"),
        ("memref.alloc() : memref<524288xvector<2xf32>>", "always"),
        ("memref.alloc(%n) : memref<?xi8>", "asked"),
        ("memref.alloc(%n) : memref<?x0xi8>", "never"),
        ("memref.alloc(%n) : memref<?x9223372036854775807xi32>", "never"),
        ("memref.alloca() : memref<1048576xf32>", "never"),
    ],
)
def test_which_buffers_are_advised(allocation: str, kind: str) -> None:
    module = Module.parse(f"func.func @f(%n: index) {{ %a = {allocation} return }}", trusted=True)
    lx.transforms.advise_huge_pages(module)
    text = str(module)
    assert ("call @madvise" in text) == (kind != "never")
    assert ("scf.if" in text) == (kind == "asked")


@pytest.mark.parametrize("rows", [0, 1, 4095, 4096, 5001])
def test_results_of_any_size_are_right(rows: int) -> None:
    kernel = lx.compile(DYNAMIC)
    assert re.search(r"call @madvise", kernel.as_text("llvm"))
    argument = np.arange(rows * 256, dtype=np.float32).reshape(rows, 256)
    np.testing.assert_array_equal(kernel(argument), 2 * argument)


def test_a_symbol_of_that_name_is_not_touched() -> None:
    text = (
        "func.func private @madvise(f32) -> f32\n"
        "func.func @f() { %a = memref.alloc() : memref<1048576xf32> return }"
    )
    module = Module.parse(text, trusted=True)
    report = lx.transforms.advise_huge_pages(module)
    assert not report
    assert "of its own" in repr(report)


def test_a_large_result_lies_in_huge_pages() -> None:
    """As the kernel itself counts them: without the advice there are none."""
    if "[never]" in _read("/sys/kernel/mm/transparent_hugepage/enabled"):
        skip_machine("huge pages")
    kernel = lx.compile(DYNAMIC)
    result = kernel(np.ones((1 << 16, 256), np.float32))
    assert _huge_bytes_at(result.ctypes.data + result.nbytes // 2) > 0


def _huge_bytes_at(address: int) -> int:
    """The AnonHugePages of the mapping that holds `address`."""
    inside = False
    for line in _read("/proc/self/smaps").splitlines():
        if span := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(span[1], 16) <= address < int(span[2], 16)
        elif inside and line.startswith("AnonHugePages:"):
            return int(line.split()[1]) << 10
    return 0


def _read(path: str) -> str:
    with open(path) as stream:
        return stream.read()
