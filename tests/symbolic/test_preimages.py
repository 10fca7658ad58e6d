"""Preimages of tiles, beside all indices counted out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linalg_ext.errors import SubsetError
from linalg_ext.notations.affine_text import affine_map
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineMap
from linalg_ext.symbolic.index_sets import Tile, full, indices, preimage, replaced
from linalg_ext.symbolic.integers import Symbol

DIMS = ("d0", "d1", "d2")


def exprs() -> st.SearchStrategy[AffineExpr]:
    leaves = st.sampled_from([AffineDim(name) for name in DIMS])

    def larger(inner: st.SearchStrategy[AffineExpr]) -> st.SearchStrategy[AffineExpr]:
        return st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, k: a * k, inner, st.integers(-2, 3)),
            st.builds(lambda a, k: a + k, inner, st.integers(-3, 3)),
            st.builds(lambda a, k: a // k, inner, st.integers(1, 4)),
            st.builds(lambda a, k: a / k, inner, st.integers(1, 4)),
            st.builds(lambda a, k: a % k, inner, st.integers(1, 4)),
        )

    return st.recursive(leaves, larger, max_leaves=4)


def tiles(rank: int, *, largest: int) -> st.SearchStrategy[Tile]:
    def some(low: int, high: int) -> st.SearchStrategy[list[int]]:
        return st.lists(st.integers(low, high), min_size=rank, max_size=rank)

    return st.builds(Tile, some(0, 3), some(0, largest), some(1, 3))


def counted(map: AffineMap, data: Tile, domain: Tile) -> set[tuple[int, ...]]:
    wanted = set(indices(data))
    found = set()
    for point in indices(domain):
        values: dict[AffineExpr, int] = {
            AffineDim(name): i for name, i in zip(map.dims, point, strict=True)
        }
        if tuple(result.evaluate(values) for result in map.results) in wanted:
            found.add(point)
    return found


@given(st.data())
def test_a_preimage_is_what_counting_finds(data: st.DataObject) -> None:
    results = data.draw(st.lists(exprs(), min_size=0, max_size=2))
    map = AffineMap(DIMS, (), tuple(results))
    domain = data.draw(tiles(3, largest=4))
    part = data.draw(tiles(len(results), largest=6))
    found = preimage(map, part, domain)
    listed = [point for tile in found.tiles for point in indices(tile)]
    assert len(listed) == len(set(listed))
    # Domains that small are short enough to be taken apart: every answer is exact.
    assert found.is_exact
    assert set(listed) == counted(map, part, domain)
    if found.tiles:
        assert set(listed) <= set(indices(found.tile))


@pytest.mark.parametrize(
    "index",
    [
        *("d0", "d0 * 2 + 1", "7 - d0 * 2", "d0 floordiv 3", "d0 ceildiv 3", "d0 mod 3"),
        *("(d0 + 2) mod 4", "d0 * 2 + d1", "d0 - d1 + 2", "(d0 + d1) floordiv 2"),
        *("(d0 * 2 + d1) mod 3", "d0 floordiv 2 + d1 * 2", "(d0 ceildiv 2) * 3 + 1"),
    ],
)
def test_every_part_of_an_operand_is_led_back(index: str) -> None:
    map, domain = affine_map(f"(d0, d1) -> ({index})"), Tile((1, 0), (7, 3))
    for offset, size, stride in itertools.product(range(6), range(4), (1, 2, 3)):
        part = Tile((offset,), (size,), (stride,))
        found = preimage(map, part, domain)
        listed = [point for tile in found.tiles for point in indices(tile)]
        assert found.is_exact
        assert len(listed) == len(set(listed))
        assert set(listed) == counted(map, part, domain), part


N, FIRST, W = Symbol("n", lower=0), Symbol("o", lower=0), Symbol("w", lower=0)


@pytest.mark.parametrize(
    ("text", "is_exact"),
    [
        ("(d0, d1) -> (d0, d1)", True),
        ("(d0, d1) -> (d1)", True),
        ("(d0, d1) -> (d0 * 2 + 1)", True),
        ("(d0, d1) -> (d0 * 2 + d1)", True),  # d1 is short and known: a tile for each of it
        ("(d0, d1) -> (d0 floordiv 3)", True),
        ("(d0, d1) -> (d0 mod 3)", False),
        ("(d0, d1) -> (d0 + d1 * 3, d1)", True),
    ],
)
def test_a_preimage_may_be_of_numbers_that_are_not_known(text: str, is_exact: bool) -> None:
    map = affine_map(text)
    rank = len(map.results)
    domain = Tile((0, 0), (N.number, 3))
    part = Tile([FIRST.number] * rank, [W.number] * rank)
    found = preimage(map, part, domain)
    assert found.is_exact == is_exact
    for n, o, w in itertools.product((0, 1, 5, 8), (0, 2, 3), (0, 1, 4)):
        values = {"n": n, "o": o, "w": w}
        listed = [p for tile in found.tiles for p in indices(replaced(tile, values))]
        expected = counted(map, replaced(part, values), replaced(domain, values))
        assert len(listed) == len(set(listed))
        assert (set(listed) == expected) if is_exact else (set(listed) >= expected)


def test_a_band_of_long_loops_is_held_by_one_tile() -> None:
    map = affine_map("(d0, d1) -> (d0 * 2 + d1)")
    found = preimage(map, Tile((1000,), (100,)), full((4096, 4096)))
    assert not found.is_exact
    assert found.tiles == (Tile((0, 0), (550, 1100)),)
    assert found.tile == found.tiles[0]


def test_nothing_is_reached_where_nothing_can_be() -> None:
    found = preimage(affine_map("(d0) -> (d0, 7)"), Tile((0, 3), (4, 2)), full((8,)))
    assert (found.tiles, found.is_exact) == ((), True)
    with pytest.raises(SubsetError, match="the preimage of the tile is empty"):
        _ = found.tile


@pytest.mark.parametrize(
    ("map", "data", "domain", "message"),
    [
        ("(d0) -> (d0)", full((4, 4)), full((4,)), "ranks 1 and 2"),
        ("(d0) -> (d0)", full((4,)), full((4, 4)), "ranks 2 and 1"),
        ("(d0)[s0] -> (d0 + s0)", full((4,)), full((4,)), "without symbols"),
    ],
)
def test_ranks_that_do_not_fit_are_refused(
    map: str, data: Tile, domain: Tile, message: str
) -> None:
    with pytest.raises(SubsetError, match=message):
        preimage(affine_map(map), data, domain)
