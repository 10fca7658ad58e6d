"""The command: see the package."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from numpy_programs.comparing import outcomes
from numpy_programs.drawing import draw_program
from numpy_programs.program import Program
from resources import REPOSITORY

_AT_ONCE = 100
"""So many programs are run by one process."""

_OUTCOME = "outcome "
"""The beginning of a line of ours: LAPACK writes to standard output, too."""


def program_of(seed: int) -> Program:
    """The program of a seed."""
    return draw_program(random.Random(seed).choice)


def main() -> int:
    """Run so many programs; 1 where one failed."""
    parser = argparse.ArgumentParser(prog="numpy_programs", description="jit beside NumPy.")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--account", type=Path, help="a file of JSON for the outcomes")
    parser.add_argument("--show", action="store_true", help="show the programs, and run none")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.count)
    if given.show:
        for seed in seeds:
            print(f"# {seed}\n{program_of(seed).shown()}\n")
        return 0
    if given.inside:
        for seed in seeds:
            steps = [asdict(outcome) for outcome in outcomes(program_of(seed))]
            print(_OUTCOME + json.dumps([seed, steps]))
            sys.stdout.flush()
        return 0
    start = time.monotonic()
    parts = [seeds[n : n + _AT_ONCE] for n in range(0, len(seeds), _AT_ONCE)]
    found: list[tuple[int, dict[str, Any]]] = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for part in pool.map(_part, parts):
            found += part
            for seed, each in part:
                if each["kind"] == "failed":
                    text = f"{each['step'][:300]}\n    {each['detail'][:700]}"
                    print(f"{seed}: {each['name']}: {text}", flush=True)
            if given.account:
                account = _account(given.seed, found)
                # Messages name files: a path of this machine says nothing elsewhere.
                text = json.dumps(account, indent=1).replace(f"{REPOSITORY}{os.sep}", "")
                given.account.write_text(f"{text}\n", encoding="utf-8")
    failures = [(seed, each) for seed, each in found if each["kind"] == "failed"]
    kinds = Counter(each["kind"] for _, each in found)
    print(f"{given.count} programs, {len(found)} steps: {dict(kinds)}")
    print(f"in {time.monotonic() - start:.0f} s")
    return int(bool(failures))


def _part(seeds: range) -> list[tuple[int, dict[str, Any]]]:
    """The outcomes of some programs, in a process of their own; a death is a failure."""
    found: list[tuple[int, dict[str, Any]]] = []
    next_seed = seeds.start
    while next_seed < seeds.stop:
        command = ["--inside", "--seed", str(next_seed), "--count", str(seeds.stop - next_seed)]
        ran = subprocess.run(
            [sys.executable, "-m", "numpy_programs", *command],
            capture_output=True,
            text=True,
            # No program comes twice: to keep its code would be for nothing.
            env={**os.environ, "LINALG_EXT_CACHE_DIR": "off"},
        )
        lines = [line for line in ran.stdout.splitlines() if line.startswith(_OUTCOME)]
        for line in lines:
            seed, steps = json.loads(line.removeprefix(_OUTCOME))
            found += [(seed, each) for each in steps]
            next_seed = seed + 1
        if next_seed < seeds.stop:
            detail = f"the process ended with {ran.returncode}: {ran.stderr[-600:]}"
            lost = {"kind": "failed", "step": "", "name": "process", "detail": detail}
            found.append((next_seed, lost))
            next_seed += 1
    return found


def _account(first: int, found: list[tuple[int, dict[str, Any]]]) -> Any:
    """The outcomes in numbers: in all, and by what is called."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout.strip()
    by_name: dict[str, Counter[str]] = {}
    refusals: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    for _, each in found:
        by_name.setdefault(each["name"], Counter())[each["kind"]] += 1
        if each["kind"] == "refused":
            refusals[each["detail"].partition(":")[0]] += 1
        if each["kind"] == "allowed":
            rows[each["detail"]] += 1
    return {
        "commit": commit,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "first_seed": first,
        "programs": len({seed for seed, _ in found}),
        "steps": len(found),
        "outcomes": dict(Counter(each["kind"] for _, each in found)),
        "allowed_by_row": dict(rows),
        "refused_by_error": dict(refusals),
        "failures": [[seed, each] for seed, each in found if each["kind"] == "failed"],
        "by_name": {name: dict(counts) for name, counts in sorted(by_name.items())},
    }


if __name__ == "__main__":
    sys.exit(main())
