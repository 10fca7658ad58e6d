"""Element-wise fusion: barriers, operands in the form that it takes, clean-up after it."""

from __future__ import annotations

PASSES = (
    # A tensor is not fused while its sizes are asked for, and is allocated if it has no other use.
    "resolve-ranked-shaped-type-result-dims",
    "canonicalize",
    "cse",
    "linalg-generalize-named-ops",
    # `linalg-fuse-elementwise-ops` would add to a destination once for each broadcast reader.
    "linalg-ext-read-destinations-as-inputs",
    "linalg-ext-spread-transposed-convolutions",
    "linalg-ext-carry-prefixes",
    "linalg-ext-look-up-labels",
    # Barriers: contractions, windows and ops with effects keep their own loops.
    "linalg-ext-keep-contractions",
    "linalg-ext-keep-windows",
    "linalg-ext-keep-effects",
    "linalg-fuse-elementwise-ops",
    "linalg-ext-fold-open-reshapes",
    "linalg-ext-read-scalars-as-operands",
    # Loop-invariant operands are packed once, before their fills are reshaped.
    "linalg-ext-pack-before-loops",
    "linalg-ext-reshape-fills",
    # Fusion has made `tensor.dim` of its own.
    "resolve-ranked-shaped-type-result-dims",
    "canonicalize",
    "cse",
    "linalg-ext-expand-known-powers",
    "linalg-ext-separate-factors",
    "linalg-ext-gather-attention",
    "linalg-ext-inline-outlined-groups",
    "linalg-ext-inline-repeated-layers",
    "linalg-ext-compute-parameters-first",
)
"""Producers and consumers become one generic where no barrier is between them."""
