"""Lower vector ops to ones that are instructions: products to multiply-adds, reductions to adds.

Source: "Lower to Library Calls or Special Instructions, Intrinsics or ISA" of MLIR's linalg
document; `transform.apply_patterns.vector.*`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_choice
from ._script import ANY, FUNCTIONS, Script
from ._step import schedule_step

_CONTRACTIONS = ("outerproduct", "dot", "parallelarith")


@schedule_step("linalg-ext-lower-vectors", whole=True)
def lower_vectors(module: ir.Operation, *, contraction: str = "outerproduct") -> Script:
    """Lower `vector.contract`, `vector.multi_reduction` and `vector.transpose`.

    Args:
        module: where all of them are lowered.
        contraction: "outerproduct" (multiply-adds of vectors), "dot" (sums of products) or
            "parallelarith" (element by element).

    Raises:
        ScheduleError: `contraction` is none of these.
    """
    check_choice(module, "contraction", contraction, _CONTRACTIONS)
    strategy = "" if contraction == "dot" else f" lowering_strategy = {contraction}"
    return Script(
        (
            FUNCTIONS,
            "transform.apply_patterns to %functions {",
            "  transform.apply_patterns.vector.reduction_to_contract",
            "  transform.apply_patterns.vector.transfer_permutation_patterns",
            # Products first: element by element, their sums would be lowered as plain reductions.
            f"}} : {ANY}",
            "transform.apply_patterns to %functions {",
            f"  transform.apply_patterns.vector.lower_contraction{strategy}",
            "  transform.apply_patterns.vector.reorder_multi_reduction_dims lowering_strategy = "
            "innerparallel",
            "  transform.apply_patterns.vector.multi_reduction_flattening lowering_strategy = "
            "innerparallel",
            "  transform.apply_patterns.vector.multi_reduction_unrolling lowering_strategy = "
            "innerparallel",
            "  transform.apply_patterns.vector.lower_transpose lowering_strategy = shuffle_1d",
            f"}} : {ANY}",
        )
    )
