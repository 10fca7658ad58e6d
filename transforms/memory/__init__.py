"""Allocation of buffers: stack, heap and workspace, lifetimes, huge pages, checks."""

from __future__ import annotations

PASSES = (
    "linalg-ext-lower-vector-scan",
    # It leaves buffers in loops around vectors of several dimensions.
    "convert-vector-to-scf",
    "linalg-ext-place-buffers",
)
"""Passes that place each buffer, while loops are still loops."""

CHECKS = (
    "linalg-ext-check-allocations",
    "linalg-ext-report-failures",
    "linalg-ext-lend-buffers",
)
"""After all functions are inlined: failed allocations are reported, large ones pooled."""
