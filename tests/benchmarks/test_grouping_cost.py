"""The benchmark of the cost model ranks what it is given, and groups a case in several ways."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from benchmarks import grouping_cost
from benchmarks.grouping_cases import Case
from benchmarks.grouping_cost import Pair, spearman
from costed_modules import gelu, model, module_of


@pytest.mark.parametrize(
    ("one", "other", "rank"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3, 4], [1, 3, 2, 4], 0.8),
        ([1, 2, 2, 3], [1, 2, 2, 3], 1.0),
        ([1, 1, 1], [1, 2, 3], 0.0),
        ([], [], 0.0),
    ],
)
def test_rank_correlation(one: list[float], other: list[float], rank: float) -> None:
    assert spearman(one, other) == pytest.approx(rank)


def test_factors_are_of_the_first_plan_of_a_case() -> None:
    pairs = [
        Pair("a", "x", 2, 10),
        Pair("a", "y", 1, 20),
        Pair("b", "x", 4, 1),
        Pair("b", "y", 8, 3),
    ]
    assert grouping_cost._factors(pairs) == ([0.5, 2], [2, 3])


def test_every_plan_is_costed_and_timed() -> None:
    array = np.linspace(-1, 1, 35, dtype=np.float32).reshape(5, 7)
    case = Case("gelu", module_of(gelu, (5, 7)), (array,))
    with lx.options(threads=1):
        pairs = grouping_cost.measured(case, model(), rounds=1)
        plans = list(grouping_cost.plans(case, model()))
    assert len({pair.plan for pair in pairs}) == len(pairs) >= 5
    assert all(pair.cost > 0 and pair.time > 0 for pair in pairs)
    assert pairs[-1].cost < pairs[0].cost
    expected = 0.5 * array * (1 + np.tanh(0.7978845608 * (array + 0.044715 * array**3)))
    for plan in plans:
        np.testing.assert_allclose(np.asarray(plan.call()), expected, rtol=1e-5, atol=1e-6)


def test_a_table_has_every_pair() -> None:
    pairs = [Pair("a", str(at), at + 1.0, at + 2.0) for at in range(4)]
    assert grouping_cost.table(pairs).row_count == 4
