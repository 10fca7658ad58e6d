"""Large buffers are advised to be of huge pages, small ones are on the stack, not in loops."""

from __future__ import annotations

import mmap
import re

import numpy as np
import pytest

import linalg_ext as lx
from kernels import run
from linalg_ext.module import Module
from linalg_ext.runtime import poison
from linalg_ext.transforms.memory import place_buffers as file
from resources import skip_machine

needs_advice = pytest.mark.skipif(
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


@needs_advice
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
    file.place_buffers(module)
    text = str(module)
    assert ("call @madvise" in text) == (kind != "never")
    assert ("scf.if" in text) == (kind == "asked")


@needs_advice
@pytest.mark.parametrize("rows", [0, 1, 4095, 4096, 5001])
def test_results_of_any_size_are_right(rows: int) -> None:
    kernel = lx.compile(DYNAMIC)
    assert re.search(r"call @madvise", kernel.as_text("llvm"))
    argument = np.arange(rows * 256, dtype=np.float32).reshape(rows, 256)
    np.testing.assert_array_equal(kernel(argument), 2 * argument)


@needs_advice
def test_a_symbol_of_that_name_is_not_touched() -> None:
    text = (
        "func.func private @madvise(f32) -> f32\n"
        "func.func @f() { %a = memref.alloc() : memref<1048576xf32> return }"
    )
    module = Module.parse(text, trusted=True)
    report = file.place_buffers(module)
    assert not report
    assert "of its own" in repr(report)


@needs_advice
def test_a_large_result_lies_in_huge_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel itself counts them: without the advice there are none."""
    monkeypatch.setattr(poison, "ON", False)  # which writes to the pages before they are advised
    if "[never]" in _read("/sys/kernel/mm/transparent_hugepage/enabled"):
        skip_machine("huge pages")
    kernel = lx.compile(DYNAMIC)
    result = kernel(np.ones((1 << 16, 256), np.float32))
    assert _huge_bytes_at(result.ctypes.data + result.nbytes // 2) > 0


TEXT = """
func.func private @keep(memref<8xf32>)
func.func @f(%n: index, %x: memref<8xf32>) -> f32 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = {loop}
    %a = memref.alloc({open}) : memref<{type}>
    {before}
    memref.store %zero, %a[%c1] : memref<{type}>
    {freed}
    {end}
  }}
  return %zero : f32
}}"""
IN_LOOP = "scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {"
USUAL = {
    "loop": IN_LOOP,
    "open": "",
    "type": "8xf32",
    "before": "",
    "freed": "memref.dealloc %a : memref<8xf32>",
    "end": "scf.yield %s : f32",
}
LARGE = f"{file.BUFFER_LIMIT_BYTES // 4 + 1}xf32"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        (
            {
                "loop": "scf.if %true -> f32 {",
                "end": "scf.yield %zero : f32 } else {\nscf.yield %zero : f32",
            },
            None,
        ),
        (
            {"type": "?xf32", "open": "%n", "freed": "memref.dealloc %a : memref<?xf32>"},
            "the buffer is large, or of open size",
        ),
        (
            {"type": LARGE, "freed": f"memref.dealloc %a : memref<{LARGE}>"},
            "the buffer is large, or of open size",
        ),
        ({"freed": ""}, "the buffer may outlive its block"),
        (
            {
                "before": "%k = memref.alloc() : memref<memref<8xf32>>",
                "freed": "memref.store %a, %k[] : memref<memref<8xf32>>\n"
                "memref.dealloc %a : memref<8xf32>",
            },
            "the buffer may outlive its block",
        ),
        (
            {
                "loop": "scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {",
                "end": "scf.reduce(%zero : f32) {\n^bb0(%p: f32, %q: f32):\n"
                "scf.reduce.return %p : f32\n}",
            },
            "several threads may allocate the buffer",
        ),
    ],
)
def test_what_goes_to_the_stack(
    changes: dict[str, str], reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "_ADVICE", -1)
    text = TEXT.format(**(USUAL | changes))
    text = text.replace("%zero =", "%true = arith.constant true\n  %zero =", 1)
    module = Module.parse(text, trusted=True)
    report = file.place_buffers(module)
    assert bool(report) is (reason is None)
    assert ("memref.alloca()" in str(module)) is (reason is None)
    if reason is None:
        assert "dealloc" not in str(module)
    else:
        assert reason in str(report)


def test_of_one_function_no_more_than_the_limit() -> None:
    one = file.BUFFER_LIMIT_BYTES
    count = file.MOVED_LIMIT_BYTES // one + 3
    pairs = "".join(
        f"%a{n} = memref.alloc() : memref<{one}xi8>\n"
        f"memref.store %v, %a{n}[%i] : memref<{one}xi8>\n"
        f"memref.dealloc %a{n} : memref<{one}xi8>\n"
        for n in range(count)
    )
    module = Module.parse(f"func.func @f(%v: i8, %i: index) {{\n{pairs}return\n}}", trusted=True)
    report = file.place_buffers(module)
    assert str(module).count("memref.alloca()") == count - 3
    assert str(module).count("memref.dealloc") == 3
    assert "much on the stack" in str(report)


def test_rounds_of_a_loop_share_the_stack() -> None:
    """A million rounds, each with a buffer of its own."""
    text = """
    func.func @f(%n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
        %a = memref.alloc() : memref<64xf32>
        %place = arith.remui %i, %c1 : index
        memref.store %s, %a[%place] : memref<64xf32>
        %y = memref.load %a[%c0] : memref<64xf32>
        memref.dealloc %a : memref<64xf32>
        %z = arith.addf %y, %one : f32
        scf.yield %z : f32
      }
      return %r : f32
    }"""
    assert run(text, 1_000_000) == np.float32(1_000_000)


LOOP = """
func.func @f(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> f32 {
    %a = memref.alloca() : memref<SIZExf32>
    memref.store %s, %a[%c1] : memref<SIZExf32>
    %y = memref.load %a[%c1] : memref<SIZExf32>
    %z = arith.addf %y, %x : f32
    scf.yield %z : f32
  }
  return %r : f32
}"""


def test_what_is_too_much_for_the_stack_is_freed_at_the_end() -> None:
    fits = Module.parse(LOOP.replace("SIZE", str(file.HOISTED_LIMIT_BYTES // 4)), trusted=True)
    beyond = Module.parse(
        LOOP.replace("SIZE", str(file.HOISTED_LIMIT_BYTES // 4 + 1)), trusted=True
    )
    assert file.place_buffers(fits)
    assert file.place_buffers(beyond)
    assert str(fits).index("memref.alloca()") < str(fits).index("scf.for")
    assert str(beyond).index("memref.alloc()") < str(beyond).index("scf.for")
    assert str(beyond).index("memref.dealloc") > str(beyond).rindex("scf.yield")
    assert run(LOOP.replace("SIZE", "1000"), 20_000, 0.5) == 10_000.5


def test_a_long_loop_over_vectors_does_not_overflow_the_stack() -> None:
    """Some ten thousand rounds, each with vectors of 2 kB that go through memory."""
    text = """
    func.func @main(%a: tensor<96x96x16x16xf64>, %c: tensor<96x96x16x16xf64>)
        -> tensor<96x96x16x16xf64> {
      %r = linalg.transpose ins(%a : tensor<96x96x16x16xf64>) outs(%c : tensor<96x96x16x16xf64>)
        permutation = [0, 1, 3, 2]
      return %r : tensor<96x96x16x16xf64>
    }"""
    module = lx.parse(text)
    lx.Schedule(module).match("transpose").tile([1, 1, 16, 16]).vectorize()
    x = np.random.default_rng(0).random((96, 96, 16, 16))
    kernel = lx.compile(module, entry="main")
    np.testing.assert_array_equal(kernel(x, np.zeros_like(x)), x.swapaxes(2, 3))


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
