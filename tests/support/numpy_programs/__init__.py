"""Random programs over all that `jit` records, each step beside NumPy's own answer.

    PYTHONPATH=tests/support python -m numpy_programs --count 20000 --account programs.json
    PYTHONPATH=tests/support python -m numpy_programs --seed 1234 --count 1 --show

A program has arrays and one to three steps. Functions, ufuncs, methods, operators and forms of
indices are those of the library's own tables, so that a new one is taken without a word here; its
arguments are drawn by the names of its parameters (`arguments`). A program runs under `jit` and
gives the results of all its steps; each is compared with what NumPy makes of the same operands
(`comparing`). Differences that are not mistakes are those of the table in `docs/numbers.md`
(`differences`).
"""
