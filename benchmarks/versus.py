"""Two commits beside each other: the same cases, their rounds in turn.

    python -m benchmarks versus v0.1               # all cases of the bars, beside that commit
    python -m benchmarks versus HEAD~3 softmax     # the cases whose name contains a word
    python -m benchmarks versus HEAD~3 --models    # the models, too; needs PyTorch

The other commit is checked out into a folder of its own and runs with the packages of this
environment. Each side is a process for every number of threads; while one runs a round, the other
waits. A ratio is the time of this commit by the other's, the median over pairs of rounds; a case
beyond 1.03 is measured again, for longer, before it is reported.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parents[1]

SLOWER = 1.03
"""The ratio from which on a case counts as slower."""

_ROUND = 0.02
"""Seconds of a round."""

_ROUNDS, _ROUNDS_AGAIN = 15, 60


@dataclass(frozen=True)
class Row:
    """A case on a number of threads: seconds of a call before and after, and their ratio."""

    name: str
    threads: int
    before: float
    after: float
    ratio: float
    compiled_before: float
    compiled_after: float


def run(commit: str, words: Sequence[str], *, models: bool = False) -> int:
    """Print a table of all cases; 1 where one is slower than before."""
    rows = []
    with _checkout(commit) as before:
        for threads in dict.fromkeys((1, os.cpu_count() or 1)):
            for row in _rows(before, words, threads, models=models):
                print(f"{row.name}, {row.threads}: {row.ratio:.3f}", file=sys.stderr, flush=True)
                rows.append(row)
    if not rows:
        print(f"no case contains {' or '.join(words)}", file=sys.stderr)
        return 2
    Console().print(_table(rows, commit))
    return int(any(row.ratio > SLOWER for row in rows))


def _rows(before: Path, words: Sequence[str], threads: int, *, models: bool) -> Iterator[Row]:
    with _Side(before, threads) as old, _Side(HERE, threads) as new:
        known = set(old.ask(do="names", models=models)["names"])
        for name in new.ask(do="names", models=models)["names"]:
            if name not in known or (words and not any(word in name for word in words)):
                continue
            compiled = [side.ask(do="prepare", name=name) for side in (old, new)]
            if errors := [answer["error"] for answer in compiled if "error" in answer]:
                print(f"{name} is left out: {errors[0]}", file=sys.stderr)
                continue
            times = _in_turn(old, new, _ROUNDS)
            if _ratio(times) > SLOWER:
                times = _in_turn(old, new, _ROUNDS_AGAIN)
            medians = [statistics.median(side) for side in zip(*times, strict=True)]
            yield Row(
                name,
                threads,
                medians[0],
                medians[1],
                _ratio(times),
                *(answer["seconds"] for answer in compiled),
            )


def _in_turn(old: _Side, new: _Side, rounds: int) -> list[tuple[float, float]]:
    """Time pairs of rounds; each pair begins with the other side than the one before."""
    times = []
    for number in range(rounds):
        order = (old, new) if number % 2 else (new, old)
        seconds = {id(side): side.ask(do="round", seconds=_ROUND)["seconds"] for side in order}
        times.append((seconds[id(old)], seconds[id(new)]))
    return times


def _ratio(times: Sequence[tuple[float, float]]) -> float:
    return statistics.median(after / before for before, after in times)


def _table(rows: Sequence[Row], commit: str) -> Table:
    table = Table("case", "threads", "before, us", "after, us", "ratio", title=f"beside {commit}")
    for row in sorted(rows, key=lambda row: -row.ratio):
        style = "bold" if row.ratio > SLOWER else None
        cells = (f"{1e6 * row.before:.2f}", f"{1e6 * row.after:.2f}", f"{row.ratio:.3f}")
        table.add_row(row.name, str(row.threads), *cells, style=style)
    compilations = [row.compiled_after / row.compiled_before for row in rows]
    table.caption = (
        f"geometric mean {statistics.geometric_mean(row.ratio for row in rows):.3f}; "
        f"first calls, with compilation: {statistics.geometric_mean(compilations):.3f}"
    )
    return table


@contextmanager
def _checkout(commit: str) -> Iterator[Path]:
    """Check a commit out beside this one, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        git = ("git", "-C", str(HERE), "worktree")
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


class _Side:
    """A process that runs the cases of one tree, and answers a line with a line."""

    def __init__(self, tree: Path, threads: int) -> None:
        self._stack = ExitStack()
        environment = {
            **os.environ,
            "PYTHONPATH": str(tree),
            "LINALG_EXT_CACHE_DIR": self._stack.enter_context(tempfile.TemporaryDirectory()),
        }
        self._process = self._stack.enter_context(
            subprocess.Popen(
                [sys.executable, __file__, str(threads)],
                cwd=tree,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )

    def __enter__(self) -> _Side:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._stack.close()

    def ask(self, **question: Any) -> dict[str, Any]:
        """Return the answer to a question; raises `RuntimeError` where the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of one side ends with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _serve(threads: int) -> None:
    """Answer questions on standard input: this file runs as a script, in either tree.

    This file uses the parts of the tree alone that all commits have.
    """
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    sys.path[0] = os.getcwd()
    answers, sys.stdout = sys.stdout, sys.stderr

    import linalg_ext as lx
    from benchmarks.bars.cases import all_cases

    calls: dict[str, Callable[[], Callable[[], object]]] = {}
    for case in all_cases():

        def prepared(case: Any = case) -> Callable[[], object]:
            arrays = case.operands()
            return lambda: case.ours(*arrays)

        calls[case.name] = prepared

    def named(models: bool) -> list[str]:
        if models:
            from benchmarks.models.families import FAMILIES

            for family in FAMILIES:

                def prepared(family: Any = family) -> Callable[[], object]:
                    model, arguments = family.example()
                    net = lx.from_torch(model, arguments)
                    return lambda: net(*arguments)

                calls[f"model: {family.name}"] = prepared
        return list(calls)

    work: Callable[[], object] | None = None
    count = 1
    with lx.threads.using(threads):
        for line in sys.stdin:
            question = json.loads(line)
            answer: dict[str, Any] = {}
            if question["do"] == "names":
                answer["names"] = named(question["models"])
            elif question["do"] == "prepare":
                try:
                    started = time.perf_counter()
                    work = calls[question["name"]]()
                    work()
                    answer["seconds"] = time.perf_counter() - started
                    for _ in range(70):  # until small sums are compiled for themselves
                        started = time.perf_counter()
                        work()
                        once = time.perf_counter() - started
                        if once > 1e-3:
                            break
                    count = max(1, int(_ROUND / once))
                except Exception as error:
                    answer["error"] = f"{type(error).__name__}: {error}".partition("\n")[0]
            elif work is not None:
                started = time.perf_counter()
                for _ in range(count):
                    work()
                answer["seconds"] = (time.perf_counter() - started) / count
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
