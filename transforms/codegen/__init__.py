"""Structured ops on buffers become loops over vectors, tiles in registers and packed panels."""

from __future__ import annotations

PASSES = (
    # Slices of an entry's work name a part of an operand once for each op.
    "cse",
    # From here on layers that are alike are one function.
    "linalg-ext-outline-repeated-parts",
    "linalg-ext-fuse-attention",
    "linalg-ext-lower-strided-copies",
    "linalg-ext-order-loops",
    "linalg-ext-view-windows",
    "linalg-ext-tile-windows",
    # The passes above have nothing to do in packed nests, and would walk over them.
    "linalg-ext-pack-contractions",
    "linalg-ext-vectorize-loops",
    "linalg-ext-split-long-sums",
    "convert-linalg-to-loops",
    "canonicalize",
    "cse",
    "loop-invariant-code-motion",
    "linalg-ext-roll-up-steps",
    "linalg-ext-vectorize-scans",
)
"""Each family takes the ops that are its own; `convert-linalg-to-loops` takes the rest."""
