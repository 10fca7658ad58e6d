"""Results as a table for people."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.bars.measuring import Result


def table(results: Sequence[Result]) -> str:
    """In Markdown, with the geometric means below."""
    lines = [
        "| case | threads | results | ours ms | best peer | its ms | ratio | GFLOP/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        speed = f"{one.gflops:.0f}" if one.gflops else ""
        lines.append(
            f"| {one.name} | {one.threads} | {one.memory} | {1e3 * one.ours:.3g} | {one.best} "
            f"| {1e3 * one.peers[one.best]:.3g} | {one.ratio:.2f} | {speed} |"
        )
    for threads in sorted({one.threads for one in results}):
        for memory in ("fresh", "reused"):
            ratios = [r.ratio for r in results if (r.threads, r.memory) == (threads, memory)]
            if ratios:
                mean = statistics.geometric_mean(ratios)
                lines.append(
                    f"| geometric mean of {len(ratios)} | {threads} | {memory} "
                    f"| | | | {mean:.2f} | |"
                )
    return "\n".join(lines)
