"""Run-time assertions for sizes and accesses, and refusals of modules that cannot be compiled."""

from __future__ import annotations

SIZES = (
    # Ops are checked as they were written: their lowerings may leave out an operand's excess.
    "linalg-ext-check-sizes",
)
"""Before ops are lowered: the sizes that an op takes from elsewhere fit."""

ACCESSES = (
    # It becomes single elements, and each of them is checked.
    "linalg-ext-lower-gather-scatter",
    "linalg-ext-check-accesses",
    "linalg-ext-fold-position-checks",
    # Most assertions are of constants; no later pass needs to walk over them.
    "canonicalize",
)
"""After legalization: each access that is not known to be in bounds is asserted to be."""
