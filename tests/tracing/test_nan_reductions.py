"""Reductions that leave NaN out under `jit`, beside NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traced_functions import check, random

X = random(4, 6)
WITH_NAN = X.copy()
WITH_NAN[1, 2], WITH_NAN[2] = np.nan, np.nan


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("x", [WITH_NAN, X, random(4, 6, dtype=np.int32)], ids=["nan", "f", "i"])
def test_reductions(x: Any, axis: Any, keepdims: bool) -> None:
    options: Any = {"axis": axis, "keepdims": keepdims}
    check(
        lambda x: (
            np.nansum(x, **options),
            np.nanprod(x % 3, **options),
            np.nanmax(x, **options),
            np.nanmin(x, **options),
            np.nanmean(x, **options),
            np.nanvar(x, **options),
            np.nanstd(x, ddof=2, **options),
        ),
        x,
    )


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_places_and_cumulative_ones(axis: Any) -> None:
    check(lambda x: (np.nanargmax(x, axis), np.nanargmin(x, axis)), WITH_NAN[:2])
    check(lambda x: (np.nancumsum(x, axis), np.nancumprod(x, axis)), WITH_NAN)


def test_an_initial_value_counts_where_all_are_nan() -> None:
    check(lambda x: (np.nanmax(x, axis=1, initial=2.0), np.nansum(x, 1, initial=3.0)), WITH_NAN)


def test_numbers_in_their_place() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1.5], np.float32)
    check(lambda x: (np.nan_to_num(x), np.nan_to_num(x, nan=2, posinf=7, neginf=-7)), x)
