"""Groupings beside each other: none, upstream's greedy fusion, the pipeline's, a search's.

    python -m benchmarks grouping
    python -m benchmarks grouping softmax       # cases whose name contains a word

    apart       each op is a group: nothing is fused
    greedy      upstream's fusion of element-wise ops, and each op that it leaves is a group
    pipeline    no groups: the fusion of the pipeline itself
    found       the groups of `compile(search=Search())`, by the model alone
    measured    the same where the best three, upstream's fusion and no groups race in the end

The column `limit` is the greatest speed-up over greedy of any grouping. Its least time is that of
all products and elementary functions once, at the rates of loops that do nothing else, or that of
moving the arguments and results, if longer. Where one product takes nearly all of greedy's time,
that is hardly more than 1, and no grouping can gain.

All are lowered by the same code generation. PyTorch runs as its users run it. On one thread; each
time is the least of many rounds, in seconds of this thread's work, taken in turn.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import linalg_ext as lx
from benchmarks.grouping_cases import LARGE, Case, exported, functions
from benchmarks.grouping_cost import FORMULAS
from benchmarks.peers import installed, set_threads, work
from linalg_ext.rewriting import run_pipeline
from linalg_ext.transforms.grouping import (
    STARTS,
    Exploration,
    Found,
    Graph,
    Plan,
    TargetModel,
    read_graph,
)
from linalg_ext.transforms.grouping.cost import arithmetic, given_bytes

GAIN, LOSS = 1.3, 1.03
"""The least gain over greedy of the measured grouping, over all cases, and its largest loss.

The loss is that in any one case, against greedy and against the pipeline.
"""

NAMED = {
    "attention": ((1024, 64), (1024, 64), (1024, 64)),
    "layer norm, linear, gelu": ((1024, 512), (512, 512), (512,)),
    "3-layer MLP": ((256, 512), (512, 512), (512, 512), (512, 128)),
    "softmax, mask, matmul": ((1024, 1024), (1024, 1024), (1024, 128)),
}
"""Functions of `grouping_cost`, and the shapes of their arguments here."""

MODULES = (
    "l1_033_batchnorm",
    "l1_095_crossentropyloss",
    "l2_022_matmul_scale_residualadd_clamp_logsumexp_mish",
    "l2_030_gemm_groupnorm_hardtanh",
    "l2_052_conv2d_activation_batchnorm",
    "l2_066_matmul_dropout_softmax",
    "l2_081_gemm_swish_divide_clamp_tanh_clamp",
    "l2_092_conv2d_groupnorm_tanh_hardswish_residualadd_logs",
    "l3_043_mingptcausalattention",
    "l3_050_reluselfattention",
)
"""Modules that PyTorch exported, where they are installed."""

GREEDY = "linalg-generalize-named-ops,canonicalize,cse,linalg-ext-fuse-producers,canonicalize,cse"
"""The fusion of the pipeline."""

WAYS = ("apart", "greedy", "pipeline", "found", "measured")


@dataclass(frozen=True)
class Row:
    """The seconds of a case in each way and in PyTorch, and the least of any grouping."""

    name: str
    seconds: dict[str, float]
    groups: tuple[int, int]
    least: float

    def gain(self, over: str, way: str = "measured") -> float:
        """Return the speedup of one way over another."""
        return self.seconds[over] / self.seconds[way]


def run(words: Sequence[str] = (), *, quick: bool = False) -> int:
    """Print the table; 1 where a bar is missed."""
    set_threads(1)
    with lx.threads.using(1):
        chosen = [case for case in cases() if all(word in case.name for word in words)]
        if not chosen:
            Console().print(f"no case is called {' '.join(words)}")
            return 1
        rows = [measured(case, rounds=5 if quick else 25) for case in chosen]
    console = Console()
    console.print(table(rows))
    missed = False
    for way in ("found", "measured"):
        for over in ("apart", "greedy", "pipeline"):
            gains = [row.gain(over, way) for row in rows]
            mean, worst = statistics.geometric_mean(gains), min(gains)
            console.print(
                f"{way} / {over}: {mean:.2f} times as fast, in the worst case {worst:.2f}"
            )
            if way == "measured" and over != "apart":
                missed |= worst < 1 / LOSS or (over == "greedy" and mean < GAIN)
    limit = statistics.geometric_mean(row.seconds["greedy"] / row.least for row in rows)
    console.print(f"limit / greedy: {limit:.2f}, of any grouping at all")
    console.print(f"bars, of what was measured: {GAIN} over greedy; never slower by {LOSS - 1:.0%}")
    return int(missed)


def cases() -> Iterator[Case]:
    """Yield the named functions, those with large intermediates, and the installed modules."""
    yield from functions(
        {name: (FORMULAS[name][0], shapes) for name, shapes in NAMED.items()} | dict(LARGE)
    )
    yield from exported(MODULES)


def measured(case: Case, *, rounds: int) -> Row:
    """Time a case in all ways, in turn."""
    modules = {"apart": apart(case.module.clone()), "greedy": greedy(case.module.clone())}
    modules["pipeline"] = case.module
    searched = lx.transforms.grouping.search(case.module, model=TargetModel(threads=1))
    modules["found"] = _compiled(searched, case.module)
    raced = lx.transforms.grouping.search(
        case.module, model=TargetModel(threads=1), measure=3, trusted=True
    )
    modules["measured"] = _compiled(raced, case.module)
    calls: dict[str, Callable[[], object]] = {}
    expected: Any = None
    for way, module in modules.items():
        kernel = lx.compile(module, trusted=True, checked=False)
        out = kernel(*case.arrays)
        expected = out if expected is None else expected
        _compare(out, expected)
        calls[way] = partial(kernel, *case.arrays, out=out)
    if "torch" in installed() and case.name in TORCH:
        peer = work("torch", {"torch": TORCH[case.name]}, list(case.arrays))
        if peer is not None:
            calls["torch"] = peer
    least = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for way, call in calls.items():
            least[way] = min(least[way], _round(call))
    groups = len(searched.state.groups), len(raced.state.groups)
    return Row(case.name, least, groups, least_seconds(searched.state.graph))


def _compiled(grouping: Found, module: lx.Module) -> lx.Module:
    """Return the module that a compilation with a search makes of `module`."""
    return grouping.realize(module.clone()) if grouping.is_worth_it else module


def least_seconds(graph: Graph) -> float:
    """Return a lower bound on the time of any grouping.

    It is the time of the large operations, each once, or that of moving the inputs and results.
    """
    model = TargetModel(threads=1)
    figures = model.figures
    computing = sum(
        seconds
        for node in graph.nodes
        if not node.work.is_scalar
        for kind, seconds, _ in arithmetic(node.work, 1.0, model.target, figures)
        if kind not in ("simple", "divide", "transposing")
    )
    moved = given_bytes(graph)
    return max(figures.call + computing, moved / figures.level_of(moved).read)


def apart(module: lx.Module) -> lx.Module:
    """A module with a group for each op, fills and views with those that they belong to."""
    graph = read_graph(module)
    x = Exploration(graph, TargetModel(threads=1), seed=0, is_over=lambda tried: True)
    STARTS["apart"](x)
    Plan(x.path).realize(module)
    return module


def greedy(module: lx.Module) -> lx.Module:
    """A module after upstream's fusion, with a group for each op that is left."""
    run_pipeline(module, GREEDY, trusted=True)
    return apart(module)


def table(rows: Sequence[Row]) -> Table:
    """Times in microseconds, and ratios."""
    shown = Table("case", *WAYS, "torch", "groups", "greedy /", "limit", "pipeline /", box=None)
    for row in rows:
        times = (row.seconds.get(way) for way in (*WAYS, "torch"))
        shown.add_row(
            row.name[:44],
            *(f"{1e6 * seconds:.1f} us" if seconds else "" for seconds in times),
            f"{row.groups[0]}, {row.groups[1]}",
            f"{row.gain('greedy'):.2f}",
            f"{row.seconds['greedy'] / row.least:.2f}",
            f"{row.gain('pipeline'):.2f}",
        )
    return shown


def _attention(q: Any, k: Any, v: Any) -> Any:
    import torch

    return torch.softmax((q @ k.T) * 0.125, -1) @ v


def _norm_linear(x: Any, w: Any, b: Any) -> Any:
    import torch

    normed = torch.nn.functional.layer_norm(x, x.shape[-1:], eps=1e-5)
    return torch.nn.functional.gelu(normed @ w + b, approximate="tanh")


def _mlp(x: Any, u: Any, v: Any, w: Any) -> Any:
    import torch

    return torch.relu(torch.relu(x @ u) @ v) @ w


def _dropout(x: Any, mask: Any, w: Any) -> Any:
    import torch

    return (torch.softmax(x, -1) * mask * 1.25) @ w


TORCH: dict[str, Callable[..., Any]] = dict(
    zip(NAMED, (_attention, _norm_linear, _mlp, _dropout), strict=True)
)


def _compare(out: Any, expected: Any) -> None:
    pairs = zip(
        out if isinstance(out, tuple) else (out,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    )
    for array, reference in pairs:
        np.testing.assert_allclose(array, reference, rtol=1e-3, atol=1e-3)


def _round(call: Callable[[], object]) -> float:
    """Seconds of this thread in a call: others that use the machine do not count."""
    start = time.thread_time()
    call()
    calls = max(1, int(3e-3 / max(time.thread_time() - start, 1e-7)))
    start = time.thread_time()
    for _ in range(calls):
        call()
    return (time.thread_time() - start) / calls
