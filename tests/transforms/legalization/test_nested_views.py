"""Views of views of views: each level is as long as the one before, and says the same elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linalg_ext.bindings import arith, ir, linalg, scf
from linalg_ext.dialects import linalg_ext as ext
from linalg_ext.module import Module
from linalg_ext.transforms.ir_utils.walking import operations, select
from linalg_ext.transforms.legalization import lower_views as lowering
from view_modules import COLUMNS, OPEN, ROWS, STATIC, writing, written

Combine = Callable[[ir.Value, ir.Value], ir.Value]

COMBINE: dict[str, Combine] = {
    "intersection": ext.intersection,
    "convex_union": ext.convex_union,
    "first of a difference": lambda one, other: ext.difference(one, other)[0],
    "last of a difference": lambda one, other: ext.difference(one, other)[-1],
}


def nested(combine: Combine, levels: int, step: int, type_: str = STATIC) -> Module:
    """A function that fills a combination of combinations of slices."""

    def build(a: ir.Value, i: ir.Value, j: ir.Value) -> ir.Value:
        def part(level: int) -> ir.Value:
            column = ext.range_(level % 3, COLUMNS - level, step)
            return ext.slice(a, [ext.range_(i, j), column])

        found = part(0)
        for level in range(1, levels + 1):
            found = combine(found, ext.slice(a, [ext.range_(level % 2, j), ext.range_(i, j, step)]))
        return found

    return writing(build, type_)


def count(module: Module) -> int:
    return len(select(module.ir, lambda op: True))


@pytest.mark.parametrize(("step", "type_"), [(1, OPEN), (2, STATIC)])
@pytest.mark.parametrize("name", COMBINE)
def test_each_level_adds_as_many_ops(name: str, step: int, type_: str) -> None:
    counts = []
    for levels in range(1, 6):
        module = nested(COMBINE[name], levels, step, type_)
        lowering.lower_views(module)
        counts.append(count(module))
    added = [more - fewer for fewer, more in itertools.pairwise(counts)]
    assert max(added[1:]) <= min(added[1:]) + 4


@pytest.mark.parametrize("name", ["intersection", "convex_union"])
@settings(max_examples=6, deadline=None)
@given(i=st.integers(0, ROWS), j=st.integers(0, ROWS), step=st.integers(1, 2))
def test_the_elements_are_those_of_the_sets(name: str, i: int, j: int, step: int) -> None:
    module = nested(COMBINE[name], 3, step)
    rows = [set(range(i, j)), *(set(range(level % 2, j)) for level in range(1, 4))]
    columns = [set(range(0, COLUMNS, step)), *([set(range(i, j, step))] * 3)]
    got = written(module, i, j) != 0
    if name == "intersection":
        expected = np.zeros_like(got)
        expected[np.ix_(sorted(set.intersection(*rows)), sorted(set.intersection(*columns)))] = True
        assert (got == expected).all()
        return
    # An empty view adds nothing, whichever dimension it is empty in.
    full = [(row, column) for row, column in zip(rows, columns, strict=True) if row and column]
    for row, column in full:
        assert got[np.ix_(sorted(row), sorted(column))].all()
    for axis, found in enumerate(np.nonzero(got)):
        union = set[int]().union(*(each[axis] for each in full))
        assert {found.min(), found.max()} == {min(union), max(union)} if union else not found.size


def test_a_block_inside_uses_what_was_computed_before() -> None:
    def build(a: ir.Value, i: ir.Value, j: ir.Value) -> list[ir.Value]:
        def part() -> ir.Value:
            return ext.slice(a, [ext.range_(i, j, 2), 0])

        outer = part()
        loop = scf.ForOp(i, j, j)
        with ir.InsertionPoint(loop.body):
            linalg.fill(arith.constant(ir.F32Type.get(), 5.0), outs=[part()])
            scf.YieldOp([])
        return [outer, part()]

    module = writing(build, OPEN)
    lowering.lower_views(module)
    module.verify()
    (loop,) = operations(module.ir, ["scf.for"])
    views = operations(module.ir, ["memref.subview"])
    assert len(views) == 3
    assert len({tuple(view.operands) for view in views}) == 1
    assert not select(loop, lambda op: op.name.startswith("affine."))
    assert written(module, 1, 4)[1::2, 0].tolist() == [2.0, 2.0, 0.0]
