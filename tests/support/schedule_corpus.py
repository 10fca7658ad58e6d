"""Random schedules of up to six steps on real modules, verified and compared after them.

PYTHONPATH=tests/support python -m schedule_corpus            # all of the shared modules
PYTHONPATH=tests/support python -m schedule_corpus l1_001 5   # some of them, five schedules each
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import linalg_ext as lx
from exported_modules import arrays_of, index_of
from linalg_ext.errors import LinalgExtError, ScheduleError
from resources import shared_root

SIZES = (0, 1, 2, 3, 4, 8)


def sizes(rng: random.Random) -> list[int]:
    """Sizes for some loops, not all of which every op has."""
    return [rng.choice(SIZES) for _ in range(rng.randint(1, 4))]


def _order(rng: random.Random, count: int) -> list[int]:
    return rng.sample(range(count), count)


STEPS: dict[str, Callable[[random.Random], list[Any]]] = {
    "tile": lambda rng: [sizes(rng)],
    "fuse": lambda rng: [sizes(rng)],
    "parallelize": lambda rng: [sizes(rng)],
    "tile_reduction": lambda rng: [sizes(rng)],
    "split_reduction": lambda rng: [rng.choice((2, 4))],
    "promote": lambda rng: [],
    "allocate": lambda rng: [],
    "interchange": lambda rng: [_order(rng, rng.randint(1, 4))],
    "pad": lambda rng: [sizes(rng)],
    "pack": lambda rng: [sizes(rng)],
    "unroll": lambda rng: [2],
    "peel": lambda rng: [rng.randint(0, 1)],
    "hoist": lambda rng: [],
    "generalize": lambda rng: [],
    "specialize": lambda rng: [],
    "decompose": lambda rng: [],
    "tile_evenly": lambda rng: [rng.randint(0, 2), rng.randint(1, 8)],
    "tile_continuously": lambda rng: [rng.randint(0, 2), rng.randint(1, 8)],
    "fuse_elementwise": lambda rng: [],
    "propagate_packs": lambda rng: [],
    "simplify": lambda rng: [],
}
"""Steps and arguments that may or may not fit an op."""


def wander(schedule: lx.Schedule, rng: random.Random, steps: int = 6) -> Counter[str]:
    """Take random steps; those that are refused must leave the module as it was.

    Returns:
        How often each step was taken.
    """
    taken: Counter[str] = Counter()
    for _ in range(steps):
        name = rng.choice(list(STEPS))
        arguments = STEPS[name](rng)
        before = schedule.module.ir
        try:
            schedule.take(name, *arguments)
        except ScheduleError:
            assert schedule.module.ir is before
            continue
        taken[name] += 1
        schedule.module.verify()
    return taken


def check(path: Path, seed: int) -> Counter[str]:
    """A random schedule on a module: the outputs are those of PyTorch within its tolerances.

    Returns:
        How often each step was taken.
    """
    rng = random.Random(seed)
    module = lx.parse(path.read_text(), trusted=True)
    schedule = lx.Schedule(module).match()
    ops = schedule.taken[-1].report.matched.total()
    schedule.match(position=rng.randrange(ops))
    taken = wander(schedule, rng)
    facts = index_of(path)
    inputs, expected = arrays_of(path)
    try:
        results = lx.compile(module)(*inputs)
    except LinalgExtError as error:
        error.add_note(f"{path.name}, seed {seed}:\n{schedule}")
        raise
    results = results if isinstance(results, tuple) else (results,)
    for ours, theirs in zip(results, expected, strict=True):
        message = f"{path.name}, seed {seed}:\n{schedule}"
        np.testing.assert_allclose(
            ours, theirs, rtol=10 * facts["rtol"], atol=10 * facts["atol"], err_msg=message
        )
    return taken


def main(words: list[str]) -> int:
    """Check every module whose name contains the first word; the second is how many schedules."""
    root = shared_root()
    if root is None:
        print("the shared modules are not here")
        return 2
    word, count = (words[0] if words else ""), (int(words[1]) if len(words) > 1 else 3)
    failed = 0
    total: Counter[str] = Counter()
    for path in sorted((root / "modules").glob(f"*{word}*.mlir")):
        for seed in range(count):
            try:
                total += check(path, seed)
            except (AssertionError, LinalgExtError) as error:
                failed += 1
                notes = "\n".join(getattr(error, "__notes__", ()))
                print(f"{path.name} seed {seed}: {type(error).__name__} {error}\n{notes}")
    print(f"{failed} failed; steps taken: {dict(total.most_common())}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
