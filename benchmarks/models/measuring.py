"""One family in a process of its own: compiled, compared, timed.

python -m benchmarks.models.measuring FAMILY --threads 1     # prints JSON
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

import linalg_ext as lx
from benchmarks import peers
from benchmarks.models.families import FAMILIES, Family
from benchmarks.timing import Work, compare
from linalg_ext.frameworks.torch.backend import report

SECONDS = 3.0
"""For which each peer is compared."""


@dataclass(frozen=True)
class Outcome:
    """The measurements of a family.

    Attributes:
        family: its name.
        threads: on which it ran.
        error: the first line of the error of its compilation, or empty.
        difference: the largest from PyTorch's results, in units of their largest element.
        captured: the share of its `call_function` nodes that `torch.compile` hands over; None where
            it was not asked: on several threads.
        ops: of linalg, as it is imported.
        fused: the loops and calls that they became.
        first, again: seconds until it is compiled at first, and from the cache, of the processor
            where there is one thread.
        megabytes: the growth of the process in the first compilation, at the most.
        milliseconds: the time of a call.
        ratios: the time of each peer by ours.
    """

    family: str
    threads: int
    error: str = ""
    difference: float = 0.0
    captured: float | None = None
    ops: int = 0
    fused: str = ""
    first: float = 0.0
    again: float = 0.0
    megabytes: int = 0
    milliseconds: float = 0.0
    ratios: Mapping[str, float] = field(default_factory=dict)


def measured(family: Family, threads: int, *, quick: bool = False) -> Outcome:
    """Compile a family without the cache, and time it beside its peers."""
    model, arguments = family.example()
    before = _peak()
    # The processor time of one thread leaves out other load on the machine.
    clock = time.process_time if threads == 1 else time.perf_counter
    started = clock()
    try:
        net = lx.from_torch(model, arguments, allow_fallback=False)
    except lx.errors.LinalgExtError as error:
        return Outcome(family.name, threads, error=str(error).partition("\n")[0])
    first = clock() - started
    megabytes = _peak() - before
    ops, fused = _fused(net)
    started = clock()
    lx.from_torch(model, arguments, allow_fallback=False)
    second_call = clock() - started
    with torch.inference_mode():
        difference = _difference(net(*arguments), model(*arguments))
    seconds = SECONDS / 3 if quick else SECONDS
    times: dict[str, float] = {}
    for name, peer in _peers(family, model, arguments, quick).items():
        comparison = compare(lambda: net(*arguments), peer, seconds=seconds, clock=clock)
        times.setdefault("ours", 1e3 * comparison.ours)
        times[name] = comparison.ratio
    return Outcome(
        family=family.name,
        threads=threads,
        difference=difference,
        captured=_captured(model, arguments) if threads == 1 else None,
        ops=ops,
        fused=fused,
        first=first,
        again=second_call,
        megabytes=megabytes,
        milliseconds=times.pop("ours"),
        ratios=times,
    )


def _peak() -> int:
    """The most memory that this process had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _difference(results: Any, expected: Any) -> float:
    leaves = torch.utils._pytree.tree_leaves
    return max(
        float((ours - theirs).abs().max() / theirs.abs().max())
        for ours, theirs in zip(leaves(results), leaves(expected), strict=True)
    )


def _captured(model: Any, arguments: tuple[Any, ...]) -> float:
    """Return the share of nodes that this library runs; a break of the graph is an error."""
    torch._dynamo.reset()
    report(clear=True)
    with torch.no_grad():
        torch.compile(model, backend="linalg_ext", fullgraph=True)(*arguments)
    return report(clear=True).share


def _fused(net: Any) -> tuple[int, str]:
    """Return the number of linalg ops in a model, and a text that counts their forms in the
    compiled code.
    """
    (kernel,) = net.kernels
    ops = len(re.findall(r"= linalg\.(?!index|yield)", str(net.modules[0])))
    loops = kernel.as_text("loops")
    calls = re.findall(r"call @linalg_ext_(contraction|windows|attention)", loops)
    nests = [
        f"{calls.count(kind)} {name}"
        for kind, name in (
            ("contraction", "products"),
            ("windows", "windows"),
            ("attention", "attention"),
        )
        if kind in calls
    ]
    titles = [decision.title for decision in kernel.explain().decisions]
    vector = [match for title in titles if (match := re.search(r"(\d+) ops? in one pass", title))]
    nests.append(f"{sum(int(match[1]) for match in vector)} ops in {len(vector)} loops")
    return ops, ", ".join(nests)


def _peers(
    family: Family, model: Any, arguments: tuple[Any, ...], quick: bool
) -> dict[str, Callable[[], object]]:
    def inferred(function: Callable[..., Any]) -> Callable[[], object]:
        def run() -> object:
            with torch.inference_mode():
                return function(*arguments)

        return run

    works = {"eager": inferred(model)}
    if not quick:
        works["inductor"] = inferred(torch.compile(model))
    if "jax" in peers.installed():
        works |= _jax(family, model, arguments)
    return works


def _jax(family: Family, model: Any, arguments: tuple[Any, ...]) -> dict[str, Work]:
    """The twin in JAX, if there is one."""
    import jax

    from benchmarks.models.twins import TWINS

    if family.name not in TWINS:
        return {}
    twin = jax.jit(TWINS[family.name])
    weights = {name: jax.numpy.asarray(w.numpy()) for name, w in model.state_dict().items()}
    x = jax.numpy.asarray(arguments[0].numpy())
    return {"jax": lambda: twin(weights, x).block_until_ready()}


def main() -> None:
    """Measure one family, and print its outcome as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.measuring")
    parser.add_argument("family")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    torch.set_num_threads(options.threads)
    family = next(family for family in FAMILIES if family.name == options.family)
    with lx.threads.using(options.threads):
        outcome = measured(family, options.threads, quick=options.quick)
    json.dump(asdict(outcome), sys.stdout)


if __name__ == "__main__":
    main()
