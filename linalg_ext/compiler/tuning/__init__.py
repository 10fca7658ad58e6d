"""Measuring which of several plans is the fastest here, and remembering it.

    fast = lx.jit(layer, tune=True)          # or lx.compile(module, tune=True, trusted=True)
    fast(x, w, b)                            # the first call measures; later ones, and processes,
    print(fast.explain(x, w, b))             #   find the winner; this says by how much it is better
    lx.tuning.path()                         # the file that remembers
    lx.tuning.clear()                        # forget everything

A remembered choice holds for one machine, library version, problem and number of threads.
"""

from linalg_ext.compiler.tuning.search import Finding, Tuning
from linalg_ext.compiler.tuning.store import clear, entries, path

__all__ = ["Finding", "Tuning", "clear", "entries", "path"]
