"""The algebra of subsets, by the sets of indices themselves; known numbers, and numbers put in."""

from __future__ import annotations

import doctest
import itertools
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linalg_ext.errors import ArgumentTypeError, SubsetError
from linalg_ext.symbolic import index_sets
from linalg_ext.symbolic.index_sets import (
    Filter,
    Point,
    Subset,
    Tile,
    as_tile,
    check_within,
    compose,
    containment,
    contains,
    convex_union,
    difference,
    difference_boxes,
    drop_dims,
    emptiness,
    full,
    indices,
    intersection,
    is_empty,
    replaced,
    transpose_dims,
)
from linalg_ext.symbolic.integers import Operand, Symbol, holds, maximum, minimum

Indices = set[tuple[int, ...]]

DIMS = st.tuples(st.integers(0, 8), st.integers(0, 6), st.integers(0, 5))
UNIT_DIMS = st.tuples(st.integers(0, 8), st.integers(0, 6), st.just(1))


def _tiles(dims: st.SearchStrategy[tuple[int, int, int]], rank: int) -> st.SearchStrategy[Tile]:
    def tile(parts: list[tuple[int, int, int]]) -> Tile:
        offsets, sizes, strides = zip(*parts, strict=True) if parts else ((), (), ())
        return Tile(offsets, sizes, strides)

    return st.lists(dims, min_size=rank, max_size=rank).map(tile)


def _pairs(dims: st.SearchStrategy[tuple[int, int, int]]) -> st.SearchStrategy[tuple[Tile, Tile]]:
    return st.integers(0, 2).flatmap(lambda rank: st.tuples(_tiles(dims, rank), _tiles(dims, rank)))


PAIRS = st.one_of(_pairs(DIMS), _pairs(UNIT_DIMS))


def _set(tile: Subset) -> Indices:
    assert not isinstance(tile, Filter)
    return set(indices(tile))


def _open(tile: Tile, name: str, *, strides: bool = False) -> tuple[Tile, dict[Any, int]]:
    """The tile with symbols for its numbers, and their values. Bounds are loose on purpose."""
    values: dict[Any, int] = {}

    def opened(kind: str, number: Operand, slack: int) -> Operand:
        assert isinstance(number, int)
        values[f"{name}_{kind}"] = number
        return Symbol(f"{name}_{kind}", max(0, number - slack), number + 2).number

    parts = [
        [
            opened(f"{kind}{dim}", number, slack) if kind != "stride" or strides else number
            for dim, number in enumerate(numbers)
        ]
        for kind, numbers, slack in (
            ("offset", tile.offsets, 1),
            ("size", tile.sizes, 2),
            ("stride", tile.strides, 0),
        )
    ]
    return Tile(*parts), values


def _smallest_box(found: Indices) -> tuple[tuple[int, ...], tuple[int, ...]]:
    columns = list(zip(*found, strict=True))
    return tuple(map(min, columns)), tuple(map(max, columns))


@settings(max_examples=150, deadline=None)
@given(PAIRS)
@example((Tile((0,), (6,), (2,)), Tile((1,), (6,), (2,))))
@example((Tile((0,), (6,), (4,)), Tile((2,), (6,), (3,))))
@example((Tile((), ()), Tile((), ())))
def test_relations_of_known_tiles_are_those_of_their_sets(pair: tuple[Tile, Tile]) -> None:
    a, b = pair
    assert _set(intersection(a, b)) == _set(a) & _set(b)
    assert contains(a, b) == (_set(b) <= _set(a))
    assert is_empty(a) == (not _set(a))
    left = [_set(tile) for tile in difference(a, b)]
    assert set().union(*left) == _set(a) - _set(b)
    assert sum(map(len, left)) == len(_set(a) - _set(b))
    union = convex_union(a, b)
    assert _set(union) >= _set(a) | _set(b)
    if a.rank and _set(union):
        assert _smallest_box(_set(union)) == _smallest_box(_set(a) | _set(b))
    if not _set(a) | _set(b):
        assert not _set(union)


@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_relations_of_open_tiles_are_those_of_their_sets_once_known(
    pair: tuple[Tile, Tile],
) -> None:
    (a, of_a), (b, of_b) = _open(pair[0], "a"), _open(pair[1], "b")
    values, (one, other) = of_a | of_b, map(_set, pair)

    def known(tile: Tile) -> Indices:
        return _set(replaced(tile, values))

    assert known(intersection(a, b)) == one & other
    assert known(convex_union(a, b)) >= one | other
    left = [known(tile) for tile in difference(a, b)]
    assert set().union(*left) == one - other
    assert sum(map(len, left)) == len(one - other)
    assert holds(containment(a, b), values) == (other <= one)
    assert holds(emptiness(a), values) == (not one)
    assert contains(a, b) in (None, other <= one)


@settings(max_examples=30, deadline=None)
@given(st.lists(_tiles(UNIT_DIMS, 1), min_size=3, max_size=6))
def test_intersections_of_intersections_are_those_of_all_sets(tiles: list[Tile]) -> None:
    opened = [_open(tile, f"t{number}") for number, tile in enumerate(tiles)]
    values = {key: number for _, known in opened for key, number in known.items()}
    met = reduce(intersection, [tile for tile, _ in opened])
    assert _set(replaced(met, values)) == set.intersection(*map(_set, tiles))


def test_an_intersection_grows_by_as_much_with_each_set() -> None:
    tiles = [Tile((Symbol(f"o{k}", 0),), (Symbol(f"s{k}", 0),)) for k in range(9)]
    lengths = [len(str(met)) for met in itertools.accumulate(tiles, intersection)]
    assert lengths[8] - lengths[5] == lengths[5] - lengths[2]


@settings(max_examples=30, deadline=None)
@given(_pairs(UNIT_DIMS))
def test_equal_strides_need_not_be_known(pair: tuple[Tile, Tile]) -> None:
    (a, of_a), (b, of_b) = _open(pair[0], "a"), _open(pair[1], "b")
    step = Symbol("step", 1)
    values = {**of_a, **of_b, "step": 3}
    a, b = (Tile(each.offsets, each.sizes, (step,) * each.rank) for each in (a, b))
    one, other = (_set(replaced(each, values)) for each in (a, b))
    assert _set(replaced(intersection(a, b), values)) == one & other
    left = [_set(replaced(tile, values)) for tile in difference(a, b)]
    assert set().union(*left) == one - other


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2).flatmap(lambda rank: st.tuples(_tiles(DIMS, rank), st.data())))
def test_a_tile_of_a_tile_picks_among_its_elements(drawn: tuple[Tile, st.DataObject]) -> None:
    outer, data = drawn
    parts = []
    for dim in range(outer.rank):
        size = outer.size(dim)
        assert isinstance(size, int)
        offset = data.draw(st.integers(0, size))
        stride = data.draw(st.integers(1, 3))
        parts.append((offset, data.draw(st.integers(0, -(-(size - offset) // stride))), stride))
    offsets, sizes, strides = zip(*parts, strict=True) if parts else ((), (), ())
    inner = Tile(offsets, sizes, strides)
    axes = [[index for (index,) in indices(drop_dims(outer, [dim]))] for dim in range(outer.rank)]
    expected = [tuple(axis[at] for axis, at in zip(axes, where)) for where in indices(inner)]  # noqa: B905
    assert list(indices(compose(inner, outer))) == expected
    (open_outer, of_outer), (open_inner, of_inner) = _open(outer, "o"), _open(inner, "i")
    composed = replaced(compose(open_inner, open_outer), of_outer | of_inner)
    assert list(indices(composed)) == expected
    for where in itertools.islice(indices(inner), 3):
        assert compose(Point(where), outer).indices == tuple(
            axis[at] for axis, at in zip(axes, where, strict=True)
        )


@settings(max_examples=50, deadline=None)
@given(_tiles(DIMS, 3), st.permutations(range(3)), st.sets(st.integers(0, 2)))
def test_dimensions_are_permuted_and_dropped(
    tile: Tile, permutation: list[int], kept: set[int]
) -> None:
    permuted = {tuple(index[dim] for dim in permutation) for index in _set(tile)}
    assert _set(transpose_dims(tile, permutation)) == permuted
    remaining = sorted(kept)
    dropped = drop_dims(tile, remaining)
    assert dropped.sizes == tuple(tile.sizes[dim] for dim in remaining)
    if _set(tile):
        assert _set(dropped) == {tuple(index[dim] for dim in remaining) for index in _set(tile)}
    point = Point((3, 1, 2))
    assert transpose_dims(point, permutation).indices == tuple((3, 1, 2)[d] for d in permutation)
    assert drop_dims(point, remaining).indices == tuple((3, 1, 2)[d] for d in remaining)


def test_loops_over_tiles_are_understood_without_their_sizes() -> None:
    n = Symbol("n", 0)
    i = Symbol("i", 0, n - 1, step=4)
    tile = Tile((i,), (minimum(4, n - i),))
    assert is_empty(tile) is False
    assert contains(full((n,)), tile) is True
    assert intersection(full((n,)), tile) == tile
    assert contains(tile, full((n,))) is None
    assert difference(tile, full((n,))) == ()
    assert contains(Tile((i,), (4,)), tile) is True
    assert intersection(tile, Tile((i + 4,), (4,))).sizes == (0,)


def test_parts_of_a_concatenation_straddle() -> None:
    """The rows of a tile that the second of three operands gives, as tiling computes them."""
    offset = Symbol("offset", 0, 5)
    second = intersection(Tile((offset,), (4,)), Tile((2,), (3,)))
    assert second == Tile((maximum(offset, 2),), second.sizes)
    for at, rows in ((0, {2, 3}), (1, {2, 3, 4}), (5, set())):
        assert _set(replaced(second, {"offset": at})) == {(row,) for row in rows}


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_a_difference_has_two_boxes_for_each_dimension(rank: int) -> None:
    a, b = full((9,) * rank), Tile((Symbol("o", 0),) * rank, (3,) * rank)
    assert len(difference_boxes(a, b)) == 2 * rank


def test_points_are_tiles_of_one_element() -> None:
    assert as_tile(Point((3, 4))) == Tile((3, 4), (1, 1))
    assert contains(Tile((2,), (3,), (2,)), Point((4,))) is True
    assert contains(Tile((2,), (3,), (2,)), Point((5,))) is False
    assert difference(Point((1,)), Point((1,))) == ()
    assert list(indices(Point((2, 1)))) == [(2, 1)]
    assert (Point((2, 1)).offset(0), Point((2, 1)).size(1), Point((2, 1)).stride(1)) == (2, 1, 1)


def test_a_filter_may_hold_its_whole_space() -> None:
    rows = Filter((4, 4), "rows")
    assert as_tile(rows) == full((4, 4))
    check_within(rows, (4, 4))
    with pytest.raises(SubsetError, match="known at run time only"):
        intersection(rows, full((4, 4)))


def test_the_examples_of_the_docstring_run() -> None:
    names = {"Symbol": Symbol}
    failures, count = doctest.testmod(index_sets, extraglobs=names)
    assert (failures, count > 3) == (0, True)


I4 = Symbol("i", 4, 9)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Tile((0, 0), (1,)), "a tile of 2 offsets, 1 sizes and 1 strides"),
        (lambda: Tile((-1,), (1,)), "expected offset = -1 to be non-negative"),
        (lambda: Tile((0,), (-8,)), "expected size = -8 to be non-negative"),
        (lambda: Tile((0,), (8,), (-1,)), "expected stride = -1 to be non-negative"),
        (lambda: Tile((2 - I4,), (1,)), "expected offset = 2 - i to be non-negative"),
        (lambda: Point((3, -1)), "expected index = -1 to be non-negative, in dimension 1"),
        (lambda: compose(Tile((32,), (1,)), full((32,))), "offset = 32 is out of bounds"),
        (
            lambda: compose(Tile((25,), (8,)), full((32,))),
            "offset = 25 size = 8 stride = 1 causes access out of bounds at 32",
        ),
        (lambda: compose(Tile((0,), (9,), (4,)), full((32,))), "out of bounds at 32"),
        (lambda: compose(Tile((I4,), (4,)), full((7,))), "causes access out of bounds at i \\+ 3"),
        (
            lambda: compose(Point((0, 32)), full((1, 32))),
            "expected index = 32 to be between 0 and 31, in dimension 1",
        ),
        (lambda: compose(Point((0,)), full((1, 32))), "of rank 1 of a superset of rank 2"),
        (
            lambda: compose(full((1,)), Point((0,))),  # type: ignore[arg-type]
            "a Tile of a Point is not a subset",
        ),
        (lambda: drop_dims(full((1, 2)), [1, 0]), "do not ascend"),
        (lambda: drop_dims(full((1, 2)), [2]), "dimension 2 of a subset of rank 2"),
        (lambda: transpose_dims(full((1, 2)), [0]), r"\[0\] is not a permutation of 2 dimensions"),
        (lambda: transpose_dims(full((1, 2)), [0, 0]), r"\[0, 0\] is not a permutation"),
        (lambda: transpose_dims(full((1, 2)), [0, 2]), r"\[0, 2\] is not a permutation"),
        (lambda: intersection(full((1,)), full((1, 2))), "rank 1 and one of rank 2"),
        (
            lambda: intersection(Tile((0,), (9,), (2,)), Tile((0,), (3,), (Symbol("s", 1),))),
            "strides 2 and s: which indices meet is known at run time only",
        ),
        (lambda: full((3,)).size(1), "expected a dimension from 0 to 0"),
        (lambda: full(()).offset(0), "it has no dimension"),
        (lambda: list(indices(Tile((I4,), (1,)))), r"the elements of Tile\[i\]\[1\]\[1\]"),
    ],
)
def test_what_cannot_be_is_refused_in_words(build: Callable[[], object], message: str) -> None:
    with pytest.raises(SubsetError) as caught:
        build()
    assert caught.match(message)
    assert caught.value.where is not None


@pytest.mark.parametrize(
    "build",
    [
        lambda: Tile(0, (1,)),  # type: ignore[arg-type]
        lambda: Tile((0,), 4),  # type: ignore[arg-type]
        lambda: Tile("ab", (1, 1)),  # type: ignore[arg-type]
        lambda: Point(3),  # type: ignore[arg-type]
        lambda: full(5),  # type: ignore[arg-type]
        lambda: full((2.5,)),  # type: ignore[arg-type]
    ],
)
def test_offsets_and_sizes_are_lists_of_numbers(build: Callable[[], object]) -> None:
    with pytest.raises(ArgumentTypeError, match="expected a"):
        build()


@pytest.mark.parametrize(
    "tile",
    [Tile((32,), (0,)), Tile((0,), (0,)), Tile((31,), (1,), (5,)), Tile((Symbol("k"),), (8,))],
)
def test_empty_tiles_may_stand_at_the_end_and_unknown_ones_anywhere(tile: Tile) -> None:
    assert compose(tile, full((32,))) == tile
