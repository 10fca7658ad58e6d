"""The table of what threads gain: it runs the case on as many threads as it says."""

from __future__ import annotations

from typing import Any

import linalg_ext as lx
from benchmarks import scaling
from benchmarks.bars.case import Case


def test_a_case_runs_on_one_thread_and_on_several() -> None:
    counts: list[int] = []

    def double(x: Any, out: Any = None) -> Any:
        counts.append(lx.threads.current())
        return lx.ops.add(x, x, out=out)

    found = scaling.scaling(Case("double", ((8, 8),), double, {}), 3, seconds=0.0)
    assert set(counts) == {1, 3}
    assert found.name == "double"
    assert min(found.alone, found.shared, found.gain) > 0
