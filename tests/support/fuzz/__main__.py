"""The command: see the package."""

from __future__ import annotations

import argparse
import sys
import time

from fuzz import misfits
from fuzz.open_modules import open_modules
from fuzz.running import Account, run, source_of


def main() -> int:
    """Run so many modules, or calls; 1 where one failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description="Mutated modules, run apart.")
    parser.add_argument("what", nargs="?", choices=("mutations", "misfits"), default="mutations")
    parser.add_argument("--count", type=int, default=1000, help="how many modules, or calls")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none later")
    parser.add_argument("--show", action="store_true", help="show the modules, and run none")
    parser.add_argument("--only", default="", help="of misfits: modules with this in their name")
    given = parser.parse_args()
    if given.what == "misfits":
        return _misfits(given)
    account, start = Account(), time.monotonic()
    for seed in range(given.seed, given.seed + given.count):
        if given.show:
            print(source_of(seed))
            continue
        run(seed, account)
        if (seed + 1) % 200 == 0:
            print(f"{seed + 1}: {len(account.surprises)} surprises", file=sys.stderr, flush=True)
        if time.monotonic() - start > given.seconds:
            break
    if not given.show:
        print(account)
        print(f"in {time.monotonic() - start:.0f} s")
    return 1 if account.surprises else 0


def _misfits(given: argparse.Namespace) -> int:
    account, start = misfits.MisfitAccount(), time.monotonic()
    modules = [module for module in open_modules() if given.only in module.name]
    each = max(1, -(-given.count // len(modules)))
    for number, module in enumerate(modules, 1):
        if given.show:
            print(module.text)
            continue
        failures = len(account.failures)
        misfits.run(module, each, given.seed, account)
        for failure in account.failures[failures:]:
            print(failure, flush=True)
        if number % 50 == 0:
            print(
                f"{number} modules: {len(account.failures)} failures", file=sys.stderr, flush=True
            )
        if time.monotonic() - start > given.seconds:
            break
    print(account)
    print(f"in {time.monotonic() - start:.0f} s")
    return 1 if account.failures else 0


if __name__ == "__main__":
    sys.exit(main())
