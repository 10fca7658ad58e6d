"""The command: see the package."""

from __future__ import annotations

import argparse
import sys
import time

from fuzz.running import Account, run, source_of


def main() -> int:
    """Run so many modules; 1 where something was a surprise."""
    parser = argparse.ArgumentParser(prog="fuzz", description="Mutated modules, run apart.")
    parser.add_argument("--count", type=int, default=1000, help="how many modules")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none later")
    parser.add_argument("--show", action="store_true", help="show the modules, and run none")
    given = parser.parse_args()
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


if __name__ == "__main__":
    sys.exit(main())
