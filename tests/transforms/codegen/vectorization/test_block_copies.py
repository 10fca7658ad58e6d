"""Copies of long rows of much memory, and copies that stay on vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from guarded_memory import guarded
from kernels import kernel
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.vectorization import _nest_emitter as file
from loop_texts import function, generic

PARALLEL = ["parallel", "parallel"]


@pytest.fixture(autouse=True)
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose caches hold little."""
    machine = Machine(vector_bytes=32, vector_registers=16, l2_bytes=1 << 13)
    monkeypatch.setattr(file, "this_machine", lambda: machine)


def copy(maps: list[str], *types: str) -> Any:
    """A kernel that copies its first argument to its second."""
    operands = list(zip(("%a", "%b"), types, strict=True))
    text = function(operands, generic(maps, PARALLEL, operands, ""))
    return kernel(text.replace("linalg.yield %r", "linalg.yield %in0"))


def is_in_blocks(run: Any) -> bool:
    return "memref.copy" in run.as_text("loops")


@pytest.mark.parametrize("rows", [1, 8, 33])
@pytest.mark.parametrize("row", [256, 300, 2049])
def test_rows_of_a_part(rows: int, row: int) -> None:
    wide = f"memref<{rows}x{row}xf32, strided<[{row + 7}, 1], offset: ?>>"
    run = copy(["i, j", "i, j"], f"memref<{rows}x{row}xf32>", wide)
    assert is_in_blocks(run) == (rows * row * 4 >= 1 << 13)
    a = guarded(np.random.default_rng(0).normal(size=(rows, row)).astype(np.float32))
    whole = guarded(np.zeros((rows, row + 7), np.float32))
    run(a, whole[:, 7:])
    np.testing.assert_array_equal(whole[:, 7:], a)
    assert not whole[:, :7].any()


def test_contiguous_memory_is_one_block() -> None:
    run = copy(["i, j", "i, j"], "memref<64x3xf32>", "memref<64x3xf32>")
    assert not is_in_blocks(run)
    run = copy(["i, j", "i, j"], "memref<4096x3xf32>", "memref<4096x3xf32>")
    assert is_in_blocks(run)
    assert "scf.for" not in run.as_text("loops")
    a, b = guarded(np.arange(4096 * 3, dtype=np.float32).reshape(-1, 3)), np.empty((4096, 3), "f4")
    run(a, b)
    np.testing.assert_array_equal(a, b)


def test_a_row_for_all_rows() -> None:
    run = copy(["j", "i, j"], "memref<512xf32>", "memref<16x512xf32>")
    a, b = np.arange(512, dtype=np.float32), guarded(np.empty((16, 512), np.float32))
    run(a, b)
    np.testing.assert_array_equal(b, np.broadcast_to(a, b.shape))


@pytest.mark.parametrize(
    ("maps", "types"),
    [
        (["i, j", "i, j"], ["memref<64x100xf32, strided<[128, 1]>>", "memref<64x100xf32>"]),
        (["j, i", "i, j"], ["memref<512x64xf32>", "memref<64x512xf32>"]),
        (["i, j", "i, j"], ["memref<?x512xf32>", "memref<?x512xf32>"]),
        (["i", "i, j"], ["memref<64xf32>", "memref<64x512xf32>"]),
    ],
)
def test_what_stays_on_vectors(maps: list[str], types: list[str]) -> None:
    assert not is_in_blocks(copy(maps, *types))


def copies_into_parts(first: int, second: int) -> str:
    """Two arrays of 300 columns are copied to one of 700, from columns `first` and `second` on."""
    part = "memref<9x300xf32, strided<[700, 1], offset: {}>>"
    copies = "\n".join(
        f"""
        %part{at} = memref.subview %o[0, {at}] [9, 300] [1, 1]
          : memref<9x700xf32> to {part.format(at)}
        linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>,
                                         affine_map<(i, j) -> (i, j)>],
                        iterator_types = ["parallel", "parallel"]}}
            ins(%{name} : memref<9x300xf32>) outs(%part{at} : {part.format(at)}) {{
        ^bb0(%x: f32, %y: f32):
          linalg.yield %x : f32
        }}"""
        for name, at in (("a", first), ("b", second))
    )
    arguments = "%a: memref<9x300xf32>, %b: memref<9x300xf32>, %o: memref<9x700xf32>"
    return f"func.func @f({arguments}) {{{copies}\nreturn\n}}"


@pytest.mark.parametrize(
    ("first", "second", "loops"), [(0, 300, 1), (400, 7, 1), (5, 100, 2), (100, 5, 2)]
)
def test_parts_side_by_side_are_written_row_by_row(first: int, second: int, loops: int) -> None:
    run = kernel(copies_into_parts(first, second))
    assert is_in_blocks(run)
    assert run.as_text("loops").count("scf.for") == loops
    random = np.random.default_rng(0)
    a, b = (guarded(random.normal(size=(9, 300)).astype(np.float32)) for _ in range(2))
    whole, expected = guarded(np.zeros((9, 700), np.float32)), np.zeros((9, 700), np.float32)
    run(a, b, whole)
    expected[:, first : first + 300] = a
    expected[:, second : second + 300] = b
    np.testing.assert_array_equal(whole, expected)


def test_concatenations_of_many_parts() -> None:
    random = np.random.default_rng(0)
    for axis in range(3):
        shapes = [[5, 6, 400] for _ in range(3)]
        for shape, extent in zip(shapes, (1, 4, 300), strict=True):
            shape[axis] = extent
        arrays = [random.normal(size=shape).astype(np.float32) for shape in shapes]
        joined = lx.jit(lambda a, b, c, axis=axis: np.concatenate([a, b, c, a], axis=axis))
        expected = np.concatenate([*arrays, arrays[0]], axis=axis)
        np.testing.assert_array_equal(joined(*arrays), expected)
