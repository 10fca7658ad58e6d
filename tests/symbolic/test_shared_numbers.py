"""Sets of sets share their parts: nothing that is done with them takes longer with every level."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from linalg_ext.symbolic.index_sets import Tile, convex_union, intersection
from linalg_ext.symbolic.integers import (
    Number,
    Symbol,
    evaluate,
    known_divisor,
    select,
    substitute,
    symbols_of,
)

LEVELS = 20
"""So many that what doubles with each would not end."""


def tile(level: int, stride: int) -> Tile:
    size = Symbol(f"n{level}", lower=0)
    return Tile([Symbol(f"o{level}", lower=0)], [size], [stride])


def nested(combine: Any, levels: int, stride: int = 2) -> Tile:
    found = tile(0, stride)
    for level in range(1, levels + 1):
        found = combine(found, tile(level, stride))
    return found


def values(levels: int, *, seed: int) -> dict[str, int]:
    names = [f"{letter}{level}" for level in range(levels + 1) for letter in "on"]
    return {name: (at * 7 + seed * 5 + at * at) % 11 for at, name in enumerate(names)}


def indices(levels: int, given: dict[str, int], stride: int = 2) -> list[set[int]]:
    starts = [(given[f"o{level}"], given[f"n{level}"]) for level in range(levels + 1)]
    return [set(range(start, start + size * stride, stride)) for start, size in starts]


@pytest.mark.parametrize("combine", [convex_union, intersection])
def test_many_levels_are_read(combine: Any) -> None:
    found = nested(combine, LEVELS)
    keys = [symbol.key for symbol in symbols_of(found.size(0))]
    assert len(keys) == len(set(keys))
    assert set(keys) == set(values(LEVELS, seed=0))
    assert known_divisor(found.stride(0)) >= 1


@pytest.mark.parametrize("seed", range(6))
def test_a_union_of_many_holds_all_and_no_more(seed: int) -> None:
    found, given = nested(convex_union, LEVELS), values(LEVELS, seed=seed)
    offset, size, stride = (
        evaluate(number, given) for number in (found.offset(0), found.size(0), found.stride(0))
    )
    union = set[int]().union(*indices(LEVELS, given))
    assert union <= set(range(offset, offset + size * stride, stride))
    assert (min(union), max(union)) == (offset, offset + (size - 1) * stride)


@pytest.mark.parametrize("seed", range(6))
def test_an_intersection_of_some_holds_what_is_in_all(seed: int) -> None:
    found, given = nested(intersection, 3), values(3, seed=seed)
    offset, size, stride = (
        evaluate(number, given) for number in (found.offset(0), found.size(0), found.stride(0))
    )
    common = set.intersection(*indices(3, given))
    assert set(range(offset, offset + size * stride, stride)) == common


def test_a_part_that_is_shared_is_replaced_once() -> None:
    asked: list[str] = []

    class Values(dict[str, int]):
        def __contains__(self, key: object) -> bool:
            asked.append(str(key))
            return False

    size = nested(convex_union, LEVELS).size(0)
    assert substitute(size, Values()) == size
    assert len(asked) == len(set(asked)) == 2 * (LEVELS + 1)


@pytest.mark.parametrize("combine", [convex_union, intersection])
def test_texts_grow_by_as_much_with_each_level(combine: Any) -> None:
    lengths = [len(str(nested(combine, levels).size(0))) for levels in range(4, 12)]
    added = [longer - shorter for shorter, longer in itertools.pairwise(lengths)]
    assert max(added) < 2 * min(added)


def by_text(number: Number, given: dict[str, int]) -> int:
    """What a number is, by its text alone."""
    whole, _, where = str(number).partition(" (where ")
    known: dict[str, Any] = {**given, "select": lambda c, a, b: a if c else b}
    for definition in re.split(r", (?=#\d+ = )", where.removesuffix(")")) if where else ():
        name, _, text = definition.partition(" = ")
        known[name.replace("#", "_")] = eval(text.replace("#", "_"), known)
    return int(eval(whole.replace("#", "_"), known))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("combine", [convex_union, intersection])
def test_a_text_with_names_says_what_the_number_is(combine: Any, seed: int) -> None:
    found, given = nested(combine, 5), values(5, seed=seed)
    for number in (found.offset(0), found.size(0)):
        assert "(where #1 = " in str(number)
        assert by_text(number, given) == evaluate(number, given)


def test_a_short_text_has_no_names() -> None:
    i, n = Symbol("i", 0), Symbol("n", 0)
    number = select(True, (i + n) // 3 * 2, 0)
    assert str(number) == "2*((i + n) // 3)"
    assert str(number + number % 5) == "2*((i + n) // 3) + (2*((i + n) // 3)) % 5"
