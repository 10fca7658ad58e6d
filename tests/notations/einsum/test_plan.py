"""The order of a contraction: found by looking at all of them, and by its own rules."""

from __future__ import annotations

import math
from collections.abc import Collection
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linalg_ext.errors import ArgumentError
from linalg_ext.notations.einsum import parse
from linalg_ext.notations.einsum.plan import PATHS, Path, cheapest_path, plan_contraction
from linalg_ext.notations.einsum.subscripts import Contraction

Group = frozenset[int]
SIZES = {"a": 2, "b": 3, "c": 5, "d": 7, "e": 11}


@st.composite
def contractions(draw: st.DrawFn, *, most: int = 4) -> Contraction:
    terms = draw(
        st.lists(
            st.lists(st.sampled_from(sorted(SIZES)), max_size=3, unique=True).map(tuple),
            min_size=2,
            max_size=most,
        )
    )
    used = sorted({label for term in terms for label in term})
    output = tuple(label for label in used if draw(st.booleans()))
    return Contraction(tuple(terms), output, {label: SIZES[label] for label in used})


def volume(labels: Collection[str]) -> int:
    return math.prod(SIZES[label] for label in labels)


def cost(a: Collection[str], b: Collection[str], result: Collection[str]) -> float:
    return float(2 * volume({*a, *b}) + volume(a) + volume(b) + volume(result))


def labels_of(contraction: Contraction, group: Group) -> frozenset[str]:
    """The labels of some operands contracted: those that anybody else needs."""
    inside = {x for i in group for x in contraction.inputs[i]}
    others = [own for i, own in enumerate(contraction.inputs) if i not in group]
    return frozenset(inside & {*contraction.output, *(x for own in others for x in own)})


def price_of(contraction: Contraction, one: Group, other: Group) -> float:
    return cost(*(labels_of(contraction, group) for group in (one, other, one | other)))


def least_price(contraction: Contraction, groups: list[Group]) -> float:
    """The least that contracting groups of operands costs, by trying every pair."""
    if len(groups) == 1:
        return 0.0
    found = []
    for one, other in combinations(groups, 2):
        rest = [group for group in groups if group not in (one, other)]
        later = least_price(contraction, [*rest, one | other])
        found.append(price_of(contraction, one, other) + later)
    return min(found)


def price_along(contraction: Contraction, path: Path) -> float:
    left = [frozenset([i]) for i in range(len(contraction.inputs))]
    total = 0.0
    for step in path:
        one, other = (left[i] for i in step)
        total += price_of(contraction, one, other)
        left = [*(group for group in left if group not in (one, other)), one | other]
    return total


@settings(max_examples=60, deadline=None)
@given(contractions())
def test_no_order_costs_less(contraction: Contraction) -> None:
    path = cheapest_path(contraction, cost)
    groups = [frozenset([i]) for i in range(len(contraction.inputs))]
    assert price_along(contraction, path) == least_price(contraction, groups)


@settings(max_examples=40, deadline=None)
@given(contractions(most=6), st.sampled_from(PATHS))
def test_every_operand_is_read_once(contraction: Contraction, path: str) -> None:
    plan = plan_contraction(contraction, path)
    read = [number for step in plan.steps for number in step.operands]
    count = len(contraction.inputs)
    assert sorted(read) == list(range(count + len(plan.steps) - 1))
    assert plan.steps[-1].output == contraction.output
    arrays = [
        np.random.default_rng(i).integers(-2, 3, [SIZES[x] for x in own])
        for i, own in enumerate(contraction.inputs)
    ]
    values: list[Any] = list(arrays)
    for step in plan.steps:
        text = f"{','.join(map(''.join, step.inputs))}->{''.join(step.output)}"
        values.append(np.einsum(text, *(values[i] for i in step.operands)))
    whole = f"{','.join(map(''.join, contraction.inputs))}->{''.join(contraction.output)}"
    np.testing.assert_array_equal(values[-1], np.einsum(whole, *arrays))


def test_many_operands_are_planned_pair_by_pair() -> None:
    letters = "abcdefghijklmn"
    text = ",".join(map("".join, pairwise(letters))) + "->an"
    shapes = [(2 + i % 3, 2 + (i + 1) % 3) for i in range(13)]
    plan = plan_contraction(parse(text).bind(shapes), "cost")
    assert len(plan.steps) == 12
    assert plan.total_flops < plan.naive_flops / 1000


def test_what_does_not_distribute_is_one_step() -> None:
    contraction = parse("ij,jk,kl->il").bind([(2, 3), (3, 4), (4, 5)])
    (step,) = plan_contraction(contraction, distributes=False).steps
    assert step.operands == (0, 1, 2)


def test_lone_dimensions_go_first() -> None:
    contraction = parse("ijj,ik->k").bind([(2, 3, 3), (2, 4)])
    first, second = plan_contraction(contraction).steps
    assert (first.inputs, first.output) == ((("i", "j", "j"),), ("i",))
    assert second.operands in ((1, 2), (2, 1))


def test_an_unknown_path_is_refused() -> None:
    contraction = parse("ij->i").bind([(2, 3)])
    with pytest.raises(ArgumentError, match="'cost'"):
        plan_contraction(contraction, "cheap")
