"""The table of errors: what is exact is exact, and who is worse is said."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import accuracy
from benchmarks.accuracy import Reduction


def test_errors_are_in_units_of_the_last_place() -> None:
    assert accuracy.largest_error(np.float32(1 + 2**-23), 1.0) == 1
    assert accuracy.largest_error(np.array([1, 2 + 2**-21], np.float32), [1.0, 2.0]) == 2


def test_worse_is_more_than_twice_the_best_and_more_than_two_units() -> None:
    assert not accuracy.is_worse(1.9, [0.1, 5.0])
    assert not accuracy.is_worse(9.9, [5.0])
    assert accuracy.is_worse(2.1, [0.1, 5.0])
    assert accuracy.is_worse(11.0, [5.0, 8.0])
    assert not accuracy.is_worse(11.0, [])


@pytest.mark.parametrize("reduction", list(accuracy.all_reductions()), ids=lambda each: each.name)
def test_what_is_exact_agrees_with_ours_and_numpy(reduction: Reduction) -> None:
    found = accuracy.errors(reduction, 1000, [0])
    assert {"ours", "numpy"} <= set(found)
    assert found["ours"] < 8
    assert found["numpy"] < 64
