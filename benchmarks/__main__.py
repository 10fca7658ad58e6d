"""Run the benchmarks: everything, or a part of them.

    python -m benchmarks                    # limits, bars, library, calls, ...: all of it
    python -m benchmarks --quick            # the same in a few minutes: fewer cases, fewer rounds
    python -m benchmarks bars matmul        # one part; cases whose name contains a word
    python -m benchmarks limits

    limits          what the machine can do at the most
    bars            this project beside NumPy, PyTorch, JAX, IREE and numba, on one thread and all
    library         ops of the library beside NumPy; work that has a budget, compilation among it
    calls           what a call costs beside the work, on one thread and on several
    compiling       how long a function takes to trace and compile, beside JAX; the costliest passes
    starting        how long a process takes to its first result, nothing or all being kept on disk
    contractions    products and tensor contractions beside NumPy, on one thread
    scaling         what all cores gain over one thread
    models          models of PyTorch beside PyTorch, its compiler and JAX
    fusion          a chain fused through a gather, beside the same unfused and beside PyTorch
    grouping        groups that a search finds beside upstream's fusion, none, and PyTorch
    grouping-cost   the cost model of groups beside measured times
    accuracy        how far sums are from what is exact, beside NumPy, PyTorch and JAX
    versus COMMIT   the bars of this commit and of another one, in turn; --models: the models, too
    instructions    what the hot loops of some kernels are made of, and how many are executed

Results of the bars go to `bench-out/`: JSON, Markdown, and a plot where matplotlib is installed.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

ALL = (
    "limits",
    "bars",
    "library",
    "calls",
    "compiling",
    "starting",
    "scaling",
    "fusion",
    "grouping",
    "grouping-cost",
    "instructions",
)
"""The parts that run by default.

The contractions are among the bars, models take long, and accuracy changes with the code alone.
"""

PARTS = (*ALL, "contractions", "models", "accuracy", "versus")

OUTPUT = Path("bench-out")


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; the worst of the parts' exit codes."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", nargs="?", help=f"one of {', '.join(PARTS)}, or a word of a case")
    parser.add_argument("words", nargs="*", help="words of the names of the cases")
    parser.add_argument("--quick", action="store_true", help="fewer cases, fewer rounds")
    parser.add_argument(
        "--threads", type=int, help="of grouping-cost and models: threads that a call may take"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the folder for results")
    parser.add_argument("--models", action="store_true", help="of versus: the models, too")
    given = parser.parse_args(arguments)
    if given.part == "versus":
        if not given.words:
            parser.error("versus which commit? For example: python -m benchmarks versus HEAD~1")
        from benchmarks import versus

        return versus.run(given.words[0], given.words[1:], models=given.models)
    parts: Sequence[str] = ALL if given.part is None else (given.part,)
    words = list(given.words)
    if given.part is not None and given.part not in PARTS:
        parts, words = ("bars", "library"), [given.part, *words]
    Console().print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    return max([_run(part, words, given.quick, given.output, given.threads) for part in parts])


def _run(part: str, words: list[str], quick: bool, output: Path, threads: int | None) -> int:
    if part == "limits":
        from benchmarks import limits

        Console().print(limits.table())
        return 0
    if part == "scaling":
        from benchmarks import scaling

        Console().print(scaling.table(words))
        return 0
    if part == "fusion":
        from benchmarks import fusion

        return fusion.run(quick=quick)
    if part == "grouping":
        from benchmarks import grouping

        return grouping.run(words, quick=quick)
    if part == "grouping-cost":
        from benchmarks import grouping_cost

        return grouping_cost.run(words, quick=quick, threads=threads or 1)
    if part == "library":
        from benchmarks import library

        return library.run(words, quick=quick)
    if part == "calls":
        from benchmarks import calls

        return calls.run(quick=quick)
    if part == "compiling":
        from benchmarks import compiling

        for table in compiling.tables(words, quick=quick):
            Console().print(table)
        return 0
    if part == "starting":
        from benchmarks import starting

        Console().print(starting.table(quick=quick))
        return 0
    if part == "accuracy":
        from benchmarks import accuracy

        return accuracy.run(words, quick=quick, output=output)
    if part == "instructions":
        from benchmarks import instructions

        return instructions.run(words)
    # In processes of their own: how many threads a peer uses is settled when it is loaded.
    if part == "contractions":
        return subprocess.run([sys.executable, "-m", "benchmarks.contractions", *words]).returncode
    if part == "models":
        flags = [*(["--quick"] if quick else []), *([f"--threads={threads}"] if threads else [])]
        return subprocess.run(
            [sys.executable, "-m", "benchmarks.models", *words, *flags]
        ).returncode
    output.mkdir(parents=True, exist_ok=True)
    named = [f"--{kind}={output / 'bars'}.{ending}" for kind, ending in _FILES.items()]
    command = [sys.executable, "-m", "benchmarks.bars", *words, *named]
    return subprocess.run([*command, "--limits", *(["--quick"] if quick else [])]).returncode


_FILES = {"json": "json", "markdown": "md", "plot": "png"}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
