"""The table of compile times."""

from __future__ import annotations

import pytest
from rich.console import Console

from benchmarks import compiling
from linalg_ext.rewriting import timed_passes


def test_the_table_has_a_row_for_a_case_and_names_the_costliest_passes() -> None:
    console = Console(record=True, width=120)
    for table in compiling.tables(["add"], quick=True):
        console.print(table)
    shown = console.export_text()
    assert "add, 64 x 64" in shown
    assert "linalg-ext-vectorize-loops" in shown or "canonicalize" in shown


@pytest.mark.parametrize("name", compiling.CASES)
def test_every_case_is_traced_alike_by_numpy_and_by_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    case = compiling.CASES[name]
    arrays = compiling.inputs(case)
    expected = case.function(__import__("numpy"), *arrays)
    assert (
        abs(jax.jit(lambda *given: case.function(jax.numpy, *given))(*arrays) - expected).max()
        < 1e-4
    )


def test_passes_are_timed_inside_the_block_alone() -> None:
    with timed_passes() as seconds:
        compiling.kernel_of(compiling.CASES["add, 64 x 64"])
    before = dict(seconds)
    compiling.kernel_of(compiling.CASES["add, 64 x 64"])
    assert "canonicalize" in before
    assert dict(seconds) == before
