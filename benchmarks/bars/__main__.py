"""The command: see the package."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import linalg_ext as lx
from benchmarks import peers
from benchmarks.bars.cases import all_cases
from benchmarks.bars.measuring import Result, measure
from benchmarks.bars.reporting import table


def main(arguments: Sequence[str]) -> int:
    """Measure in a process for each number of threads, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bars")
    parser.add_argument("words", nargs="*", help="words of the names of the cases")
    parser.add_argument("--threads", type=int, help="one number of threads, measured here")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args(arguments)
    if given.threads is None:
        results = [
            one
            for threads in dict.fromkeys((1, lx.threads.available()))
            for one in _in_a_process(threads, given.words)
        ]
    else:
        results = _here(given.threads, given.words)
    header = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores; missing: " + (
        ", ".join(peers.missing()) or "no peer"
    )
    text = f"{header}\n\n{table(results)}\n"
    print(text)
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in results], indent=1) + "\n")
    if given.markdown:
        given.markdown.write_text(text)
    return 0


def _here(threads: int, words: Sequence[str]) -> list[Result]:
    # What the environment asks for, not every peer heeds: nobody gets more processors than threads.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    peers.set_threads(threads)
    found = []
    with lx.threads.using(threads):
        for case in all_cases():
            if not words or any(word in case.name for word in words):
                for result in measure(case, threads):
                    print(
                        f"{result.name}: {result.memory} {result.ratio:.2f} of {result.best}",
                        file=sys.stderr,
                        flush=True,
                    )
                    found.append(result)
    return found


def _in_a_process(threads: int, words: Sequence[str]) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        command = [sys.executable, "-m", "benchmarks.bars", *words, "--threads", str(threads)]
        environment = {**os.environ, **peers.environment(threads)}
        subprocess.run(
            [*command, "--json", str(file)], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        return [Result(**one) for one in json.loads(file.read_text())]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
