"""Run the benchmarks: everything, or a part of them.

    python -m benchmarks                    # limits, bars, library, calls, ...: all of it
    python -m benchmarks --quick            # the same in a few minutes: fewer cases, fewer rounds
    python -m benchmarks bars matmul        # one part; cases whose name contains a word
    python -m benchmarks limits

    limits          the best rates of the machine
    bars            this project beside NumPy, PyTorch, JAX, IREE and numba, on one thread and all
    library         ops of the library beside NumPy; work that has a budget, compilation among it
    calls           the cost of a call beside its work, on one thread and on several
    compiling       how long a function takes to trace and compile, beside JAX; the costliest passes
    starting        how long a process takes to its first result, nothing or all being kept on disk
    contractions    products and tensor contractions beside NumPy, on one thread
    scaling         the gain of all cores over one thread
    models          models of PyTorch beside PyTorch, its compiler and JAX
    fusion          a chain fused through a gather, beside the same unfused and beside PyTorch
    grouping        groups that a search finds beside upstream's fusion, none, and PyTorch
    grouping-cost   the cost model of groups beside measured times
    functions       functions of NumPy under jit, by type and size, the slowest beside NumPy first
    accuracy        the distance of sums from exact ones, beside NumPy, PyTorch and JAX
    versus COMMIT   the bars of this commit and of another one, in turn; --models: the models, too
    instructions    the instructions of some kernels' hot loops, and the number executed

Results of the bars go to `bench-out/`: JSON, Markdown, and a plot where matplotlib is installed.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
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

The contractions are among the bars, models and functions take long, and accuracy changes with the
code alone.
"""

PARTS = (*ALL, "contractions", "models", "functions", "accuracy", "versus")

OUTPUT = Path("bench-out")


def main(arguments: Sequence[str]) -> int:
    """Run the parts of the command line; return the worst of their exit codes."""
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
    options = parser.parse_args(arguments)
    if options.part == "versus":
        if not options.words:
            parser.error("versus which commit? For example: python -m benchmarks versus HEAD~1")
        from benchmarks import versus

        return versus.run(options.words[0], options.words[1:], models=options.models)
    parts: Sequence[str] = ALL if options.part is None else (options.part,)
    words = list(options.words)
    if options.part is not None and options.part not in PARTS:
        parts, words = ("bars", "library"), [options.part, *words]
    Console().print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    return max([_run(part, words, options) for part in parts])


def _run(part: str, words: list[str], options: argparse.Namespace) -> int:
    if part in ("bars", "contractions", "functions", "models"):
        return _in_a_process(part, words, options)
    quick = options.quick
    module = import_module(f"benchmarks.{part.replace('-', '_')}")
    match part:
        case "limits":
            tables = [module.table()]
        case "scaling":
            tables = [module.table(words)]
        case "starting":
            tables = [module.table(quick=quick)]
        case "compiling":
            tables = module.tables(words, quick=quick)
        case "fusion" | "calls":
            return int(module.run(quick=quick))
        case "grouping" | "library":
            return int(module.run(words, quick=quick))
        case "grouping-cost":
            return int(module.run(words, quick=quick, threads=options.threads or 1))
        case "accuracy":
            return int(module.run(words, quick=quick, output=options.output))
        case _:
            return int(module.run(words))
    for table in tables:
        Console().print(table)
    return 0


def _in_a_process(part: str, words: list[str], options: argparse.Namespace) -> int:
    """Run a part whose peers fix their number of threads when they are loaded."""
    flags = ["--quick"] if options.quick and part != "contractions" else []
    if part == "bars":
        output: Path = options.output
        output.mkdir(parents=True, exist_ok=True)
        files = {"json": "bars.json", "markdown": "bars.md", "plot": "bars.png"}
        flags += ["--limits", *(f"--{kind}={output / name}" for kind, name in files.items())]
    elif part == "models" and options.threads:
        flags.append(f"--threads={options.threads}")
    return subprocess.run([sys.executable, "-m", f"benchmarks.{part}", *words, *flags]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
