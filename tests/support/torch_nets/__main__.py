"""Networks that people write in PyTorch, each compiled and compared with what PyTorch gives.

    PYTHONPATH=tests/support python -m torch_nets                      # some ten minutes a way
    PYTHONPATH=tests/support python -m torch_nets --way text GPT LSTM  # those of these names
    PYTHONPATH=tests/support python -m torch_nets --kernel-bench DIR   # those of a checkout of it
    PYTHONPATH=tests/support python -m torch_nets --transformers       # those of that package

Times are those of a processor: the whole of what a user waits for, compilation and calls.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from torch_nets import kernel_bench, transformers_models
from torch_nets.subject import Subject
from torch_nets.ways import FAILED, REFUSED, RIGHT, WAYS, WRONG, outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the networks, and print what is not right; 1 where one is wrong or failed."""
    parser = argparse.ArgumentParser(
        prog="torch_nets", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="parts of names; all networks without")
    parser.add_argument("--way", choices=tuple(WAYS), default="from_torch")
    parser.add_argument("--slow", type=float, default=10, help="seconds that are told of")
    parser.add_argument(
        "--kernel-bench", type=Path, metavar="DIR", help="a checkout of KernelBench"
    )
    parser.add_argument("--transformers", action="store_true", help="half an hour")
    given = parser.parse_args(arguments)
    torch.manual_seed(0)
    counts: Counter[str] = Counter()
    subjects = _own()
    if given.transformers:
        subjects = transformers_models.subjects(given.names)
    elif given.kernel_bench is not None:
        subjects = kernel_bench.subjects(given.kernel_bench)
    for subject in subjects:
        if given.names and not any(name in subject.name for name in given.names):
            continue
        start = time.process_time()
        word, said = outcome(subject, given.way)
        seconds = time.process_time() - start
        counts[word] += 1
        if word != RIGHT or given.names or seconds > given.slow:
            print(f"{subject.name}: {word}, {seconds:.1f} s  {said}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts[WRONG] or counts[FAILED] or (given.names and counts[REFUSED]) else 0


def _own() -> Iterator[Subject]:
    """The networks that stand beside this file."""
    from torch_nets import chains, edges, images, mixtures, routing, sequences, single, windows

    for room in (single, windows, chains, images, sequences, mixtures, routing, edges):
        yield from room.SUBJECTS


if __name__ == "__main__":
    sys.exit(main())
