"""The table of compile times, and the times of passes."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

import linalg_ext as lx
from benchmarks import compiling
from linalg_ext.rewriting import timed_passes


def test_a_case_has_a_row_and_the_costliest_passes_are_named() -> None:
    console = Console(record=True, width=120)
    for table in compiling.tables(["add"], quick=True):
        console.print(table)
    shown = console.export_text()
    assert "add, 64 x 64" in shown
    assert "linalg-ext-vectorize-loops" in shown


@pytest.mark.parametrize("name", compiling.CASES)
def test_jit_and_numpy_agree_on_every_case(name: str) -> None:
    case = compiling.CASES[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, np.float32) / 8 for shape in case.shapes]
    wanted = case.function(np, *(array.astype(np.float64) for array in arrays))
    found = lx.jit(lambda *given: case.function(np, *given))(*arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_passes_are_timed_inside_the_block_alone() -> None:
    case = compiling.CASES["add, 64 x 64"]
    with timed_passes() as seconds:
        compiling.compile_anew(case)
    before = list(seconds)
    compiling.compile_anew(case)
    assert "canonicalize" in dict(before)
    assert seconds == before
