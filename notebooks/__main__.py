"""`python -m notebooks`: execute the tutorials, and store or check their outputs."""

from __future__ import annotations

import argparse
import sys
import time

from notebooks.execution import (
    NOTEBOOKS,
    NotebookError,
    differences,
    executed,
    read,
    text_of,
    with_kept_outputs,
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 where all is well, 1 where a notebook failed or gave something else."""
    parser = argparse.ArgumentParser("python -m notebooks", description=__doc__)
    names = [path.stem for path in NOTEBOOKS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--check", action="store_true", help="store nothing, compare")
    parser.add_argument(
        "--anew", action="store_true", help="store what varies, too, where its cell is the same"
    )
    chosen = parser.parse_args(arguments)
    chosen_names = [name for name in names if not chosen.names or name in chosen.names]
    if unknown := set(chosen.names) - set(names):
        parser.error(f"no notebook is called {', '.join(sorted(unknown))}; there are {names}")
    failed = False
    for path in (path for path in NOTEBOOKS if path.stem in chosen_names):
        started = time.perf_counter()
        stored = read(path)
        try:
            fresh = executed(path)
        except NotebookError as error:
            print(error, file=sys.stderr)
            failed = True
            continue
        changed = differences(stored, fresh)
        if not chosen.check:
            path.write_text(
                text_of(fresh if chosen.anew else with_kept_outputs(fresh, stored)),
                encoding="utf-8",
            )
        failed |= chosen.check and bool(changed)
        state = f"something else came out\n{changed}" if changed else "as stored"
        print(f"{path.name:35} {time.perf_counter() - started:5.1f} s  {state}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
