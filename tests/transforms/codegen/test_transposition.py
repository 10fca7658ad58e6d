"""The network of shuffles that transposes vectors in registers."""

from __future__ import annotations

import pytest

from linalg_ext.transforms.codegen.base.transposition import transposed

Row = list[tuple[int, int]]


def shuffled(one: Row, other: Row, order: list[int]) -> Row:
    return [(one + other)[at] for at in order]


@pytest.mark.parametrize("lanes", [1, 2, 4, 16])
@pytest.mark.parametrize("times", [1, 2, 8])
def test_each_element_changes_its_row_with_its_lane(lanes: int, times: int) -> None:
    rows = [[(row, lane) for lane in range(lanes)] for row in range(times * lanes)]
    assert transposed(rows, lanes, shuffled) == [
        [(row, lane) for row in range(times * lanes)] for lane in range(lanes)
    ]


@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_a_square_takes_a_shuffle_a_vector_and_round(lanes: int) -> None:
    count = 0

    def counted(one: Row, other: Row, order: list[int]) -> Row:
        nonlocal count
        count += 1
        return shuffled(one, other, order)

    transposed([[(row, lane) for lane in range(lanes)] for row in range(lanes)], lanes, counted)
    assert count == lanes * (lanes.bit_length() - 1)
