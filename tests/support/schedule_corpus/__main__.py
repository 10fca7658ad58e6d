"""The command: see the package."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from op_cases import formula_case
from schedule_corpus.checks import check_nine, check_random
from schedule_corpus.nine import NINE
from schedule_corpus.running import Tell, apart
from schedule_corpus.subjects import Subject, op_of_the_library, subjects

Work = Callable[[Tell], Counter[str]]


def main() -> int:
    """Run so many schedules; 1 where one was wrong."""
    given = _parser().parse_args()
    _warm_up()
    start, wrong = time.monotonic(), 0
    total: Counter[str] = Counter()
    recorded: dict[str, Counter[str]] = {}
    for subject in list(subjects(given.word))[given.first :: given.every]:
        for name, work in _works(subject, given):
            outcome = apart(work, given.seconds)
            if outcome.wrong:
                wrong += 1
                print(f"--- {subject.name}, {name}: {outcome.wrong}", flush=True)
                continue
            total += outcome.value
            recorded.setdefault(subject.name, Counter()).update(outcome.value)
    if given.record:
        given.record.write_text(recorded_text(recorded))
    print(f"{wrong} wrong; taken: {dict(total.most_common())}")
    print(f"in {time.monotonic() - start:.0f} s")
    return min(wrong, 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="schedule_corpus")
    parser.add_argument("kind", choices=("nine", "random"))
    parser.add_argument("word", nargs="?", default="", help="of the names of modules and ops")
    parser.add_argument("--every", type=int, default=1, help="take each so many-th of them")
    parser.add_argument("--first", type=int, default=0, help="begin with this one")
    parser.add_argument("--count", type=int, default=10, help="random schedules of each")
    parser.add_argument("--seed", type=int, default=0, help="of the random schedules")
    parser.add_argument("--shrink", action="store_true", help="look for the shortest that fails")
    parser.add_argument("--seconds", type=float, default=300, help="that one may take")
    parser.add_argument("--record", type=Path, help="a file for how many ops took each of the nine")
    return parser


def _warm_up() -> None:
    """Import what each copy of this process would import for itself."""
    for name in NINE:
        check_nine(op_of_the_library(formula_case("matmul", "f")), name)


def _works(subject: Subject, given: argparse.Namespace) -> Iterator[tuple[str, Work]]:
    if given.kind == "nine":
        for name in NINE:
            yield name, partial(_nine, subject, name)
    else:
        yield f"seed {given.seed}", partial(_random, subject, given)


def _nine(subject: Subject, name: str, tell: Tell) -> Counter[str]:
    return Counter({name: check_nine(subject, name)})


def _random(subject: Subject, given: argparse.Namespace, tell: Tell) -> Counter[str]:
    return check_random(subject, count=given.count, seed=given.seed, shrink=given.shrink, tell=tell)


def recorded_text(recorded: dict[str, Counter[str]]) -> str:
    """A line for each subject."""
    lines = [f"  {json.dumps(name)}: {json.dumps(dict(each))}" for name, each in recorded.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
