"""Affine maps from text: the same maps as were printed, and clear errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linalg_ext.bindings import ir
from linalg_ext.ir.context import new_context
from linalg_ext.notations.affine_text import AffineTextError, parse_affine_map
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineMap, AffineSymbol

DIMS, SYMBOLS = ("d0", "d1", "d2"), ("s0", "s1")


def _expressions() -> st.SearchStrategy[AffineExpr]:
    leaves = st.one_of(
        st.sampled_from([AffineDim(name) for name in DIMS]),
        st.sampled_from([AffineSymbol(name) for name in SYMBOLS]),
        st.integers(-9, 9).map(AffineConst),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
            st.tuples(inner, st.integers(-4, 4)).map(lambda pair: pair[0] * pair[1]),
            st.tuples(inner, st.integers(1, 5)).map(lambda pair: pair[0] // pair[1]),
            st.tuples(inner, st.integers(1, 5)).map(lambda pair: pair[0] / pair[1]),
            st.tuples(inner, st.integers(1, 5)).map(lambda pair: pair[0] % pair[1]),
            st.tuples(inner, st.just(AffineSymbol("s0"))).map(lambda pair: pair[0] - pair[1]),
        ),
        max_leaves=6,
    )


@given(st.lists(_expressions(), max_size=3))
def test_what_is_printed_is_read_back(results: list[AffineExpr]) -> None:
    back = parse_affine_map(str(AffineMap(DIMS, SYMBOLS, tuple(results))))
    assert (back.dims, back.symbols) == (DIMS, SYMBOLS)
    # Read, a sum may be found simpler than it was built: `d0 + d0` is `d0 * 2`.
    for point in range(5):
        values: dict[AffineExpr, int] = {AffineDim(d): 3 * i - point for i, d in enumerate(DIMS)}
        values |= {AffineSymbol(s): 2 * i + point + 1 for i, s in enumerate(SYMBOLS)}
        assert [e.evaluate(values) for e in back.results] == [e.evaluate(values) for e in results]


@pytest.mark.parametrize(
    "text",
    [
        "affine_map<(d0, d1)[s0] -> (d0 * s0 + d1, -d1 - 3)>",
        "affine_map<() -> ()>",
        "affine_map<(d0) -> ((d0 + 1) floordiv 2, (d0 ceildiv 3) mod 5, 7)>",
        "affine_map<(i, j) -> (2 * (i - j), -(i + j) * 3, i - 4 + j)>",
    ],
)
def test_mlir_reads_the_same(text: str) -> None:
    with new_context():
        theirs = str(ir.Attribute.parse(text))
    assert str(parse_affine_map(text)) == theirs


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "`affine_map`", 1),
        ("(d0) -> (d0)", "cannot have `(`", 1),
        ("affine_map<(d0) -> (d1)>", "d1 is not declared", 21),
        ("affine_map<(d0, d0) -> (d0)>", "declared twice", 17),
        ("affine_map<(d0, 1) -> (d0)>", "'1' is not a name", 17),
        ("affine_map<(d0) -> (d0 +)>", "cannot have `)`", 25),
        ("affine_map<(d0) -> (d0", "cannot have the end", 23),
        ("affine_map<(d0) -> (d0)> x", "expected the end of the map", 26),
        ("affine_map<(d0) -> (d0 & 1)>", "`&` cannot stand", 24),
        ("affine_map<(d0, d1) -> (d0 * d1)>", "multiplies two dimensions", 28),
        ("affine_map<(d0) -> (d0 floordiv 0)>", "must be positive", 24),
        ("affine_map<(d0) -> (99999999999999999999)>", "64 bits", 21),
        ("affine_map<(d0) -> (" + "(" * 300 + "d0" + ")" * 300 + ")>", "nested more than", None),
    ],
)
def test_what_is_no_map_says_where(text: str, message: str, column: int | None) -> None:
    with pytest.raises(AffineTextError) as caught:
        parse_affine_map(text)
    assert message in str(caught.value)
    assert column is None or caught.value.offset == column - 1
