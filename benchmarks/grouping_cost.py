"""The cost model of groups beside the machine: plans ranked by the one and timed on the other.

    python -m benchmarks grouping-cost
    python -m benchmarks grouping-cost softmax      # cases whose name contains a word
    python -m benchmarks grouping-cost --threads 2

Each case is grouped in several ways: every op alone, chains of element-wise ops, ever more of the
groups merged at random, all in one, and that in the tiles that a search gives it. The model sees
only the figures of the calibration, which ran none of these. Spearman's rank correlation of costs
and times is shown over all pairs, and over the factors by which plans of one case differ from its
first one. A third is within each case whose times differ by more than noise. Each time is the least
of several rounds, taken in turn: on one thread by the clock of that thread, on several by that on
the wall, which wants a machine at rest.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table

import linalg_ext as lx
from benchmarks.grouping_cases import (
    LARGE,
    Case,
    Formula,
    attention,
    chain,
    dropout,
    exported,
    functions,
    mlp,
    norm_linear,
    row_statistics,
)
from linalg_ext.errors import LinalgExtError
from linalg_ext.transforms.grouping import (
    STARTS,
    Exploration,
    Graph,
    Insert,
    Merge,
    State,
    TargetModel,
    read_graph,
    realize,
)
from linalg_ext.transforms.grouping._graph import FREE, LOOPS

BAR = 0.8
"""The least rank correlation that passes."""

NOISE = 1.15
"""Times of one case that differ by less than this factor are not ranked against each other."""

FORMULAS: dict[str, Formula] = {
    "attention": (attention, ((256, 64), (256, 64), (256, 64))),
    "layer norm, linear, gelu": (norm_linear, ((512, 256), (256, 256), (256,))),
    "3-layer MLP": (mlp, ((128, 256), (256, 256), (256, 256), (256, 64))),
    "softmax, mask, matmul": (dropout, ((512, 512), (512, 512), (512, 128))),
    "chain, small": (chain, ((96, 100), (96, 100))),
    "chain, large": (chain, ((1500, 1000), (1500, 1000))),
    "row statistics": (row_statistics, ((1000, 700),)),
}
"""Functions and the shapes of their arguments."""

MODULES = (
    "l1_026_gelu",
    "l1_035_groupnorm",
    "l2_022_matmul_scale_residualadd_clamp_logsumexp_mish",
    "l2_052_conv2d_activation_batchnorm",
    "l2_066_matmul_dropout_softmax",
    "l2_081_gemm_swish_divide_clamp_tanh_clamp",
    "l2_092_conv2d_groupnorm_tanh_hardswish_residualadd_logs",
)
"""Modules that PyTorch exported, where they are installed."""


@dataclass(frozen=True)
class Plan:
    """A way of grouping a case: its seconds by the model, and a call of its kernel."""

    name: str
    cost: float
    call: Callable[[], object]


@dataclass(frozen=True)
class Pair:
    """A plan of a case: the model's seconds and the machine's."""

    case: str
    plan: str
    cost: float
    time: float


def cases(words: Sequence[str] = ()) -> Iterator[Case]:
    """All cases whose name has all words."""
    known = FORMULAS | dict(LARGE)
    chosen = {name: known[name] for name in known if all(word in name for word in words)}
    yield from functions(chosen)
    names = tuple(name for name in MODULES if all(word in name for word in words))
    yield from exported(names) if names else ()


def plans(case: Case, model: TargetModel) -> Iterator[Plan]:
    """Yield ways of grouping a case, each compiled."""
    graph = read_graph(case.module)
    for name, state in [*_states(graph), ("tiled", _tiled(graph, model))]:
        grouped = realize(case.module.clone(), state)
        kernel = lx.compile(grouped, trusted=True, checked=False)
        out = kernel(*case.arrays)
        yield Plan(name, model.of_state(state).seconds, partial(kernel, *case.arrays, out=out))


def measured(case: Case, model: TargetModel, *, rounds: int) -> list[Pair]:
    """Time the plans of a case in turn, on as many threads as the model has."""
    clock = time.thread_time if model.threads == 1 else time.perf_counter
    compiled = list(plans(case, model))
    best = [math.inf] * len(compiled)
    for _ in range(rounds):
        for index, plan in enumerate(compiled):
            best[index] = min(best[index], _round(plan.call, clock))
    pairs = zip(compiled, best, strict=True)
    return [Pair(case.name, plan.name, plan.cost, seconds) for plan, seconds in pairs]


def run(words: Sequence[str] = (), *, quick: bool = False, threads: int = 1) -> int:
    """Measure, and show; 1 where the ranking is not as good as it should be."""
    with lx.options(threads=threads):
        model = TargetModel(threads=threads)
        if model.figures.source != "measured":
            lx.target.calibrate()
            model = TargetModel(threads=threads)
        chosen = list(cases(words))[:: 2 if quick else 1]
        if not chosen:
            Console().print(f"no case is called {' '.join(words)}")
            return 1
        rounds = 9 if threads == 1 else 25
        pairs = [pair for case in chosen for pair in measured(case, model, rounds=rounds)]
    Console().print(table(pairs))
    overall = spearman([pair.cost for pair in pairs], [pair.time for pair in pairs])
    within = [value for value in map(_within, _by_case(pairs)) if value is not None]
    factors = spearman(*_factors(pairs))
    Console().print(f"{len(pairs)} pairs; Spearman over all {overall:.3f}, bar {BAR}")
    Console().print(f"over factors within a case {factors:.3f}")
    if within:
        Console().print(
            f"median within the {len(within)} that differ {statistics.median(within):.2f}"
        )
    return 0 if overall >= BAR else 1


def table(pairs: Sequence[Pair]) -> Table:
    """The pairs, case by case."""
    shown = Table("case", "plan", "model", "measured", "ratio", box=None)
    for listed in _by_case(pairs):
        rank = _within(listed)
        for index, pair in enumerate(listed):
            name = pair.case[:44] if index == 0 else ""
            name = f"rank {rank:.2f}" if index == 1 and rank is not None else name
            shown.add_row(
                name,
                pair.plan,
                f"{pair.cost * 1e6:.1f} us",
                f"{pair.time * 1e6:.1f} us",
                f"{pair.cost / pair.time:.2f}",
            )
    return shown


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation, ties at their mean rank; 0 where one of them is constant."""
    if min(len(set(first)), len(set(second))) < 2:
        return 0.0
    return statistics.correlation(_ranks(first), _ranks(second))


def _ranks(values: Sequence[float]) -> list[float]:
    listed = sorted(values)
    first = {value: index for index, value in reversed(list(enumerate(listed)))}
    return [first[value] + (listed.count(value) - 1) / 2 for value in values]


def _by_case(pairs: Sequence[Pair]) -> list[list[Pair]]:
    names = dict.fromkeys(pair.case for pair in pairs)
    return [[pair for pair in pairs if pair.case == name] for name in names]


def _within(pairs: Sequence[Pair]) -> float | None:
    times = [pair.time for pair in pairs]
    if len(pairs) < 3 or max(times) < NOISE * min(times):
        return None
    return spearman([pair.cost for pair in pairs], times)


def _factors(pairs: Sequence[Pair]) -> tuple[list[float], list[float]]:
    """Return the ratios of plans to the first of their case: by the model, and by the machine."""
    costs, times = [], []
    for first, *rest in _by_case(pairs):
        costs += [pair.cost / first.cost for pair in rest]
        times += [pair.time / first.time for pair in rest]
    return costs, times


def _states(graph: Graph) -> Iterator[tuple[str, State]]:
    alone = State(graph)
    for item in alone.children():
        _try(alone, Insert((item,)))
    yield "each alone", alone
    chains = alone.copy()
    _merge_chains(chains)
    yield "element-wise", chains
    for percent in (25, 50, 75):
        merged = alone.copy()
        _merge_some(merged, random.Random(percent), len(alone.groups) * percent // 100)
        yield f"{percent}% merged", merged
    whole = alone.copy()
    _merge_some(whole, random.Random(0), len(alone.groups))
    yield "all together", whole


def _tiled(graph: Graph, model: TargetModel) -> State:
    """All together, in tiles where the model says that they pay."""
    x = Exploration(graph, model, seed=0, is_over=lambda tried: False)
    STARTS["whole"](x)
    return x.state


def _merge_chains(state: State) -> None:
    """As upstream's fusion: element-wise ops with the one op that reads them."""
    for node in reversed(range(len(state.graph.nodes))):
        users = set(state.users(node))
        if not state.graph.nodes[node].work.is_elementwise or len(users) != 1:
            continue
        (user,) = users
        producer, consumer = state.parent(node), state.parent(user)
        if -1 not in (producer, consumer) and state.node(user).work.kind == LOOPS:
            _try(state, Merge(producer, consumer))


def _merge_some(state: State, rng: random.Random, count: int) -> None:
    for _ in range(count):
        groups = sorted(state.groups)
        pairs = [
            (parent, group)
            for group in groups
            for value in state.inputs(group)
            if value.node >= 0 and (parent := state.parent(value.node)) in groups
        ]
        rng.shuffle(pairs)
        if not any(_try(state, Merge(*pair)) for pair in pairs):
            return


def _try(state: State, move: Any) -> bool:
    if isinstance(move, Insert) and state.node(state.item(move.items[0])).work.kind == FREE:
        return False
    try:
        state.apply(move)
    except LinalgExtError:
        return False
    return True


def _round(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Seconds of one call: the least of a few stretches of about a millisecond."""
    start = clock()
    call()
    calls = max(1, int(1e-3 / max(clock() - start, 1e-7)))
    best = math.inf
    for _ in range(3):
        start = clock()
        for _ in range(calls):
            call()
        best = min(best, (clock() - start) / calls)
    return best
