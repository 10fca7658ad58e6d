"""The command: see the package."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import linalg_ext as lx
from benchmarks import limits, peers, recording
from benchmarks.bars.case import Case
from benchmarks.bars.cases import all_cases
from benchmarks.bars.measuring import SECONDS, Result, measure
from benchmarks.bars.reporting import plot, table, with_limit


def main(arguments: Sequence[str]) -> int:
    """Measure in a process for each number of threads, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bars")
    parser.add_argument("words", nargs="*", help="words of the names of the cases")
    parser.add_argument("--threads", type=int, help="one number of threads, in this process")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--plot", type=Path, help="ratios and a roofline; needs matplotlib")
    parser.add_argument("--limits", action="store_true", help="measure the machine's limits, too")
    parser.add_argument("--quick", action="store_true", help="fewer cases, fewer rounds")
    options = parser.parse_args(arguments)
    if options.threads is None:
        results = [
            result
            for threads in dict.fromkeys((1, lx.threads.available()))
            for result in _in_a_process(threads, options)
        ]
    else:
        results = _in_this_process(options.threads, options)
    if not results:
        print(f"no case contains {' or '.join(options.words)}", file=sys.stderr)
        return 2
    header = f"{recording.processor()}, {os.cpu_count()} cores; missing: " + (
        ", ".join(peers.missing()) or "no peer"
    )
    text = f"{header}\n\n{table(results)}\n"
    print(text)
    if options.json:
        recording.write(options.json, results)
    if options.markdown:
        options.markdown.write_text(text)
    if options.plot:
        try:
            plot(results, options.plot)
        except ImportError as error:
            print(f"no plot: {error}; pip install matplotlib", file=sys.stderr)
    return 0


def _in_this_process(threads: int, options: argparse.Namespace) -> list[Result]:
    # Not every peer obeys the environment: no process gets more processors than threads.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    peers.set_threads(threads)
    results = []
    with lx.threads.using(threads):
        for case in _chosen(options):
            for result in measure(case, threads, seconds=0.2 if options.quick else SECONDS):
                print(
                    f"{result.name}: {result.memory} {result.ratio:.2f} of {result.best}",
                    file=sys.stderr,
                    flush=True,
                )
                results.append(result)
        if options.limits:
            limits_ = limits.measured(threads)
            results = [with_limit(result, limits_) for result in results]
    return results


def _chosen(options: argparse.Namespace) -> Iterator[Case]:
    counts: Counter[str] = Counter()
    for case in all_cases():
        if options.words and not any(word in case.name for word in options.words):
            continue
        kind = case.name.split()[0]
        counts[kind] += 1
        # One in six of a kind that has many.
        if not options.quick or counts[kind] % 6 == 1:
            yield case


def _in_a_process(threads: int, options: argparse.Namespace) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        flags = [f"--{name}" for name in ("quick", "limits") if getattr(options, name)]
        command = [sys.executable, "-m", "benchmarks.bars", *options.words, *flags]
        command += ["--threads", str(threads)]
        environment = {**os.environ, **peers.environment(threads)}
        subprocess.run(
            [*command, "--json", str(file)], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        return [Result(**fields) for fields in recording.read(file)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
