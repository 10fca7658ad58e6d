"""Tables of measurements, in Markdown."""

from __future__ import annotations

import datetime
import os
import statistics
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
    for outcome in _firsts(outcomes):
        if outcome.error:
            rows.append([outcome.family, outcome.error, "", "", "", "", "", ""])
            continue
        right = "yes" if outcome.difference <= RIGHT else "no"
        rows.append(
            [
                outcome.family,
                f"{right} ({outcome.difference:.0e})",
                "" if outcome.captured is None else f"{100 * outcome.captured:.0f}%",
                str(outcome.ops),
                outcome.fused,
                f"{outcome.first:.1f}",
                f"{outcome.again:.2f}",
                str(outcome.megabytes),
            ]
        )
    titles = "family", "right", "captured", "ops", "become", "first, s", "cached, s", "MB"
    return _table(titles, rows)


def speed(outcomes: Sequence[Outcome]) -> str:
    """Return the table of speed: the time of each peer by ours, for each number of threads."""
    counts = sorted({outcome.threads for outcome in outcomes})
    peers = [peer for peer in PEERS if any(peer in outcome.ratios for outcome in outcomes)]
    titles = ["family"]
    for count in counts:
        where = "1 thread" if count == 1 else f"{count} threads"
        titles += [f"ms, {where}", *(f"{peer}, {where}" for peer in peers)]
    rows = []
    for family in dict.fromkeys(outcome.family for outcome in outcomes):
        row = [family]
        for count in counts:
            row += _cells(outcomes, family, count, peers)
        rows.append(row)
    means = ["geometric mean"]
    for count in counts:
        means.append("")
        for peer in peers:
            ratios = [
                outcome.ratios[peer]
                for outcome in outcomes
                if outcome.threads == count and peer in outcome.ratios
            ]
            means.append(f"{statistics.geometric_mean(ratios):.2f}" if ratios else "")
    return _table(titles, [*rows, means])


def _cells(
    outcomes: Sequence[Outcome], family: str, threads: int, peers: Sequence[str]
) -> list[str]:
    for outcome in outcomes:
        if (outcome.family, outcome.threads) == (family, threads) and not outcome.error:
            ratios = outcome.ratios
            shown = (f"{ratios[peer]:.2f}" if peer in ratios else "" for peer in peers)
            return [f"{outcome.milliseconds:.3g}", *shown]
    return [""] * (1 + len(peers))


def _firsts(outcomes: Sequence[Outcome]) -> Iterable[Outcome]:
    """Return one outcome for each family: coverage is the same for any number of threads."""
    by_family: dict[str, Outcome] = {}
    for outcome in outcomes:
        by_family.setdefault(outcome.family, outcome)
    return by_family.values()


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(titles), ["---"] * len(titles), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
