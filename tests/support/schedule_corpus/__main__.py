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

from schedule_corpus.checks import check_nine, check_random
from schedule_corpus.nine import NINE, transform_all
from schedule_corpus.running import Tell, apart
from schedule_corpus.subjects import Subject, names, subject

Work = Callable[[Tell], Counter[str]]


def main() -> int:
    """Run so many schedules; 1 where one was wrong."""
    given = _parser().parse_args()
    _warm_up()
    start, wrong = time.monotonic(), 0
    total: Counter[str] = Counter()
    recorded: dict[str, Counter[str]] = {}
    for name in names(given.word)[given.first :: given.every]:
        print(name, file=sys.stderr, flush=True)
        for what, work in _works(subject(name), given):
            outcome = apart(work, given.seconds)
            if outcome.wrong:
                wrong += 1
                print(f"--- {name}, {what}: {outcome.wrong}", flush=True)
                continue
            total += outcome.value
            recorded.setdefault(name, Counter()).update(outcome.value)
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
    parser.add_argument(
        "--record", type=Path, help="a file for how many ops take each of the nine: nothing is run"
    )
    return parser


def _warm_up() -> None:
    """Import what each copy of this process would import for itself."""
    for name in NINE:
        check_nine(subject("matmul"), name)


def _works(of: Subject, given: argparse.Namespace) -> Iterator[tuple[str, Work]]:
    if given.kind == "nine":
        for name in NINE:
            yield name, partial(_counted if given.record else _nine, of, name)
    else:
        yield f"seed {given.seed}", partial(_random, of, given)


def _nine(of: Subject, name: str, tell: Tell) -> Counter[str]:
    return Counter({name: check_nine(of, name)})


def _counted(of: Subject, name: str, tell: Tell) -> Counter[str]:
    return Counter({name: transform_all(of.module(), name)})


def _random(of: Subject, given: argparse.Namespace, tell: Tell) -> Counter[str]:
    return check_random(of, count=given.count, seed=given.seed, shrink=given.shrink, tell=tell)


def recorded_text(recorded: dict[str, Counter[str]]) -> str:
    """A line for each subject."""
    lines = [f"  {json.dumps(name)}: {json.dumps(dict(each))}" for name, each in recorded.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
