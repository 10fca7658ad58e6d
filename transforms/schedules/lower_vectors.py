"""Lower vector ops to ones that are instructions: products to multiply-adds, reductions to adds.

before:
    %r = vector.contract {
        indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                         affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>
    } %a, %b, %c : vector<2x3xf32>, vector<3x4xf32> into vector<2x4xf32>
after `lower_vectors("dot").simplify()`:
    %0 = ub.poison : vector<6xf32>
    %1 = vector.shape_cast %a : vector<2x3xf32> to vector<6xf32>
    %2 = vector.shuffle %1, %0 [0, 3, 1, 4, 2, 5] : vector<6xf32>, vector<6xf32>
    %3 = vector.shape_cast %2 : vector<6xf32> to vector<3x2xf32>
    %4 = vector.extract %3[0] : vector<2xf32> from vector<3x2xf32>
    %5 = vector.extract %b[0] : vector<4xf32> from vector<3x4xf32>
    %6 = vector.outerproduct %4, %5, %c {kind = #vector.kind<add>} : vector<2xf32>, vector<4xf32>
    %7 = vector.extract %3[1] : vector<2xf32> from vector<3x2xf32>
    %8 = vector.extract %b[1] : vector<4xf32> from vector<3x4xf32>
    %9 = vector.outerproduct %7, %8, %6 {kind = #vector.kind<add>} : vector<2xf32>, vector<4xf32>
    %10 = vector.extract %3[2] : vector<2xf32> from vector<3x2xf32>
    %11 = vector.extract %b[2] : vector<4xf32> from vector<3x4xf32>
    %r = vector.outerproduct %10, %11, %9 {kind = #vector.kind<add>}
        : vector<2xf32>, vector<4xf32>

Source: "Lower to Library Calls or Special Instructions, Intrinsics or ISA" of MLIR's linalg
document; `transform.apply_patterns.vector.*`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_choice
from ._script import ANY, FUNCTIONS, Script
from .step import schedule_step

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
