"""Every op at element types and sizes past a vector, by its formula: a sample, drawn by its name.

The nightly run takes more of them, others each day: `python -m op_spread`.
"""

from __future__ import annotations

import pytest

from op_cases import OPS, OWN_TEST
from op_spread import DTYPES, LENGTHS, Spread, problem, run_op, sample, spreads

NAMES = sorted(set(OPS) - OWN_TEST)
PARTS = 16
EVERY = 401


@pytest.mark.parametrize("part", range(PARTS))
def test_a_sample_of_every_op(part: int) -> None:
    wrong = [
        each for name in NAMES[part::PARTS] for each in run_op(name, sample(name, EVERY, 0))[3]
    ]
    assert wrong == []


def test_all_types_and_lengths_are_among_them() -> None:
    everything = spreads("matmul")
    assert {each.dtype for each in everything} == {dtype.name for dtype in DTYPES}
    assert {(each.letter, each.length) for each in everything} == {
        (letter, length) for letter in "mkn" for length in LENGTHS
    }
    assert {each.dtype for each in everything if each.is_wide} >= {"float16", "bfloat16", "int8"}
    drawn = [each for first in range(EVERY) for each in sample("matmul", EVERY, first)]
    assert sorted(map(str, drawn)) == sorted(map(str, everything))


@pytest.mark.parametrize(
    ("name", "dtype", "letter", "length"),
    [
        # Differences of unsigned integers wrapped around before their size was taken.
        ("absolute_error", "uint8", "x", 33),
        ("pairwise_manhattan_distance", "uint16", "n", 17),
        ("pairwise_chebyshev_distance", "uint32", "k", 33),
        ("row_sum_of_absolutes", "uint8", "n", 100),
        ("row_max_of_absolutes", "uint64", "m", 16),
        ("squared_euclidean_distance_from_products", "uint8", "m", 15),
        # A limit below zero was a great unsigned one.
        ("hard_tanh", "uint8", "x", 17),
        ("soft_shrink", "uint32", "x", 33),
        ("hard_shrink", "uint16", "y", 17),
        ("hinge_loss", "uint8", "y", 33),
        # The reference did not know the angle of complex numbers.
        ("atan2", "complex128", "x", 15),
    ],
)
def test_what_was_wrong(name: str, dtype: str, letter: str, length: int) -> None:
    assert problem(Spread(name, dtype, False, letter, length)) is None


def test_a_wrong_number_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, "exp", OPS["expm1"])
    assert "wrong: at" in str(problem(Spread("exp", "float32", False, "x", 17)))
    monkeypatch.setitem(OPS, "add", OPS["bitwise_and"])
    assert str(problem(Spread("add", "float32", False, "x", 17))).startswith("wrongly refused")
