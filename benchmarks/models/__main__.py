"""The command `python -m benchmarks.models`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import linalg_ext as lx
from benchmarks import peers, recording
from benchmarks.models.families import FAMILIES
from benchmarks.models.measuring import Outcome
from benchmarks.models.reporting import coverage, header, speed


def main(arguments: Sequence[str]) -> int:
    """Measure each family in a process for each number of threads, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models")
    parser.add_argument("words", nargs="*", help="words of the names of the families")
    parser.add_argument("--threads", type=int, help="one number of threads, not one and all cores")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, fewer peers")
    parser.add_argument("--json", type=Path, help="a file that the outcomes go to")
    parser.add_argument("--markdown", type=Path, help="a file that the tables go to, too")
    options = parser.parse_args(arguments)
    chosen = [
        family.name
        for family in FAMILIES
        if not options.words or any(word in family.name for word in options.words)
    ]
    if not chosen:
        names = ", ".join(family.name for family in FAMILIES)
        print(f"no family contains {' or '.join(options.words)}: {names}", file=sys.stderr)
        return 2
    outcomes = []
    counts = [options.threads] if options.threads else [1, lx.threads.available()]
    for family in chosen:
        for threads in dict.fromkeys(counts):
            outcomes.append(_in_a_process(family, threads, options.quick))
            text = f"{header()}\n\n{coverage(outcomes)}\n\n{speed(outcomes)}\n"
            if options.json:
                recording.write(options.json, outcomes)
            if options.markdown:
                options.markdown.write_text(text)
            shown = {peer: round(ratio, 2) for peer, ratio in outcomes[-1].ratios.items()}
            print(
                f"{family}, {threads}: {outcomes[-1].error or shown}", file=sys.stderr, flush=True
            )
    print(text)
    return 0


def _in_a_process(family: str, threads: int, quick: bool) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **peers.environment(threads), "LINALG_EXT_CACHE_DIR": folder}
        command = [sys.executable, "-m", "benchmarks.models.measuring", family]
        command += ["--threads", str(threads), *(["--quick"] if quick else [])]
        process = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if process.returncode:
        return Outcome(family, threads, error=f"the process ends with {process.returncode}")
    return Outcome(**json.loads(process.stdout.splitlines()[-1]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
