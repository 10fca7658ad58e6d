"""Canonicalize loops over subsets, and their sets.

    module.run("linalg-ext-canonicalize-subset-loops")

The patterns that `canonicalize` had for them in tensorflow/mlir-hlo: loops that never run go,
iterators that run once too; casts, constants and sizes are folded; unused values are not carried.
Upstream's own canonicalization, which knows nothing of these ops, runs before and after.
"""

from __future__ import annotations

from linalg_ext.rewriting import named_pipeline

NAME = "linalg-ext-canonicalize-subset-loops"

PASSES = (
    "canonicalize",
    "linalg-ext-fold-subset-questions",
    "linalg-ext-fold-dims-of-subset-loops",
    "linalg-ext-remove-trivial-subset-loops",
    "linalg-ext-drop-unused-subset-loop-operands",
    "linalg-ext-fold-casts-into-subset-loops",
    "linalg-ext-fold-constants-into-subsets",
    "canonicalize",
    "cse",
)

canonicalize_subset_loops = named_pipeline(
    NAME, ",".join(PASSES), "Canonicalize loops over subsets and their sets"
)
