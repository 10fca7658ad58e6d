"""Sugar and maps: one meaning, that of transposing and broadcasting arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.definition.operand_maps import (
    Sugar,
    apply_sugar,
    find_sugar,
    readings,
    with_indices_of,
)
from linalg_ext.errors import ArgumentError
from linalg_ext.symbolic.affine import AffineDim, AffineExpr

Indices = tuple[AffineExpr, ...]


def dims(names: str) -> Indices:
    return tuple(AffineDim(name) for name in names)


@st.composite
def sugars(draw: st.DrawFn) -> tuple[Indices, Sugar]:
    rank = draw(st.integers(0, 5))
    broadcast = tuple(draw(st.permutations(range(rank)))[: draw(st.integers(0, rank))])
    order = draw(st.permutations(range(rank - len(broadcast))))
    return dims("ijklm"[:rank]), Sugar(tuple(order), broadcast)


@given(sugars())
def test_sugar_is_transpose_then_broadcast(case: tuple[Indices, Sugar]) -> None:
    natural, sugar = case
    given_indices = apply_sugar(natural, sugar, "x")
    # What linalg.transpose and linalg.broadcast do to the names of the dimensions of an operand.
    kept = [i for i in range(len(natural)) if i not in sugar.broadcast]
    transposed = [given_indices[source] for source in sugar.permutation or range(len(kept))]
    assert [natural[i] for i in kept] == transposed


@given(sugars())
def test_sugar_comes_back_from_its_map(case: tuple[Indices, Sugar]) -> None:
    natural, sugar = case
    given_indices = apply_sugar(natural, sugar, "x")
    found = find_sugar(natural, given_indices)
    assert found is not None
    assert apply_sugar(natural, found, "x") == given_indices
    assert set(found.broadcast) == set(sugar.broadcast)


def test_the_wish_lists_permutations() -> None:
    natural = dims("ijk")
    assert apply_sugar(natural, Sugar((0, 2, 1)), "a") == dims("ikj")
    assert apply_sugar(natural, Sugar((1, 2, 0)), "b") == dims("kij")
    assert apply_sugar(dims("ij"), Sugar(broadcast=(1,)), "a") == dims("i")


@pytest.mark.parametrize("indices", ["ii", "x", "ijx"])
def test_a_map_beyond_sugar_has_none(indices: str) -> None:
    assert find_sugar(dims("ij"), dims(indices)) is None


@pytest.mark.parametrize(
    ("sugar", "message"),
    [
        (Sugar((0, 0)), "not a permutation of its 2"),
        (Sugar((0,)), "not a permutation of its 2"),
        (Sugar((1, 2)), "not a permutation of its 2"),
        (Sugar(broadcast=(2,)), "adds dimension 2"),
        (Sugar(broadcast=(-1,)), "adds dimension -1"),
        (Sugar(broadcast=(1, 1)), "twice"),
        (Sugar((1, 0), (0,)), "that are left by the broadcast"),
    ],
)
def test_wrong_sugar_is_refused(sugar: Sugar, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        apply_sugar(dims("ij"), sugar, "add: x")


def test_a_definition_with_other_maps_computes_on_what_is_given() -> None:
    matmul = lx.ops.matmul.definition
    mapped = with_indices_of(matmul, {"A": dims("km"), "C": dims("nm")})
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 3)), rng.random((5, 4))
    np.testing.assert_allclose(mapped.reference(a, b), (a.T @ b).T)
    assert mapped.operand("A").shape == tuple(reversed(matmul.operand("A").shape))


def test_a_dimension_that_nothing_bounds_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"no operand is indexed by dimension m \(d0\)"):
        with_indices_of(lx.ops.matmul.definition, {"A": dims("k"), "C": dims("n")})


@pytest.mark.parametrize(
    ("op", "shapes", "found"),
    [
        (lx.ops.add, {"lhs": (16,), "rhs": (16, 64)}, ["broadcast_lhs=[1]"]),
        (lx.ops.add, {"lhs": (16,), "rhs": (16, 16)}, ["broadcast_lhs=[0]", "broadcast_lhs=[1]"]),
        (lx.ops.add, {"lhs": (3,), "rhs": (16, 64)}, []),
        (lx.ops.matmul, {"A": (5, 8), "B": (5, 7)}, ["permutation_A=[1, 0]"]),
    ],
)
def test_the_readings_of_shapes_that_do_not_fit(
    op: Any, shapes: dict[str, tuple[int, ...]], found: list[str]
) -> None:
    assert readings(op.definition, shapes, {}) == found
