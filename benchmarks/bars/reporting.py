"""Results as a table and a plot for people, and beside the machine's limits."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import limits
from benchmarks.bars.measuring import Result


def table(results: Sequence[Result]) -> str:
    """In Markdown, with the geometric means below."""
    lines = [
        "| case | threads | results | ours ms | best peer | its ms | ratio | GFLOP/s | of limit |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        speed = f"{result.gflops:.0f}" if result.gflops else ""
        share = f"{100 * result.limit / result.ours:.0f}%" if result.limit else ""
        lines.append(
            f"| {result.name} | {result.threads} | {result.memory} | {1e3 * result.ours:.3g} "
            f"| {result.best} | {1e3 * result.peers[result.best]:.3g} | {result.ratio:.2f} "
            f"| {speed} | {share} |"
        )
    for threads in sorted({result.threads for result in results}):
        for memory in ("dropped", "kept", "reused"):
            ratios = [r.ratio for r in results if (r.threads, r.memory) == (threads, memory)]
            if ratios:
                mean = statistics.geometric_mean(ratios)
                lines.append(
                    f"| geometric mean of {len(ratios)} | {threads} | {memory} "
                    f"| | | | {mean:.2f} | | |"
                )
    return "\n".join(lines)


_NARROW = {"bfloat16": "bf16", "i1": "i8", "u1": "u8.s8", "f8": "f64"}
"""The limits' names of element types; an element type that has no instruction counts as f32."""


def with_limit(result: Result, known: limits.Limits) -> Result:
    """The result beside the least time that the machine allows it: see `Limits.seconds`."""
    element = _NARROW.get(result.element, "f32")
    element = element if element in known.flops else "f32"
    least = known.seconds(flops=float(result.flops), moved=float(result.moved), dtype=element)
    return replace(result, limit=least)


def plot(results: Sequence[Result], path: Path) -> None:
    """Ratios as bars, and a roofline, for each number of threads; a picture of any format.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    counts = sorted({result.threads for result in results})
    height = max(4.0, 0.16 * max(Counter(result.threads for result in results).values()))
    figure, axes = pyplot.subplots(
        2, len(counts), figsize=(9 * len(counts), height + 5), squeeze=False,
        height_ratios=[height, 5],
    )  # fmt: skip
    for column, count in enumerate(counts):
        of_count = [result for result in results if result.threads == count]
        _plot_ratios(axes[0][column], of_count, count)
        _plot_roofline(axes[1][column], of_count, limits.measured(count))
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _plot_ratios(axes: Any, results: Sequence[Result], threads: int) -> None:
    names = [f"{result.name} ({result.memory}, {result.best})" for result in results]
    positions = range(len(results))
    colours = ["tab:green" if result.ratio >= 1 else "tab:red" for result in results]
    axes.barh(positions, [result.ratio for result in results], color=colours)
    axes.set_yticks(positions, names, fontsize=6)
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("time of the best peer / ours")
    axes.set_title("1 thread" if threads == 1 else f"{threads} threads")


def _plot_roofline(axes: Any, results: Sequence[Result], known: limits.Limits) -> None:
    points = [result for result in results if result.flops and result.memory == "dropped"]
    ratios = [2.0**power for power in range(-3, 11)]
    for element, style in (("f32", "-"), ("f64", "--")):
        for size in (min(known.copies), max(known.copies)):
            roof = [min(known.flops[element], known.copies[size] * ratio) / 1e9 for ratio in ratios]
            axes.plot(ratios, roof, style, color="gray", linewidth=0.8)
        axes.text(ratios[-1], known.flops[element] / 1e9, element, ha="right", va="bottom")
    intensities = [result.flops / result.moved for result in points]
    axes.scatter(intensities, [result.gflops for result in points], s=12)
    best = [result.flops / result.peers[result.best] / 1e9 for result in points]
    axes.scatter(intensities, best, s=12, marker="x", color="tab:red")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("flops a byte of operands and result")
    axes.set_ylabel("GFLOP/s: ours, and x the best peer")
