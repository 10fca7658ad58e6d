"""Tilings that searches give groups: where they pay, what they compute, when they go."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from costed_modules import model, module_of, together, traced
from linalg_ext.transforms.grouping import (
    Annotate,
    Cost,
    Exploration,
    Insert,
    Merge,
    Split,
    State,
    TargetModel,
    read_graph,
    realize,
    search,
)
from linalg_ext.transforms.grouping._best_tiling import BestTilings
from linalg_ext.transforms.grouping._tiling import tiling_of
from linalg_ext.transforms.grouping.outline_groups import ChosenGroup


def row_sums(x: Any, w: Any) -> Any:
    return np.exp(x @ w).sum(axis=-1)


def pooled(x: Any, w: Any) -> Any:
    convolved = np.maximum(lx.ops.conv_2d_nchw_fchw(x, w), 0.0)
    window = np.ones((2, 2), np.float32)
    return lx.ops.pooling_nchw_max(convolved, window, strides=(2, 2))


def smoothed(x: Any) -> Any:
    for _ in range(3):
        x = 0.2 * (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return x


def in_groups(products: Any, sums: Any) -> Any:
    return np.tanh(products @ sums).sum(axis=-1)


def exploration_of(state: State) -> Exploration:
    return Exploration(state.graph, model(), seed=0, is_over=lambda tried: False)


def tilings(state: State) -> list[tuple[int, ...]]:
    return [tiling_of(state, group) for group in state.groups]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (row_sums, ((4100, 32), (32, 260))),
        (in_groups, ((3, 1500, 32), (3, 32, 130))),
        (pooled, ((1, 3, 130, 131), (33, 3, 3, 3))),
        (smoothed, ((701, 903),)),
    ],
)
def test_what_is_handed_on_is_used_in_tiles(function: Any, shapes: Any) -> None:
    module = module_of(function, *shapes)
    found = search(module, model=model(), seconds=60, moves=2000)
    assert any(tilings(found.state)), found
    rng = np.random.default_rng(0)
    arrays = [0.1 * rng.standard_normal(shape, np.float32) for shape in shapes]
    kernel = lx.compile(found.realize(module.clone()))
    chosen = [each for each in kernel.explain().decisions if isinstance(each, ChosenGroup)]
    assert any(group.annotations for group in chosen)
    assert not any(group.obstacles for group in chosen)
    np.testing.assert_allclose(kernel(*arrays), lx.compile(module)(*arrays), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("shapes", [((100, 32), (32, 100)), ((0, 32), (32, 100)), ((1, 1), (1, 1))])
def test_nothing_is_asked_of_what_the_caches_hold(shapes: Any) -> None:
    class Unasked(TargetModel):
        def what_if(self, state: State, group: int | str, tiling: Any) -> Cost:
            raise AssertionError(tiling)

    found = search(module_of(row_sums, *shapes), model=Unasked("avx2", threads=1), seconds=60)
    assert not any(tilings(found.state))


def test_a_tiling_comes_and_goes_with_what_it_is_for() -> None:
    x = exploration_of(traced(row_sums, (4100, 32), (32, 260)))
    nodes = [n.number for n in x.state.graph.nodes if n.op.startswith("linalg.")]
    x.make(Insert(tuple(nodes)))
    (tiling,) = tilings(x.state)
    assert tiling
    assert isinstance(x.path[-1], Annotate)
    (group,) = x.state.groups
    apart = Split(group, tuple(nodes[2:]))
    before, gain = x.cost, x.gain(apart)
    assert gain is not None
    x.make(apart)
    assert tilings(x.state) == [(), ()]
    assert gain == pytest.approx(before - x.cost)
    again = Merge(*x.state.groups)
    assert x.gain(again) == pytest.approx(-gain)
    x.make(again)
    assert tilings(x.state) == [tiling]
    assert x.cost == pytest.approx(before)
    assert x.best.cost == pytest.approx(before)


def test_a_move_that_says_a_tiling_has_it() -> None:
    x = exploration_of(traced(row_sums, (4100, 32), (32, 260)))
    nodes = tuple(n.number for n in x.state.graph.nodes if n.op.startswith("linalg."))
    x.make(Insert(nodes, {"tiling": (7,)}))
    assert tilings(x.state) == [(7,)]
    (group,) = x.state.groups
    worse = Annotate(group, "tiling", (1,))
    assert (x.gain(worse) or 0) < 0
    x.make(worse)
    assert tilings(x.state) == [(1,)]
    x.make(Annotate(group, "label", "sums"))
    assert tilings(x.state) == [(1,)]


def test_a_group_that_a_module_came_with_keeps_its_tiling() -> None:
    state = traced(row_sums, (4100, 32), (32, 260))
    together(state, tiling=(7,))
    module = module_of(row_sums, (4100, 32), (32, 260))
    graph = read_graph(realize(module, state))
    found = search(module, model=model(), moves=5)
    assert found.state.graph == graph
    assert (7,) in tilings(found.state)


def test_a_window_reads_by_its_strides() -> None:
    state, costs = traced(pooled, (1, 3, 130, 130), (8, 3, 3, 3)), model()
    group = together(state)
    counted = [
        dict(costs.what_if(state, group, tiling).work)["multiply-adds"]
        for tiling in ((), (1, 4), (1, 0, 16))
    ]
    assert counted[1] == counted[0] == 2 * 8 * 128 * 128 * 27
    assert counted[0] <= counted[2] < 1.1 * counted[0]


def test_other_tilings_are_measured_too() -> None:
    asked: list[str] = []

    def timer(modules: Any, function: str) -> list[float]:
        asked.extend(str(module) for module in modules)
        return [1.0 + at for at in range(len(modules))]

    found = search(
        module_of(row_sums, (4100, 32), (32, 260)), model=model(), measure=1, timer=timer
    )
    tried = {re.search(r"tiling = ([^,}]*[\]>])", text) for text in asked}
    assert len({each[1] for each in tried if each}) >= 3
    assert found.measured[-1].plan.moves == ()


@pytest.mark.parametrize(
    ("rows", "sizes"), [(8192, {64, 128, 256, 512}), (997, {48, 96, 192, 384, 768})]
)
def test_tiles_of_rows_are_all_of_one_size_where_they_can_be(rows: int, sizes: set[int]) -> None:
    state = traced(row_sums, (rows, 32), (32, 260))
    ranked = BestTilings(model()).ranked(state, together(state))
    assert {tiling[0] for tiling, _ in ranked if tiling} == sizes


def test_nothing_is_asked_of_groups_of_very_many_ops() -> None:
    class Unasked(TargetModel):
        def what_if(self, state: State, group: int | str, tiling: Any) -> Cost:
            raise AssertionError(tiling)

    x, w = "tensor<4100x32xf32>", "tensor<32x32xf32>"
    lines = "\n".join(
        f"  %v{at + 1} = linalg.matmul ins(%v{at}, %w : {x}, {w}) outs(%z : {x}) -> {x}"
        for at in range(140)
    )
    text = f"func.func @f(%v0: {x}, %w: {w}, %z: {x}) -> {x} {{\n{lines}\n  return %v140 : {x}\n}}"
    state = State(read_graph(lx.parse(text, trusted=True)))
    costs = Unasked("avx2", threads=1)
    found = Exploration(state.graph, costs, seed=0, is_over=lambda tried: False)
    found.make(Insert(tuple(node.number for node in state.graph.nodes)))
    assert tilings(found.state) == [()]
