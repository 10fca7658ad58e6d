"""The command: see the package."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from schedule_corpus.checks import check_nine, check_random
from schedule_corpus.nine import NINE, transform_all
from schedule_corpus.running import Outcome, Tell, apart
from schedule_corpus.subjects import Subject, names, subject
from schedule_corpus.tally import Tally


def main() -> int:
    """Run so many schedules; 1 where one was wrong."""
    parser = _parser()
    given = parser.parse_args()
    if (given.record or given.compare) and given.kind != "nine":
        parser.error("--record and --compare are for the nine")
    _warm_up()
    start, wrong = time.monotonic(), 0
    total = Tally()
    chosen = names(given.word)[given.first : given.last : given.every]
    known = json.loads(given.compare.read_text()) if given.compare else {}
    for name in chosen:
        print(name, file=sys.stderr, flush=True)
        taken: dict[str, int] = {}
        tally, failures = Tally(), list[str]()
        for what, outcome in _outcomes(subject(name), given):
            if outcome.wrong:
                failures.append(f"{what}: {outcome.wrong}")
                print(f"--- {name}, {failures[-1]}", flush=True)
                continue
            tally.add(outcome.value)
            taken[what] = outcome.value.taken[what]
        total.add(tally)
        wrong += len(failures)
        if given.record:
            _record(given.record, name, taken)
        if given.compare and known.get(name) != taken:
            wrong += 1
            print(f"--- {name}: {taken} took them, not {known.get(name)}", flush=True)
    print(f"{len(chosen)} subjects, {wrong} wrong; {total}")
    print(f"in {time.monotonic() - start:.0f} s")
    return min(wrong, 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="schedule_corpus")
    parser.add_argument("kind", choices=("nine", "random"))
    parser.add_argument("word", nargs="?", default="", help="of the names of modules and ops")
    parser.add_argument("--every", type=int, default=1, help="take each so many-th of them")
    parser.add_argument("--first", type=int, default=0, help="begin with this one")
    parser.add_argument("--last", type=int, help="end before this one")
    parser.add_argument("--count", type=int, default=10, help="random schedules of each")
    parser.add_argument("--seed", type=int, default=0, help="of the random schedules")
    parser.add_argument("--shrink", action="store_true", help="look for the shortest that fails")
    parser.add_argument("--seconds", type=float, default=300, help="that one may take")
    parser.add_argument(
        "--record", type=Path, help="a file for how many ops take each of the nine: added there"
    )
    parser.add_argument(
        "--compare", type=Path, help="a file of --record: a count that differs is wrong"
    )
    parser.add_argument("--unrun", action="store_true", help="count and verify, and run nothing")
    return parser


def _warm_up() -> None:
    """Import what each copy of this process would import for itself."""
    for name in NINE:
        check_nine(subject("matmul"), name)


def _outcomes(of: Subject, given: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    if given.kind == "random":
        yield f"seed {given.seed}", apart(partial(_random, of, given), given.seconds)
        return
    work = _counted if given.unrun else _nine
    together = apart(lambda tell: {name: work(of, name, tell) for name in NINE}, given.seconds)
    if not together.wrong:
        yield from ((name, Outcome(tally)) for name, tally in together.value.items())
        return
    for name in NINE:
        yield name, apart(partial(work, of, name), given.seconds)


def _nine(of: Subject, name: str, tell: Tell) -> Tally:
    return check_nine(of, name)


def _counted(of: Subject, name: str, tell: Tell) -> Tally:
    return transform_all(of.module(), name)


def _random(of: Subject, given: argparse.Namespace, tell: Tell) -> Tally:
    return check_random(of, count=given.count, seed=given.seed, shrink=given.shrink, tell=tell)


def _record(file: Path, subject_name: str, taken: dict[str, int]) -> None:
    known = json.loads(file.read_text()) if file.exists() else {}
    known[subject_name] = taken
    lines = [
        f"  {json.dumps(name)}: {json.dumps(known[name])}" for name in names() if name in known
    ]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main())
