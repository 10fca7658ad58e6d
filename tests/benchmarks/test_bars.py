"""What the comparison with peers does with its cases; nothing is said of how quick anything is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from benchmarks import peers
from benchmarks.bars import measuring
from benchmarks.bars.case import Case, same
from benchmarks.bars.cases import all_cases
from benchmarks.bars.measuring import Result, measure
from benchmarks.bars.reporting import table, with_limit
from benchmarks.limits import Limits

CASE = Case(
    "product",
    ((5, 6), (6, 7)),
    lx.ops.matmul,
    same(lambda a, b: a @ b),
    flops=2 * 5 * 6 * 7,
    reused={"numpy": lambda a, b, out: np.matmul(a, b, out=out)},
)


@pytest.fixture(autouse=True)
def _numpy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "installed", lambda: ("numpy",))


def test_every_case_has_a_name_of_its_own_and_numpy_as_a_peer() -> None:
    cases = list(all_cases())
    assert max(Counter(case.name for case in cases).values()) == 1
    assert all("numpy" in case.functions for case in cases)


def test_dropped_and_reused_results_are_measured() -> None:
    dropped, reused = measure(CASE, 1, seconds=0)
    assert (dropped.memory, reused.memory) == ("dropped", "reused")
    assert dropped.best == "numpy"
    assert dropped.moved == 4 * (30 + 42 + 35)
    assert dropped.flops == 420
    assert min(dropped.ours, dropped.ratio, dropped.gflops) > 0


def test_large_results_are_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "LARGE", 1)
    assert [one.memory for one in measure(CASE, 1, seconds=0)] == ["dropped", "kept", "reused"]


def test_a_wrong_result_is_not_timed() -> None:
    wrong = replace(CASE, ours=lambda a, b, out=None: a @ b + 1, traced=None)
    with pytest.raises(AssertionError, match="Not equal"):
        next(measure(wrong, 1, seconds=0))


def test_a_peer_that_fails_is_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*arrays: Any) -> Any:
        raise RuntimeError("no such op\nand more")

    monkeypatch.setattr(peers, "installed", lambda: ("numpy", "other"))
    monkeypatch.setitem(peers._WORKS, "other", lambda function, arrays: lambda: function(*arrays))
    case = replace(CASE, functions={**CASE.functions, "other": broken}, reused={})
    (result,) = measure(case, 1, seconds=0)
    assert set(result.peers) == {"numpy"}
    assert "other is left out of product: no such op\n" in capsys.readouterr().err


def test_a_part_of_the_result_is_compared_where_numbers_differ() -> None:
    other = replace(CASE, ours=lambda a, b, out=None: (a @ b)[::-1], traced=None)
    assert next(measure(replace(other, compared=np.sum), 1, seconds=0)).best == "numpy"
    with pytest.raises(AssertionError, match="Not equal"):
        next(measure(replace(other, compared=lambda x: x[0]), 1, seconds=0))


@pytest.mark.parametrize("dtype", ["f8", "bfloat16", "i1", ("f4", "i4")])
def test_operands_are_the_same_every_time(dtype: Any) -> None:
    case = replace(CASE, dtype=dtype)
    for one, other in zip(case.operands(), case.operands(), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.any()


def test_iree_gets_the_linalg_that_we_compile() -> None:
    text = CASE.peers["iree"](*CASE.operands())
    assert "linalg.generic" in text
    assert "tensor<5x7xf32>" in text
    assert "iree" not in replace(CASE, ours=lambda a, b: a @ b).peers


def test_the_table_has_limits_and_means() -> None:
    known = Limits(1, {"f32": 1e9, "f64": 5e8}, {1 << 20: 1e9})
    result = Result("x", 1, "dropped", 4e-3, {"numpy": 8e-3}, "numpy", 2.0, 0.5, 2_000_000, 1000)
    limited = with_limit(result, known)
    assert limited.limit == pytest.approx(2e-3)
    assert with_limit(replace(result, element="f8"), known).limit == pytest.approx(4e-3)
    text = table([limited, replace(limited, ratio=0.5)])
    assert "| x | 1 | dropped | 4 | numpy | 8 | 2.00 | 0 | 50% |" in text
    assert "geometric mean of 2 | 1 | dropped | | | | 1.00" in text
