"""Values in pieces: the documented example, and every operator at every position."""

from __future__ import annotations

import doctest
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linalg_ext.symbolic import piecewise
from linalg_ext.symbolic.piecewise import MOST_PIECES, NotInPieces, Pieces

STEPS: tuple[Callable[[Any, int], Any], ...] = (
    operator.add,
    operator.sub,
    operator.mul,
    lambda value, number: number - value,
    lambda value, number: value // (abs(number) + 1),
    lambda value, number: value % (abs(number) + 1),
    lambda value, number: (value >= number) & (value != number + 2) | (value < number - 3),
    lambda value, number: (value <= number) * 3 + (value == 1) - (value > 2),
)


def everywhere(value: Pieces) -> list[int]:
    return [value.over(at).at(at) for at in range(value.size)]


def test_the_example() -> None:
    assert doctest.testmod(piecewise).failed == 0


@given(
    st.integers(1, 40),
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(-9, 9)), max_size=5),
)
@settings(max_examples=300, deadline=None)
def test_each_operator_at_each_position(size: int, steps: list[Any]) -> None:
    value, expected = Pieces.positions(size), np.arange(size)
    try:
        for step, number in steps:
            value, expected = step(value, number), step(expected, number)
    except NotInPieces:
        return
    assert everywhere(value) == [int(each) for each in expected]
    assert len(value.pieces) <= MOST_PIECES


@pytest.mark.parametrize(
    "make",
    [
        lambda at: at % 3,  # too many
        lambda at: at * at,
        lambda at: at // 0,
        lambda at: at & 1,
    ],
)
def test_what_has_no_pieces(make: Callable[[Pieces], Pieces]) -> None:
    with pytest.raises(NotInPieces):
        make(Pieces.positions(1000))
