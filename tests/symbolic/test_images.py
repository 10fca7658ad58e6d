"""Images of tiles under affine maps, by walking through the tile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linalg_ext.errors import SubsetError
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineMap, AffineSymbol
from linalg_ext.symbolic.index_sets import Tile, full, image, indices, replaced
from linalg_ext.symbolic.integers import Symbol, minimum

A, B, S = AffineDim("a"), AffineDim("b"), AffineSymbol("S")
Found = set[tuple[int, ...]]


def _map(*results: AffineExpr) -> AffineMap:
    return AffineMap(("a", "b"), ("S",), results)


def _reached(map: AffineMap, tile: Tile, s: int) -> Found:
    found = set()
    for a, b in indices(tile):
        values: dict[AffineExpr, Any] = {A: a, B: b, S: s}
        found.add(tuple(int(result.evaluate(values)) for result in map.results))
    return found


EXPRESSIONS = st.recursive(
    st.sampled_from([A, B, A * 2 + B * 3, A * S + B, A * 4 + B, A * 3 + B // 2, 60 - A * 2]),
    lambda inner: st.one_of(
        st.tuples(inner, st.integers(1, 5)).map(lambda e: e[0] // e[1]),
        st.tuples(inner, st.integers(1, 5)).map(lambda e: e[0] % e[1]),
        st.tuples(inner, st.integers(1, 5)).map(lambda e: e[0] / e[1]),
        st.tuples(inner, st.integers(1, 5)).map(lambda e: e[0] * e[1] + 2),
        st.tuples(inner, inner).map(lambda e: e[0] + e[1]),
        inner.map(lambda e: e // S),
    ),
    max_leaves=3,
)
TILES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 3)), min_size=2, max_size=2
).map(lambda parts: Tile(*zip(*parts, strict=True)))


@settings(max_examples=250, deadline=None)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=2), TILES, st.integers(1, 3))
def test_an_image_holds_all_that_is_reached_and_says_if_it_holds_more(
    results: list[AffineExpr], tile: Tile, s: int
) -> None:
    map = _map(*results)
    reached = _reached(map, tile, s)
    found = image(map, tile, {"S": s})
    held = set(indices(found.tile))
    assert held >= reached
    if found.is_exact:
        assert held == reached


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, TILES, st.integers(1, 3))
def test_an_image_of_an_open_tile_is_right_once_it_is_known(
    result: AffineExpr, tile: Tile, s: int
) -> None:
    map = _map(result)
    values: dict[Any, int] = {"S": s}
    parts: list[list[Any]] = [[], []]
    for part, numbers in zip(parts, (tile.offsets, tile.sizes), strict=True):
        for number in numbers:
            assert isinstance(number, int)
            values[len(values)] = number
            part.append(Symbol(len(values) - 1, max(0, number - 1), number + 2))
    found = image(map, Tile(parts[0], parts[1], tile.strides), {"S": Symbol("S", 1, 3)})
    held, reached = set(indices(replaced(found.tile, values))), _reached(map, tile, s)
    assert held >= reached
    if found.is_exact and reached:
        assert held == reached


N, I = Symbol("n", 1), Symbol("i", 0, 96, 8)  # noqa: E741


@pytest.mark.parametrize(
    ("result", "domain", "expected"),
    [
        # A convolution's window: 8 rows of an image that a stride of 2 leaves no gaps in.
        (A * 2 + B, Tile((I, 0), (8, 3)), Tile((2 * I,), (17,))),
        (A * 2 + B * 2, Tile((I, 0), (8, 3)), Tile((2 * I,), (10,), (2,))),
        (A, Tile((I, 0), (minimum(8, N), 3)), Tile((I,), (minimum(8, N),))),
        (A // 4, Tile((I, 0), (8, 1)), Tile((I // 4,), (2,))),
        (A % 4, Tile((I, 0), (8, 1)), Tile((0,), (4,))),
        (A % 8, Tile((I, 0), (3, 1)), Tile((0,), (3,))),
        (A * 4 + B, full((N, 4)), Tile((0,), (4 * N,))),
        (A * S + B, Tile((0, 5), (1, 3)), Tile((5,), (3,))),
        (96 - A, Tile((I, 0), (1, 1)), Tile((96 - I,), (1,))),
    ],
)
def test_exact_images(result: AffineExpr, domain: Tile, expected: Tile) -> None:
    found = image(_map(result), domain, {"S": Symbol("S", 1)})
    assert (found.tile, found.is_exact) == (expected, True)


@pytest.mark.parametrize(
    ("results", "domain", "expected"),
    [
        ((A * 2 + B * 3,), full((3, 3)), Tile((0,), (11,))),  # 1 is not reached
        ((A * 4 + B,), full((3, 2)), Tile((0,), (10,))),
        ((A, A), full((3, 1)), full((3, 3))),  # a diagonal
        ((A * 3 // 2,), full((4, 1)), Tile((0,), (5,))),
    ],
)
def test_images_with_gaps_say_so(
    results: tuple[AffineExpr, ...], domain: Tile, expected: Tile
) -> None:
    found = image(_map(*results), domain, {"S": 1})
    assert (found.tile, found.is_exact) == (expected, False)


@pytest.mark.parametrize(
    ("map", "domain", "message"),
    [
        (_map(A), full((3,)), "a subset of rank 1 for a map of 2 dimensions"),
        (_map(A * AffineSymbol("T")), full((3, 3)), "the symbol T, whose value is not given"),
        (_map(AffineDim("c")), full((3, 3)), "the dimension c, which it does not list"),
        (_map(A - 1), full((3, 3)), "expected offset = -1 to be non-negative"),
    ],
)
def test_what_has_no_image_is_refused(map: AffineMap, domain: Tile, message: str) -> None:
    with pytest.raises(SubsetError, match=message):
        image(map, domain, {"S": 1})
