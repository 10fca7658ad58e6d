"""Conditions on positions: which keys a query sees."""

from __future__ import annotations

import pytest

from linalg_ext.transforms.codegen.attention._expressions import (
    Applied,
    Element,
    Expression,
    Number,
    Position,
    comparison_of,
    last_seen,
)

QUERY, KEY = 1, 2
SCORE = Element("scores", (0, QUERY, KEY))
LOWEST = Number("0xFF800000 : f32")
SLT, SLE, SGT, SGE = (f"predicate = {number} : i64" for number in (2, 3, 4, 5))


def plus(one: Expression, other: Expression | int, name: str = "addi") -> Applied:
    if isinstance(other, int):
        other = Number(f"{other} : index")
    return Applied(f"arith.{name}", "", (one, other), "index")


def compared(one: Expression, predicate: str, other: Expression) -> Applied:
    return Applied("arith.cmpi", predicate, (one, other), "i1")


def where(condition: Expression, yes: Expression, no: Expression) -> Applied:
    return Applied("arith.select", "", (condition, yes, no), "f32")


@pytest.mark.parametrize(
    ("changed", "last"),
    [
        (where(compared(Position(QUERY), SGE, Position(KEY)), SCORE, LOWEST), 0),
        (where(compared(Position(KEY), SLE, Position(QUERY)), SCORE, LOWEST), 0),
        (where(compared(Position(KEY), SLT, Position(QUERY)), SCORE, LOWEST), -1),
        (where(compared(Position(KEY), SGT, Position(QUERY)), LOWEST, SCORE), 0),
        (where(compared(Position(KEY), SGE, Position(QUERY)), LOWEST, SCORE), -1),
        (where(compared(Position(KEY), SLE, plus(Position(QUERY), 7)), SCORE, LOWEST), 7),
        (where(compared(plus(Position(QUERY), Position(KEY), "subi"), SGE,
                        Number("3 : index")), SCORE, LOWEST), -3),
        (where(Applied("arith.andi", "", (
            compared(Position(KEY), SLE, plus(Position(QUERY), 5)),
            compared(Position(KEY), SLE, plus(Position(QUERY), 2))), "i1"), SCORE, LOWEST), 2),
        # Of a key that is not seen the score need not be -inf, or another loop decides.
        (where(compared(Position(KEY), SLE, Position(QUERY)), SCORE, SCORE), None),
        (where(compared(Position(KEY), SGE, Position(QUERY)), SCORE, LOWEST), None),
        (where(compared(Position(KEY), SLE, Position(0)), SCORE, LOWEST), None),
        (where(compared(plus(Position(KEY), Position(KEY)), SLE, Position(QUERY)), SCORE, LOWEST),
         None),
        (SCORE, None),
    ],
)  # fmt: skip
def test_the_last_key_that_is_seen(changed: Expression, last: int | None) -> None:
    assert last_seen(changed, QUERY, KEY) == last


def test_a_position_in_few_bits_is_none() -> None:
    narrow = Applied("arith.index_cast", "", (Position(KEY),), "i8")
    assert comparison_of(compared(narrow, SLE, Position(QUERY))) is None
    wide = Applied("arith.index_cast", "", (Position(KEY),), "i64")
    assert comparison_of(compared(wide, SLE, Position(QUERY))) is not None
