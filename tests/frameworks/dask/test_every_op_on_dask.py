"""Every op of the library on dask arrays that are cut in all places, blocks by the reference.

What may not be split, or is combined wrongly, would give other numbers than the whole.
"""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

from linalg_ext.frameworks import handlers
from linalg_ext.frameworks.dask import blocks
from linalg_ext.opdsl import StructuredOp
from op_cases import (
    ALL_FORMULAS,
    OPS,
    Array,
    Case,
    formula_case,
    window_case,
    window_cases,
)

PARTS = 4
"""How many tests share the ops."""


def by_reference(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call of an op on arrays, without compiling."""
    return op.definition.reference(
        *operands, **{k: v for k, v in keywords.items() if k != "threads"}
    )


def in_small_chunks(array: Array) -> Any:
    """A dask array of two, three or more chunks along each axis, not all equal."""
    return da.from_array(array, chunks=tuple(max(1, size // 2 + size % 2) for size in array.shape))


def check(case: Case) -> None:
    """Compare blocks with the whole, which is compared with formulas elsewhere."""
    op, before = OPS[case.name], tuple(case.before)
    whole = op.definition.reference(*case.inputs, init=before, **case.attributes)
    cut = [in_small_chunks(array) for array in case.inputs]
    results = op(*cut, init=tuple(map(in_small_chunks, before)), **case.attributes)
    several = isinstance(results, tuple)
    for result, expected in zip(
        *((results, whole) if several else ([results], [whole])), strict=True
    ):
        computed = result.compute(optimize_graph=False)
        same = (result.shape, result.dtype) == (expected.shape, expected.dtype)
        assert same, f"{case.name}: {result} for {expected.shape} of {expected.dtype}"
        tolerance = 1e-4 if result.dtype.itemsize < 8 else 1e-9
        np.testing.assert_allclose(computed, expected, tolerance, tolerance, err_msg=case.name)


def cases() -> list[Case]:
    """Each op with dimensions once; of those without, which are all alike, and of windows some."""
    found = [
        formula_case(name, ALL_FORMULAS[name].kinds.split()[0])
        for number, name in enumerate(ALL_FORMULAS)
        if number % 10 == 0 or not OPS[name].definition.is_rank_polymorphic
        if OPS[name].definition.inputs
    ]
    windows = [
        window_case(name, kind, is_strided=strided)
        for name, strided, kind in window_cases()
        if strided and (kind == "i" or name.endswith("_average"))
    ]
    return found + windows[::4]


@pytest.mark.parametrize("part", range(PARTS))
def test_blocks_give_what_the_whole_gives(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "call_on_arrays", by_reference)
    monkeypatch.setattr(blocks, "PANEL_BYTES", 0)  # nothing is merged where it need not be
    with dask.config.set(scheduler="synchronous"):
        for case in cases()[part::PARTS]:
            check(case)
