"""Run the benchmarks: each case and its peer in turn, in one process, medians of the ratios.

    python -m benchmarks            # all cases
    python -m benchmarks matmul     # those whose name contains a word
    python -m benchmarks limits     # what the machine can do at the most
    python -m benchmarks scaling    # all cores beside one thread

A time is what a user pays for one call on arrays that exist: checks, allocation of the result and
all. Compilation is a case of its own. Ratios above 1 mean that we are quicker.
"""

from __future__ import annotations

import os
import platform
import sys

from rich.console import Console
from rich.table import Table

from benchmarks import limits, scaling
from benchmarks.cases import BUDGETS, CASES
from benchmarks.timing import best_of, compare


def main(words: list[str]) -> int:
    """Run the cases that were asked for and print a table."""
    if words == ["limits"]:
        Console().print(limits.table())
        return 0
    if words[:1] == ["scaling"]:
        Console().print(scaling.table(words[1:]))
        return 0
    cases = [case for case in CASES if _asked_for(case.name, words)]
    budgets = [budget for budget in BUDGETS if _asked_for(budget.name, words)]
    console = Console()
    if not cases and not budgets:
        console.print(f"no case contains {' or '.join(words)}")
        return 2
    table = Table("case", "peer", "ours", "peer's", "peer / ours", box=None)
    for case in cases:
        ours, theirs = case.make()
        result = compare(ours, theirs)
        table.add_row(
            case.name,
            case.peer,
            f"{1e6 * result.ours:.1f} us",
            f"{1e6 * result.theirs:.1f} us",
            f"{result.ratio:.2f}",
        )
    console.print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    if cases:
        console.print(table)
    over = Table("work", "time", "budget", box=None)
    for budget in budgets:
        seconds = best_of(budget.work)
        over.add_row(budget.name, f"{1e3 * seconds:.2f} ms", f"{1e3 * budget.seconds:.0f} ms")
    if budgets:
        console.print(over)
    return 0


def _asked_for(name: str, words: list[str]) -> bool:
    return not words or any(word in name for word in words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
