"""The command: see the package."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fuzz import misfits, running
from fuzz.account import Account, as_text
from fuzz.open_modules import OpenModule, open_modules
from resources import stamp


def main() -> int:
    """Run so many modules, or make so many calls; 1 where one failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description="Mutations and misfits, run apart.")
    parser.add_argument("what", nargs="?", choices=("mutations", "misfits"), default="mutations")
    parser.add_argument(
        "--count", type=int, default=1000, help="how many modules; of misfits calls"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="the number of the first; of misfits all"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none later")
    parser.add_argument("--show", action="store_true", help="show the modules, and run none")
    parser.add_argument("--only", default="", help="of misfits: modules with this in their name")
    parser.add_argument("--every", type=int, default=1, help="of misfits: every so many-th module")
    parser.add_argument("--account", type=Path, help="a file of JSON for what came of it")
    given = parser.parse_args()
    if given.show:
        print("\n".join(map(str, _shown(given))))
        return 0
    account, start, told = Account(), time.monotonic(), 0
    for number, _ in enumerate(_runs(given, account), 1):
        for failure in account.failures[told:]:
            print(failure, file=sys.stderr, flush=True)
        told = len(account.failures)
        if number % 100 == 0:
            print(f"{number}: {len(account.failures)} failures", file=sys.stderr, flush=True)
        if time.monotonic() - start > given.seconds:
            break
    print(account)
    print(f"in {time.monotonic() - start:.0f} s")
    if given.account:
        command = {"command": f"python -m fuzz {' '.join(_without_account(sys.argv[1:]))}"}
        found = {**stamp(), **command, **account.data()}
        given.account.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if account.failures else 0


def _without_account(words: list[str]) -> list[str]:
    """The words of a command but for the file that is told of it, which is of one machine."""
    if "--account" not in words:
        return words
    at = words.index("--account")
    return [*words[:at], *words[at + 2 :]]


def _runs(given: argparse.Namespace, account: Account) -> Iterator[None]:
    """Run one module after another."""
    if given.what == "mutations":
        for seed in range(given.seed, given.seed + given.count):
            running.run(seed, account)
            yield
        return
    modules = _modules(given)
    calls = -(-given.count // max(1, len(modules)))
    for module in modules:
        misfits.run(module, calls, given.seed, account)
        yield


def _modules(given: argparse.Namespace) -> list[OpenModule]:
    named = [module for module in open_modules() if given.only in module.name]
    return named[given.seed % given.every :: given.every]


def _shown(given: argparse.Namespace) -> list[str | bytes]:
    if given.what == "misfits":
        return [
            f"// {module.name}: {module.fitting}\n{as_text(module.text)}"
            for module in _modules(given)
        ]
    return [running.source_of(seed) for seed in range(given.seed, given.seed + given.count)]


if __name__ == "__main__":
    sys.exit(main())
