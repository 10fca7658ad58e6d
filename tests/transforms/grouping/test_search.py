"""Searches: what they find is sound, no dearer, the same for the same seed, and replayed."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from groupings import check_state, random_graph, random_module
from linalg_ext.errors import ArgumentError, GroupingError, UntrustedError
from linalg_ext.rewriting import run_pipeline
from linalg_ext.transforms.grouping import (
    STARTS,
    STRATEGIES,
    Cost,
    CostModel,
    Exploration,
    Found,
    Insert,
    Plan,
    Search,
    State,
    read_graph,
    search,
)
from traffic import Traffic

CHAIN = lx.jit(lambda x, y: np.tanh(np.exp(x) + y) * y).lower(*[np.ones((64, 64))] * 2).module


def found_in(module: lx.Module = CHAIN, strategy: Any = "greedy", **said: Any) -> Found:
    return search(module, strategy, model=Traffic(), **{"seconds": 60, "moves": 400, **said})


def costs_of(found: Found, model: CostModel) -> list[float]:
    graph = found.state.graph
    return [model.of_state(state).seconds for state in found.trace.replay(graph)]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_found_is_sound_and_no_dearer_than_any_start(strategy: str, seed: int) -> None:
    module = lx.parse(random_module(random.Random(seed), 16), trusted=True)
    found = found_in(module, strategy, seed=seed)
    check_state(found.state)
    assert found.cost.seconds == pytest.approx(min(costs_of(found, Traffic())))
    for start in STARTS.values():
        x = Exploration(read_graph(module), Traffic(), seed=0, is_over=lambda tried: False)
        start(x)
        assert found.cost.seconds <= x.cost * (1 + 1e-9)
    arrays = [np.arange(16, dtype=np.int32).reshape(4, 4) + n for n in range(3)]
    wanted = lx.compile(module)(*arrays)
    grouped = found.realize(module.clone())
    for one, other in zip(lx.compile(grouped, entry="f")(*arrays), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_chains_are_what_upstreams_fusion_makes() -> None:
    def function(x: Any) -> Any:
        y = np.exp(x) * 2.0
        sums = (y * y + np.tanh(y)).sum(axis=-1)  # reads it three times
        other = np.abs((np.maximum(x, 0.0) - 1.0).reshape(16, 4, 2)).sum(axis=-1)
        return np.log(sums) + 1.0, other

    module = lx.jit(function).lower(np.ones((16, 8))).module
    x = Exploration(read_graph(module), Traffic(), seed=0, is_over=lambda tried: False)
    STARTS["chains"](x)
    check_state(x.state)
    fusion = "canonicalize,cse,linalg-fuse-elementwise-ops,canonicalize,cse"
    run_pipeline(module, f"linalg-generalize-named-ops,{fusion}")
    works = [node.work for node in read_graph(module).nodes if node.op == "linalg.generic"]
    left = [work for work in works if not work.is_constant]
    assert len(x.state.groups) == len(left) == 3, left


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_seed_finds_the_same(strategy: str) -> None:
    module = lx.parse(random_module(random.Random(3), 12), trusted=True)
    first, second = (found_in(module, strategy, seed=5) for _ in range(2))
    assert first.plan == second.plan
    assert first.trace == second.trace


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_trace_is_replayed_to_the_costs_that_it_says(strategy: str) -> None:
    found = found_in(lx.parse(random_module(random.Random(7), 12), trusted=True), strategy)
    replayed = costs_of(found, Traffic())
    assert [step.cost for step in found.trace.steps] == pytest.approx(replayed)
    assert Plan.from_json(found.plan.to_json()) == found.plan
    assert f"Trace of {len(found.trace)} steps" in repr(found.trace)


def test_a_chain_is_merged_where_that_moves_less() -> None:
    found = found_in()
    assert len(found.state.groups) == 1
    assert found.cost.seconds < found.before.seconds / 2
    assert "1 group of" in repr(found)


def test_nothing_is_merged_where_that_gains_nothing() -> None:
    class Apart(Traffic):
        def of_group(self, state: State, group: int) -> Cost:
            held = len(list(state.nodes_of(group)))
            return Cost.of([("ops", float(held * held))])

    found = search(CHAIN, model=Apart(), moves=50, seconds=60)
    assert all(len(list(found.state.nodes_of(group))) == 1 for group in found.state.groups)


def test_a_strategy_of_somebodys_own() -> None:
    def first_gain(x: Exploration) -> None:
        for move in list(x.moves()):
            gain = x.gain(move)
            if gain is not None and gain > 0:
                x.make(move)
                return

    found = found_in(strategy=first_gain, restarts=0)
    assert found.settings.name == "first_gain"
    searched = lx.jit(lambda x: np.exp(x) + 1, search=Search(first_gain))
    np.testing.assert_allclose(searched(np.zeros(4)), 2)


def test_an_interrupted_search_gives_the_best_so_far() -> None:
    def interrupted(x: Exploration) -> None:
        x.begin(())
        x.make(Insert(tuple(n for n in x.state.children() if x.state.node(n).op != "tensor.empty")))
        raise KeyboardInterrupt

    found = found_in(strategy=interrupted, measure=2, trusted=True)
    assert found.is_interrupted
    assert "interrupted" in repr(found)
    assert found.cost.seconds < found.before.seconds
    assert found.measured == ()


def test_the_best_few_are_measured_where_that_is_asked() -> None:
    asked: list[str] = []

    def timer(modules: Sequence[lx.Module], function: str) -> Sequence[float]:
        asked.append(function)
        return [1.0 - 0.1 * at for at in range(len(modules))]

    found = found_in(measure=2, timer=timer)
    assert asked == [read_graph(CHAIN).function]
    *_, last = found.measured  # what is measured besides the best two
    assert len(found.measured) in (3, 4)
    assert found.plan == last.plan == Plan()
    assert "taken" in repr(found)
    assert all(one.seconds > 0 for one in found_in(measure=2, trusted=True).measured)


def test_what_nobody_vouches_for_is_not_measured() -> None:
    with pytest.raises(UntrustedError, match="measure= runs the module in this process"):
        found_in(measure=1)
    assert found_in(measure=0).measured == ()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"moves": 0}, "moves = 0: a budget of no moves finds nothing"),
        ({"seconds": 0}, "nothing can be searched in no time"),
        ({"seconds": float("nan")}, "nan"),
        ({"moves": 2.5}, r"moves = 2.5.*whole number"),
        ({"restarts": -1}, "restarts = -1"),
        ({"measure": True}, "measure = True"),
        ({"seed": "x"}, "seed = 'x'"),
        ({"strategy": "gready"}, "'gready' is not a strategy.*greedy, beam, anneal"),
        ({"strategy": 7}, "strategy = 7"),
    ],
)
def test_a_wrong_budget_is_named(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"(?s){message}"):
        Search(**said)


def test_what_a_strategy_cannot_do() -> None:
    x = Exploration(read_graph(CHAIN), Traffic(), seed=0, is_over=lambda tried: False)
    with pytest.raises(ArgumentError, match="'up' is not a move"):
        x.gain("up")  # type: ignore[arg-type]
    with pytest.raises(GroupingError, match="1 moves cannot be taken back"):
        x.back()
    assert x.gain(Insert((99,))) is None
    assert (x.path, x.tried) == ((), 2)


def test_wrong_ways_to_ask() -> None:
    with pytest.raises(ArgumentError, match="search is 3"):
        lx.compile(CHAIN, search=3)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="search= and isolated="):
        lx.compile(CHAIN, search=True, isolated=True)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match=r"(?s)model = 7.*a CostModel"):
        search(CHAIN, model=7)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="no function @g"):
        search(CHAIN, function="g")


def test_a_thousand_ops_are_searched_in_few_moves() -> None:
    lines = "\n".join(
        f"  %v{at + 1} = linalg.exp ins(%v{at} : tensor<64xf32>) outs(%e : tensor<64xf32>)"
        " -> tensor<64xf32>"
        for at in range(1000)
    )
    module = lx.parse(
        "func.func @f(%v0: tensor<64xf32>) -> tensor<64xf32> {\n"
        f"  %e = tensor.empty() : tensor<64xf32>\n{lines}\n  return %v1000 : tensor<64xf32>\n}}",
        trusted=True,
    )
    found = search(module, Search(seconds=600))
    # A chain of a thousand ops has 999 edges to merge along. From each of three starts, none is
    # tried more than four times.
    assert 0 < found.tried < 3 * 4 * 999
    assert len(found.state.graph.nodes) == 1001
    assert len(found.state.groups) == 1


def test_few_groups_of_many_ops_are_begun_with_in_few_moves() -> None:
    count = 300  # of arguments: more than one group takes
    arguments = ", ".join(f"%x{at}: tensor<4xf32>" for at in range(count))
    lines = "\n".join(
        f"  %v{at + 1} = linalg.add ins(%v{at}, %x{at} : tensor<4xf32>, tensor<4xf32>)"
        " outs(%e : tensor<4xf32>) -> tensor<4xf32>"
        for at in range(count)
    )
    module = lx.parse(
        f"func.func @f(%v0: tensor<4xf32>, {arguments}) -> tensor<4xf32> {{\n"
        f"  %e = tensor.empty() : tensor<4xf32>\n{lines}\n  return %v{count} : tensor<4xf32>\n}}",
        trusted=True,
    )
    x = Exploration(read_graph(module), Traffic(), seed=0, is_over=lambda tried: False)
    STARTS["whole"](x)
    check_state(x.state)
    assert count / 64 < len(x.state.groups) <= 8
    assert len(x.trace) < 20


def test_memory_does_not_grow_with_moves() -> None:
    graph = random_graph(random.Random(0), 80)

    def peak(moves: int) -> int:
        x = Exploration(graph, Traffic(), seed=0, is_over=lambda tried: tried >= moves)
        STARTS["apart"](x)
        tracemalloc.start()
        STRATEGIES["anneal"](x)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert x.tried >= moves
        return found

    assert peak(1500) < 1.5 * peak(400)


def test_what_was_made_long_ago_is_taken_back_all_the_same() -> None:
    graph = random_graph(random.Random(1), 400)
    x = Exploration(graph, Traffic(), seed=0, is_over=lambda tried: False)
    STARTS["apart"](x)
    first, made = x.state.key(), len(x.path)
    cost = x.cost
    STRATEGIES["anneal"](x)
    assert len(x.path) > made + 256
    x.back(len(x.path) - made)
    assert x.state.key() == first
    assert x.cost == pytest.approx(cost)
    check_state(x.state)
    (last,) = {state.key() for state in list(x.trace.replay(graph))[-1:]}
    assert last == first
