"""Tables of measurements, in Markdown."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterable, Sequence

from benchmarks import recording
from benchmarks.models.measuring import Outcome

RIGHT = 1e-4
"""A difference, in units of the largest result, up to which a model counts as right."""

PEERS = ("eager", "inductor", "jax")


def header() -> str:
    """The machine and the day."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return f"{recording.processor()}, {os.cpu_count()} cores, {day}"


def coverage(outcomes: Sequence[Outcome]) -> str:
    """Return the table of coverage: the error or the accuracy, ops and times, one row a family."""
    rows = []
    for one in _firsts(outcomes):
        if one.error:
            rows.append([one.family, one.error, "", "", "", "", "", ""])
            continue
        right = "yes" if one.difference <= RIGHT else "no"
        rows.append(
            [
                one.family,
                f"{right} ({one.difference:.0e})",
                "" if one.captured is None else f"{100 * one.captured:.0f}%",
                str(one.ops),
                one.fused,
                f"{one.first:.1f}",
                f"{one.again:.2f}",
                str(one.megabytes),
            ]
        )
    titles = "family", "right", "captured", "ops", "become", "first, s", "cached, s", "MB"
    return _table(titles, rows)


def speed(outcomes: Sequence[Outcome]) -> str:
    """Return the table of speed: the time of each peer by ours, for each number of threads."""
    counts = sorted({one.threads for one in outcomes})
    peers = [peer for peer in PEERS if any(peer in one.ratios for one in outcomes)]
    titles = ["family"]
    for count in counts:
        where = "1 thread" if count == 1 else f"{count} threads"
        titles += [f"ms, {where}", *(f"{peer}, {where}" for peer in peers)]
    rows = []
    for family in dict.fromkeys(one.family for one in outcomes):
        row = [family]
        for count in counts:
            row += _cells(outcomes, family, count, peers)
        rows.append(row)
    means = ["geometric mean"]
    for count in counts:
        means.append("")
        for peer in peers:
            ratios = [
                one.ratios[peer] for one in outcomes if one.threads == count and peer in one.ratios
            ]
            means.append(f"{_mean(ratios):.2f}" if ratios else "")
    return _table(titles, [*rows, means])


def _cells(
    outcomes: Sequence[Outcome], family: str, threads: int, peers: Sequence[str]
) -> list[str]:
    found = [one for one in outcomes if (one.family, one.threads) == (family, threads)]
    if not found or found[0].error:
        return [""] * (1 + len(peers))
    ratios = found[0].ratios
    return [
        f"{found[0].milliseconds:.3g}",
        *(f"{ratios[peer]:.2f}" if peer in ratios else "" for peer in peers),
    ]


def _firsts(outcomes: Sequence[Outcome]) -> Iterable[Outcome]:
    """One outcome for each family: what does not hang on the number of threads."""
    found: dict[str, Outcome] = {}
    for one in outcomes:
        found.setdefault(one.family, one)
    return found.values()


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(titles), ["---"] * len(titles), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
