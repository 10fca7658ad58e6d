"""Property 5: May Map To an External Library Call.

The library is one of C, as a user would register it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import linalg_ext as lx
from documents import example
from linalg_ext.errors import ParseError
from native_library import ADD, SOURCE, count, shared_library

RNG = np.random.default_rng(0)
OLDER = "pointwise_add_sxsxf32_sxsxf32"
"""What the document of 2020 calls, a name with the types of two operands in it."""


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Under the name that the document's last form of the example calls.
    source = SOURCE.replace("void add(", "void _mlir_ciface_pointwise_add(")
    return shared_library(source, tmp_path_factory.mktemp("native"))


@pytest.fixture
def registered(native: Path) -> Iterator[Path]:
    functions = {"pointwise_add": ADD.replace("add(", "pointwise_add(")}
    with lx.library("native", native, functions):
        yield native


def check(kernel: lx.Kernel, native: Path) -> None:
    a, b, c = RNG.standard_normal((3, 4, 6)).astype("f4")
    before = count(native, "add")
    kernel(a, b, c)
    np.testing.assert_array_equal(c, a + b)
    assert count(native, "add") == before + 1


def test_the_conversion_is_that_of_the_document() -> None:
    module = lx.parse(example(2024, 5))
    module.run("convert-linalg-to-std")
    # Since then a declaration must be private.
    wanted = example(2024, 5, 1).replace("func.func @point", "func.func private @point")
    functions = [
        sorted(str(op) for op in each.ir.body.operations) for each in (module, lx.parse(wanted))
    ]
    assert functions[0] == functions[1]


def test_the_op_calls_the_library(registered: Path) -> None:
    kernel = lx.compile(example(2024, 5))
    check(kernel, registered)
    assert "function  pointwise_add(" in str(kernel.explain())


def test_what_it_is_lowered_to_calls_the_library(registered: Path) -> None:
    text = example(2024, 5, 1).replace("func.func @point", "func.func private @point")
    check(lx.compile(text, "example"), registered)


def test_the_call_in_llvm_passes_pointers_to_descriptors(registered: Path) -> None:
    assert "llvm.call @_mlir_ciface_pointwise_add" in example(2024, 5, 2)
    text = lx.compile(example(2024, 5)).as_text("llvm")
    (call,) = [line for line in text.splitlines() if "call @_mlir_ciface_lx.library." in line]
    assert call.strip().endswith(": (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()")
    assert "!llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>" in text


def test_the_library_is_called_after_tiling(registered: Path) -> None:
    """The structure is preserved by transformations: one call for each tile."""
    module = lx.parse(example(2024, 5))
    lx.Schedule(module).match("generic").tile([2, 3])
    kernel = lx.compile(module)
    a, b, c = RNG.standard_normal((3, 5, 6)).astype("f4")
    before = count(registered, "add")
    kernel(a, b, c)
    np.testing.assert_array_equal(c, a + b)
    assert count(registered, "add") == before + 3 * 2


def test_without_the_library_the_region_is_run() -> None:
    a, b, c = RNG.standard_normal((3, 4, 6)).astype("f4")
    lx.compile(example(2024, 5))(a, b, c)
    np.testing.assert_array_equal(c, a + b)


# The call of 2020 in today's spelling: a declaration is private, and a name starts with `func.`.
CALL = f"""
func.func private @{OLDER}(memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)
func.func @example(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {{
  call @{OLDER}(%A, %B, %C) : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>) -> ()
  return
}}
"""


def test_the_library_is_called_by_the_name_of_2020(tmp_path: Path) -> None:
    assert f"call @{OLDER}" in example(2020, 5, 1)
    path = shared_library(SOURCE.replace("void add(", f"void {OLDER}("), tmp_path)
    with lx.library("older", path, {OLDER: ADD.replace("add(", f"{OLDER}(")}):
        check(lx.compile(CALL, "example"), path)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_sketch_of_2020_is_refused_by_its_line(number: int) -> None:
    with pytest.raises(ParseError, match="-:"):
        lx.parse(example(2020, 5, number))
