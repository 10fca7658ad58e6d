"""All that takes too long for every change, once a night, with an account of what came of it.

    PYTHONPATH=tests/support python -m nightly                        # all jobs, one after another
    PYTHONPATH=tests/support python -m nightly --shard 2/3            # every third of them
    PYTHONPATH=tests/support python -m nightly --account night.json fuzz types

Each job is a command, and its exit status says whether it passed. A job that takes a sample takes
another one each day: its seed is the number of the day. The account keeps the last outcome of each
job, with its commit and day: shards and single jobs can share one. `nightly_account.json` beside
this file has the last outcomes of those that ran at length on one machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import linalg_ext as lx
from resources import REPOSITORY, stamp

_LAST_LINES = 12


@dataclass(frozen=True)
class Job:
    """A command of the nightly run.

    Attributes:
        name: names the job on the command line.
        arguments: of `python`.
        minutes: its usual length on two cores, by which shards are made even.
        variables: what the environment says besides.
    """

    name: str
    arguments: tuple[str, ...]
    minutes: float
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The command, as a shell takes it."""
        said = [f"{name}={value}" for name, value in self.variables.items()]
        return " ".join((*said, "python", *self.arguments))


@dataclass(frozen=True)
class Result:
    """The outcome of a job, at a commit on a day."""

    name: str
    command: str
    status: int
    seconds: int
    last_lines: list[str]
    commit: str
    date: str


def jobs(day: int) -> list[Job]:
    """Return the jobs of a day, by its number."""

    workers = str(lx.threads.available())

    def suite(name: str, minutes: float, *words: str) -> Job:
        options = ("-q", "-n", workers, "--dist", "loadgroup", "--timeout", "0")
        return Job(name, ("-m", "pytest", *options, *words), minutes)

    def corpus(name: str, minutes: float, *words: str) -> Job:
        return Job(name, ("-m", "schedule_corpus", *words), minutes)

    subsets = "tests/transforms/gml_st"
    matches = "tests/transforms/schedules/matches.json"
    return [
        suite("tiled", 10, f"{subsets}/test_tile_every_op.py"),
        suite("fused", 5, f"{subsets}/test_fuse_own_ops_random.py"),
        suite("moves", 5, "tests/transforms/grouping/test_random_moves.py"),
        corpus("counts", 15, "nine", "--unrun", "--compare", matches),
        corpus("nine", 15, "nine", *_part(day)),
        corpus("schedules", 15, "random", "--count", "3", "--seed", str(day), *_part(day + 5)),
        *(
            Job(f"networks-{way}", ("-m", "torch_nets", "--way", way), 10)
            for way in ("from_torch", "open", "torch.compile", "text")
        ),
        Job("types", ("-m", "op_spread", "--every", "7", "--processes", workers), 45),
        suite("statements", 15, "tests/compiler/test_random_statements.py"),
        suite("einsum", 10, "tests/compiler/einsum"),
        Job("opt_einsum", ("-m", "opt_einsum_suite"), 1),
        Job("opt_einsum-kernel", ("-m", "opt_einsum_suite", "--backend", "kernel"), 10),
        Job("samples", ("-m", "torch_ops", "--dtype", "float64"), 25),
        # Who reads what nobody wrote reads NaN; the other jobs take all cases.
        replace(
            suite("poisoned", 45, "tests"),
            variables={"LINALG_EXT_POISON": "1", "LINALG_EXT_THOROUGH": "0"},
        ),
        Job("fuzz", ("-m", "fuzz", "--count", "1000", "--seed", str(1000 * day)), 15),
        Job("numpy", ("-m", "numpy_programs", "--count", "5000", "--seed", str(5000 * day)), 15),
        Job("numpy_suite", ("-m", "numpy_suite"), 12),
        Job("misfits", ("-m", "fuzz", "misfits", "--count", "20000", "--seed", str(day)), 20),
        Job("stress-threads", ("-m", "stress", "threads", "--count", "300"), 5),
        Job("stress-memory", ("-m", "stress", "memory", "--count", "5000"), 5),
    ]


def _part(day: int) -> tuple[str, ...]:
    """Return the options for every sixteenth subject, beginning at another one each day."""
    return "--every", "16", "--first", str(day % 16)


def sharded(all_jobs: Sequence[Job], shard: int, shards: int) -> list[Job]:
    """Return the jobs of a shard: each job is in one, and shards take about as long."""
    parts: list[list[Job]] = [[] for _ in range(shards)]
    for job in sorted(all_jobs, key=lambda job: -job.minutes):
        min(parts, key=lambda part: sum(job.minutes for job in part)).append(job)
    return parts[shard - 1]


def run(job: Job) -> Result:
    """Run a job, with its output on the terminal."""
    support = str(REPOSITORY / "tests" / "support")
    environment = {**os.environ, "LINALG_EXT_THOROUGH": "1", "PYTHONPATH": support}
    environment.update(job.variables)
    start = time.monotonic()
    lines: deque[str] = deque(maxlen=_LAST_LINES)
    with subprocess.Popen(
        [sys.executable, *job.arguments],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip().replace(f"{REPOSITORY}/", ""))
    seconds = round(time.monotonic() - start)
    return Result(job.name, job.command, process.returncode, seconds, list(lines), **stamp())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the jobs that were asked for; 1 where one failed."""
    parser = argparse.ArgumentParser(prog="nightly", description="What takes long, once a night.")
    parser.add_argument("names", nargs="*", help="of jobs; all where none is given")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="the K-th of N parts")
    parser.add_argument("--account", type=Path, help="a file of JSON for the outcomes")
    parser.add_argument("--list", action="store_true", help="show the commands, and run none")
    given = parser.parse_args(arguments)
    all_jobs = jobs(datetime.date.today().toordinal())
    known = {job.name for job in all_jobs}
    if unknown := set(given.names) - known:
        parser.error(f"no job {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    shard, _, shards = given.shard.partition("/")
    if not (shard.isdigit() and shards.isdigit() and 1 <= int(shard) <= int(shards)):
        parser.error(f"--shard is {given.shard}, not K/N with 1 <= K <= N")
    chosen = sharded(all_jobs, int(shard), int(shards))
    chosen = [job for job in chosen if not given.names or job.name in given.names]
    results = []
    for job in chosen:
        print(f"== {job.name}: {job.command}", flush=True)
        if not given.list:
            results.append(run(job))
            if given.account:
                _note(given.account, results[-1])
    for result in results:
        word = "passed" if result.status == 0 else f"failed ({result.status})"
        print(f"{result.name:24} {word:12} {result.seconds} s")
    return int(any(result.status for result in results))


def _note(account: Path, result: Result) -> None:
    """Put the outcome of a job in the place of its last one."""
    outcomes = json.loads(account.read_text()) if account.exists() else {}
    outcomes[result.name] = {name: x for name, x in asdict(result).items() if name != "name"}
    account.write_text(json.dumps(dict(sorted(outcomes.items())), indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
