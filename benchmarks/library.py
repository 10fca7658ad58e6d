"""Ops of the library beside NumPy, and work that has a budget: medians, interleaved, one process.

    python -m benchmarks library            # all cases
    python -m benchmarks library matmul     # those whose name contains a word

A time is that of a whole call on arrays that exist, checks and the allocation of the result
included. Compilation has budgets of its own. Ratios above 1 mean that we are quicker.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.cases import BUDGETS, CASES
from benchmarks.timing import best_of, compare


def run(words: Sequence[str], *, quick: bool = False) -> int:
    """Run the cases that were asked for and print a table."""
    cases = [case for case in CASES if _asked_for(case.name, words)]
    budgets = [budget for budget in BUDGETS if _asked_for(budget.name, words)]
    console = Console()
    if not cases and not budgets:
        console.print(f"no case of the library contains {' or '.join(words)}")
        return 2
    table = Table("case", "peer", "ours", "peer's", "peer / ours", box=None)
    for case in cases:
        ours, theirs = case.make()
        result = compare(ours, theirs, seconds=0.2 if quick else 1.0)
        table.add_row(
            case.name,
            case.peer,
            f"{1e6 * result.ours:.1f} us",
            f"{1e6 * result.theirs:.1f} us",
            f"{result.ratio:.2f}",
        )
    if cases:
        console.print(table)
    over = Table("work", "time", "budget", box=None)
    for budget in budgets:
        seconds = best_of(budget.work)
        over.add_row(budget.name, f"{1e3 * seconds:.2f} ms", f"{1e3 * budget.seconds:.0f} ms")
    if budgets:
        console.print(over)
    return 0


def _asked_for(name: str, words: Sequence[str]) -> bool:
    return not words or any(word in name for word in words)
