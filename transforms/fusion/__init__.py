"""Element-wise fusion: operands in the form that it takes, the fusion, and clean-up after it."""

from __future__ import annotations

PASSES = (
    # A tensor is not fused while its sizes are asked for, and is allocated if it has no other use.
    "resolve-ranked-shaped-type-result-dims",
    "canonicalize",
    "cse",
    "linalg-generalize-named-ops",
    "linalg-ext-spread-transposed-convolutions",
    "linalg-ext-linearize-sums",
    "linalg-ext-fuse-producers",
    # Loop-invariant operands are packed once.
    "linalg-ext-pack-before-loops",
    "canonicalize",
    "cse",
    "linalg-ext-expand-known-powers",
    "linalg-ext-separate-factors",
    "linalg-ext-gather-attention",
    "linalg-ext-inline-outlined",
    "linalg-ext-compute-parameters-first",
)
"""Producers and consumers become one generic where no boundary is between them."""
