"""This project beside its peers: one process for a number of threads, all in turn.

    python -m benchmarks.bars                         # on one thread, then on all cores
    python -m benchmarks.bars --threads 1 matmul      # cases whose name contains a word
    python -m benchmarks.bars --limits --json bars.json --markdown bars.md --plot bars.png

Every result, of each peer too, is compared with NumPy's before it is timed. A time is the median
over rounds in which each runner runs once. A result is gone when the next one is made, as in a
user's loop (`dropped`); large ones also stay alive to the end of a round, their memory then goes
back to the system, and no pool, ours or the C library's, hides its cost (`kept`); or results are
written, where the runner can, to arrays that exist (`reused`). A ratio is the best peer's time by
ours, round by round: above 1 we are quicker.

The cases are in `benchmarks/bars/cases/`, a file for each kind: a new one is found by being there.
"""
