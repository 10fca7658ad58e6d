"""The table of compile times, and the times of passes."""

from __future__ import annotations

from collections import Counter

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


@pytest.mark.parametrize("name", ["add, 64 x 64", "MLP of two layers", "transformer, 4"])
def test_no_compile_makes_more_calls_than_on_record(name: str) -> None:
    """Where a change makes more for a reason: python -m benchmarks.compiling --record."""
    now = compiling.calls(compiling.CASES[name])
    assert {"tracing", "transforms/codegen", "rewriting"} <= set(now)
    assert not compiling.regressions(now, compiling.recorded()[name])


def test_what_counts_as_more_calls() -> None:
    before = {"transforms/codegen": 1000, "tracing": 20}
    assert not compiling.regressions(Counter(before), before)
    assert not compiling.regressions(Counter({"transforms/codegen": 990, "tracing": 40}), before)
    assert compiling.regressions(Counter({"transforms/codegen": 1100, "tracing": 20}), before) == [
        "all rooms: 1120 calls, 1020 on record",
        "transforms/codegen: 1100 calls, 1000 on record",
    ]
    # A room that gains what another one loses is named, though the sum is the same.
    moved = Counter({"transforms/codegen": 900, "tracing": 120})
    assert compiling.regressions(moved, before) == ["tracing: 120 calls, 20 on record"]
