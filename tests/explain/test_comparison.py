"""Which lines stand beside which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linalg_ext.explain.comparison import Run, compared
from linalg_ext.explain.located_text import LocatedText, Place


def text(*lines: str, places: tuple[int, ...] = ()) -> LocatedText:
    own = tuple((Place("a.py", each),) if each else () for each in places)
    return LocatedText(lines, {}, own)


def test_numbers_of_values_make_no_difference() -> None:
    left = text("%0 = a.b %arg0", "%1 = c.d %0 {map = #map1}")
    right = text("%cst = e.f", "%4 = a.b %arg1", "%5 = c.d %4 {map = #map}")
    assert compared(left, right) == [Run("changed", 0, 0, 0, 1), Run("same", 0, 2, 1, 3)]


def test_names_of_ops_and_symbols_do() -> None:
    assert compared(text("a.b @f"), text("a.b @g")) == [Run("changed", 0, 1, 0, 1)]


def test_what_changed_stands_beside_what_comes_of_the_same_place() -> None:
    left = text("x", "y", "z", places=(1, 2, 3))
    right = text("p", "q1", "q2", "r", places=(1, 2, 2, 3))
    assert compared(left, right) == [
        Run("changed", 0, 1, 0, 1),
        Run("changed", 1, 2, 1, 3),
        Run("changed", 2, 3, 3, 4),
    ]


def test_closing_lines_alone_are_no_match() -> None:
    left, right = text("a {", "}", "b {", "}"), text("p", "q", "}", "r")
    assert {run.kind for run in compared(left, right)} == {"changed"}


def test_closing_lines_beside_a_match_are() -> None:
    left, right = text("a {", "}", "x"), text("y", "a {", "}")
    assert Run("same", 0, 2, 1, 3) in compared(left, right)


def test_every_other_line_changed_is_no_square() -> None:
    """Of 20,000 lines every other one differs: without anchors that takes minutes."""
    left = text(*(f"op {n}" if n % 2 else f"old {n}" for n in range(20_000)))
    right = text(*(f"op {n}" if n % 2 else f"new {n}" for n in range(20_000)))
    assert len(compared(left, right)) == 20_000


LINES = st.lists(st.tuples(st.sampled_from(["a", "b %1", "b %2", "}", ""]), st.integers(0, 3)))


@given(LINES, LINES)
def test_every_line_is_in_one_run(
    left: list[tuple[str, int]], right: list[tuple[str, int]]
) -> None:
    first, second = (
        text(*(line for line, _ in each), places=tuple(place for _, place in each))
        for each in (left, right)
    )
    at = (0, 0)
    for run in compared(first, second):
        assert (run.left, run.right) == at
        at = (run.left_end, run.right_end)
        if run.kind == "same":
            assert run.left_end - run.left == run.right_end - run.right
    assert at == (len(left), len(right))
