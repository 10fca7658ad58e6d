"""The properties of structured ops, by the examples of the dialect's document: lowered, and run.

The document calls an unknown function `some_compute`. It stays unknown where an example is lowered
only, and is a sum where it is run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import linalg_ext as lx
from documents import example
from linalg_ext.bindings import ir
from linalg_ext.errors import ExecutionError
from linalg_ext.module import Module
from native_library import ADD, SOURCE, count, shared_library

RNG = np.random.default_rng(0)

UNKNOWN = '"some_compute"(%a, %b): (f32, vector<4xf32>) -> (vector<4xf32>)'
SUM = "arith.addf %b, %wide : vector<4xf32>"


def read(text: str) -> Module:
    return lx.parse(text, allow_unregistered=True)


def runnable(text: str) -> str:
    assert UNKNOWN in text
    return text.replace(
        f"%c = {UNKNOWN}", f"%wide = vector.broadcast %a : f32 to vector<4xf32>\n%c = {SUM}"
    )


def steps(module: Module) -> list[str]:
    """What is done in which order: the ops, and what they read and write, without constants."""
    module.run("canonicalize,cse")
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name not in ("arith.constant", "builtin.module"):
            sizes = [str(value.type).partition(",")[0].rstrip(">") for value in op.operands]
            found.append(f"{op.name} {', '.join(sizes)}")
        return ir.WalkResult.ADVANCE

    module.ir.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


@pytest.mark.parametrize("property_", [1, 2, 4])
def test_the_loops_are_those_of_the_document(property_: int) -> None:
    module, wanted = (read(example(2024, property_, number)) for number in (0, 1))
    module.run("convert-linalg-to-loops")
    assert steps(module) == steps(wanted)
    assert "scf.for index, index, index" in steps(module)


def test_operands_define_the_iteration_space() -> None:
    kernel = lx.compile(runnable(example(2024, 1)))
    a = RNG.standard_normal(5).astype("f4")
    memory = RNG.standard_normal((11, 4)).astype("f4")
    before, b = memory.copy(), memory[1::2]
    kernel(a, b)
    np.testing.assert_array_equal(b, before[1::2] + a[:, None])
    np.testing.assert_array_equal(memory[::2], before[::2])
    with pytest.raises(ExecutionError, match="dimension #0 of input/output operand #1 is incomp"):
        kernel(a[:4].copy(), b)


def test_maps_between_control_and_data_are_reversible() -> None:
    kernel = lx.compile(runnable(example(2024, 2)))
    memory = RNG.integers(-4, 5, 64).astype("f4")
    a = np.lib.stride_tricks.as_strided(memory, (8, 5), (8, 8), writeable=False)
    b = RNG.integers(-4, 5, (8, 4)).astype("f4")
    expected = b + a.sum(axis=1)[:, None]
    kernel(a, b)
    np.testing.assert_array_equal(b, expected)
    # The loop over j runs as far as both A and B say.
    with pytest.raises(ExecutionError, match="dimension #0 of input/output operand"):
        kernel(a, np.zeros((7, 4), np.float32))


def test_the_payload_is_a_region() -> None:
    a, b, c = RNG.standard_normal((3, 4, 6)).astype("f4")
    lx.compile(example(2024, 4))(a, b, c)
    np.testing.assert_array_equal(c, a + b)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Under the name that the document's last form of the example calls.
    source = SOURCE.replace("void add(", "void _mlir_ciface_pointwise_add(")
    return shared_library(source, tmp_path_factory.mktemp("native"))


@pytest.fixture
def registered(native: Path) -> Iterator[Path]:
    function = ADD.replace("add(", "pointwise_add(")
    with lx.library("native", native, {"pointwise_add": function}):
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


def test_without_the_library_the_region_is_run() -> None:
    a, b, c = RNG.standard_normal((3, 4, 6)).astype("f4")
    lx.compile(example(2024, 5))(a, b, c)
    np.testing.assert_array_equal(c, a + b)
