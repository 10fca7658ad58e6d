"""The cost model of groups beside the machine: plans ranked by the one and timed on the other.

    python -m benchmarks grouping-cost
    python -m benchmarks grouping-cost softmax      # cases whose name contains a word

Each case is grouped in several ways: every op alone, chains of element-wise ops, ever more of the
groups merged at random, all in one. The model sees only the figures of the calibration, which ran
none of these. Spearman's rank correlation of costs and times is told over all pairs, over the
factors by which plans of one case differ from its first one, and within each case whose times
differ by more than noise. On one thread; each time is the least of several rounds, taken in turn.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import linalg_ext as lx
from linalg_ext.errors import LinalgExtError
from linalg_ext.transforms.grouping import (
    Insert,
    Merge,
    State,
    TargetModel,
    read_graph,
    realize,
)
from linalg_ext.transforms.grouping._work import FREE, LOOPS

BAR = 0.8
"""What the rank correlation should be at least."""

NOISE = 1.15
"""Times of one case that differ by less than this factor are not ranked against each other."""

Array = np.ndarray[Any, np.dtype[Any]]


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _layer_norm(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _attention(q: Any, k: Any, v: Any) -> Any:
    return _softmax((q @ k.T) * 0.125) @ v


def _norm_linear(x: Any, w: Any, b: Any) -> Any:
    return _gelu(_layer_norm(x) @ w + b)


def _mlp(x: Any, u: Any, v: Any, w: Any) -> Any:
    return np.maximum(np.maximum(x @ u, 0.0) @ v, 0.0) @ w


def _dropout(x: Any, mask: Any, w: Any) -> Any:
    return (_softmax(x) * mask * 1.25) @ w


def _chain(x: Any, y: Any) -> Any:
    a = np.exp(-x * x) + y
    b = np.tanh(a) * x - y
    return np.sqrt(np.abs(b) + 1.0) * a


def _statistics(x: Any) -> Any:
    scaled = _layer_norm(x) * 2.0 + 1.0
    return np.log(np.exp(scaled).sum(axis=-1)) + scaled.max(axis=-1)


FORMULAS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "attention": (_attention, ((256, 64), (256, 64), (256, 64))),
    "layer norm, linear, gelu": (_norm_linear, ((512, 256), (256, 256), (256,))),
    "3-layer MLP": (_mlp, ((128, 256), (256, 256), (256, 256), (256, 64))),
    "softmax, mask, matmul": (_dropout, ((512, 512), (512, 512), (512, 128))),
    "chain, small": (_chain, ((96, 100), (96, 100))),
    "chain, large": (_chain, ((1500, 1000), (1500, 1000))),
    "row statistics": (_statistics, ((1000, 700),)),
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
class Case:
    """A module and what it is called on."""

    name: str
    module: lx.Module
    arrays: tuple[Array, ...]


@dataclass(frozen=True)
class Plan:
    """A way of grouping a case: what the model says of it, and what calls its kernel."""

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
    rng = np.random.default_rng(0)
    for name, (function, shapes) in FORMULAS.items():
        if all(word in name for word in words):
            arrays = tuple(rng.standard_normal(shape, np.float32) for shape in shapes)
            yield Case(name, lx.jit(function).lower(*arrays).module, arrays)
    folder = Path(os.environ.get("LINALG_EXT_SHARED", "../shared")) / "modules"
    for path in (folder / f"{name}.mlir" for name in MODULES):
        if path.exists() and all(word in path.stem for word in words):
            with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
                arrays = tuple(data[name] for name in data.files if name.startswith("in"))
            yield Case(path.stem, lx.parse(path.read_text(), trusted=True), arrays)


def plans(case: Case, model: TargetModel) -> Iterator[Plan]:
    """Ways of grouping a case, each compiled."""
    graph = read_graph(case.module)
    for name, state in _states(graph):
        grouped = realize(case.module.clone(), state)
        kernel = lx.compile(grouped, trusted=True, checked=False)
        out = kernel(*case.arrays)
        yield Plan(name, model.of_state(state).seconds, partial(kernel, *case.arrays, out=out))


def measured(case: Case, model: TargetModel, *, rounds: int) -> list[Pair]:
    """The plans of a case, timed in turn."""
    made = list(plans(case, model))
    best = [math.inf] * len(made)
    for _ in range(rounds):
        for at, plan in enumerate(made):
            best[at] = min(best[at], _round(plan.call))
    pairs = zip(made, best, strict=True)
    return [Pair(case.name, plan.name, plan.cost, seconds) for plan, seconds in pairs]


def run(words: Sequence[str] = (), *, quick: bool = False) -> int:
    """Measure, and show; 1 where the ranking is not as good as it should be."""
    with lx.options(threads=1):
        model = TargetModel(threads=1)
        if model.figures.source != "measured":
            lx.target.calibrate()
            model = TargetModel(threads=1)
        chosen = list(cases(words))[:: 2 if quick else 1]
        pairs = [pair for case in chosen for pair in measured(case, model, rounds=9)]
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
        for at, pair in enumerate(listed):
            name = pair.case[:44] if at == 0 else ""
            name = f"rank {rank:.2f}" if at == 1 and rank is not None else name
            shown.add_row(
                name,
                pair.plan,
                f"{pair.cost * 1e6:.1f} us",
                f"{pair.time * 1e6:.1f} us",
                f"{pair.cost / pair.time:.2f}",
            )
    return shown


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's rank correlation, ties at their mean rank; 0 where one of them is constant."""
    if min(len(set(one)), len(set(other))) < 2:
        return 0.0
    return statistics.correlation(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[float]:
    listed = sorted(values)
    first = {value: at for at, value in reversed(list(enumerate(listed)))}
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
    """How plans differ from the first of their case: by the model, and by the machine."""
    costs, times = [], []
    for first, *others in _by_case(pairs):
        costs += [pair.cost / first.cost for pair in others]
        times += [pair.time / first.time for pair in others]
    return costs, times


def _states(graph: Any) -> Iterator[tuple[str, State]]:
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


def _merge_chains(state: State) -> None:
    """As upstream's fusion: element-wise ops with the one op that reads them."""
    for node in reversed(range(len(state.graph.nodes))):
        users = set(state.users(node))
        if not state.graph.nodes[node].work.is_elementwise or len(users) != 1:
            continue
        (user,) = users
        one, other = state.parent(node), state.parent(user)
        if -1 not in (one, other) and state.node(user).work.kind == LOOPS:
            _try(state, Merge(one, other))


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


def _round(call: Callable[[], object]) -> float:
    """Seconds of one call: the least of a few stretches of about a millisecond."""
    start = time.perf_counter()
    call()
    calls = max(1, int(1e-3 / max(time.perf_counter() - start, 1e-7)))
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    return best
