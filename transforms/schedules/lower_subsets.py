"""Lower loops over subsets to slices and scf loops, as steps after `tile_subsets` may need.

On whole modules: `lower_subset_loops`, with what it does in IR.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.subsets._cleaning import tidy
from linalg_ext.transforms.subsets.lower_subset_loops import lower_subset_loops

from ._step import schedule_step


@schedule_step("linalg-ext-lower-subsets", whole=True)
def lower_subsets(module: ir.Operation) -> list[ir.Operation]:
    """Put `scf.forall`, `scf.for` and slices in the place of all of `gml_st`.

    Raises:
        LoweringError: a loop cannot be lowered.
    """
    tidy(module)
    lower_subset_loops.apply(module)
    return []
