"""The benchmark of groupings on a small case: all ways compute the same, and are in the table."""

from __future__ import annotations

import io

import numpy as np
from rich.console import Console

import linalg_ext as lx
from benchmarks.grouping import WAYS, measured, table
from benchmarks.grouping_cases import Case


def test_a_small_case_is_measured_in_all_ways() -> None:
    x = np.random.default_rng(0).standard_normal((48, 64), np.float32)
    module = lx.jit(lambda x: np.exp(np.tanh(x) * 2) + x).lower(x).module
    row = measured(Case("small", module, (x,)), rounds=1)
    assert set(row.seconds) == set(WAYS)
    assert all(seconds > 0 for seconds in row.seconds.values())
    assert row.gain("apart", "apart") == 1
    console = Console(file=io.StringIO(), record=True, width=160)
    console.print(table([row]))
    assert "small" in console.export_text()
