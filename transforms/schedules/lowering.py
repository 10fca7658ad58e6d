"""Steps that lower structured ops to loops or calls, and vectors to instructions."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.executable.libraries import in_force
from linalg_ext.transforms.ir_utils.walking import enclosing, select
from linalg_ext.transforms.rewrites.library_choice import Chosen, asked_names, choose
from linalg_ext.transforms.rewrites.library_functions import replace_by_call

from ._checks import check_buffers, check_choice, check_maps, refusal
from ._run_alone import run_alone
from .step import ANY, FUNCTIONS, Script, line, schedule_step

_PASSES = {
    "affine": "convert-linalg-to-affine-loops",
    "parallel": "convert-linalg-to-parallel-loops",
}
_LOOPS = frozenset({"affine.for", "scf.for", "scf.parallel"})


@schedule_step("linalg-ext-lower-to-loops")
def lower_to_loops(op: ir.Operation, *, kind: str = "scf") -> Script | list[ir.Operation]:
    """Put loops, loads, the op's scalar body and stores in its place.

    before:
        linalg.abs ins(%a : memref<8xf32>) outs(%c : memref<8xf32>)
    after `match("abs").lower_to_loops()`:
        %c0 = arith.constant 0 : index
        %c8 = arith.constant 8 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %c8 step %c1 {
          %0 = affine.apply affine_map<(d0) -> (d0)>(%i)
          %1 = memref.load %a[%0] : memref<8xf32>
          %2 = math.absf %1 : f32
          %3 = affine.apply affine_map<(d0) -> (d0)>(%i)
          memref.store %2, %c[%3] : memref<8xf32>
        }

    Source: "Lower to Loops (Affine, Generic, and Parallel)" of MLIR's linalg document;
    `transform.structured.convert_to_loops`, `convert-linalg-to-affine-loops` and
    `convert-linalg-to-parallel-loops`.

    Args:
        op: a structured op on buffers.
        kind: "scf", "affine", or "parallel": parallel loops outside, reductions inside.

    Raises:
        ScheduleError: the op is on tensors, which loops cannot write to.
    """
    check_maps(op, "lower_to_loops")
    check_choice(op, "kind", kind, ("scf", *_PASSES))
    check_buffers(op, "lower_to_loops")
    if kind == "scf":
        return Script(line("%loops", "structured.convert_to_loops %target"), focus="%loops")
    replacement = run_alone(op, _PASSES[kind])
    return [loop for top in replacement for loop in select(top, lambda e: e.name in _LOOPS)]


_CONTRACTIONS = ("outerproduct", "dot", "parallelarith")


@schedule_step("linalg-ext-lower-vectors", whole=True)
def lower_vectors(module: ir.Operation, *, contraction: str = "outerproduct") -> Script:
    """Lower `vector.contract`, `vector.multi_reduction` and `vector.transpose`.

    before:
        %r = vector.contract {
            indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                             affine_map<(m, n, k) -> (m, n)>],
            iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>
        } %a, %b, %c : vector<2x2xf32>, vector<2x4xf32> into vector<2x4xf32>
    after `lower_vectors("dot").simplify()`:
        %0 = ub.poison : vector<4xf32>
        %1 = vector.shape_cast %a : vector<2x2xf32> to vector<4xf32>
        %2 = vector.shuffle %1, %0 [0, 2, 1, 3] : vector<4xf32>, vector<4xf32>
        %3 = vector.shape_cast %2 : vector<4xf32> to vector<2x2xf32>
        %4 = vector.extract %3[0] : vector<2xf32> from vector<2x2xf32>
        %5 = vector.extract %b[0] : vector<4xf32> from vector<2x4xf32>
        %6 = vector.outerproduct %4, %5, %c {kind = #vector.kind<add>}
            : vector<2xf32>, vector<4xf32>
        %7 = vector.extract %3[1] : vector<2xf32> from vector<2x2xf32>
        %8 = vector.extract %b[1] : vector<4xf32> from vector<2x4xf32>
        %r = vector.outerproduct %7, %8, %6 {kind = #vector.kind<add>}
            : vector<2xf32>, vector<4xf32>

    Source: "Lower to Library Calls or Special Instructions, Intrinsics or ISA" of MLIR's linalg
    document; `transform.apply_patterns.vector.*`.

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


@schedule_step("linalg-ext-call-library")
def call_library(op: ir.Operation) -> list[ir.Operation]:
    """Replace an op by a call of the library in force.

    before:
        %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
            outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
    after `match("matmul").call_library()`, where OpenBLAS is in force:
        %r = call @lx.library.call0.stub(%a, %b, %c)
            : (tensor<8x16xf32>, tensor<16x12xf32>, tensor<8x12xf32>) -> tensor<8x12xf32>

    Source: "Lower to Library Calls or Special Instructions, Intrinsics or ISA" of MLIR's linalg
    document. On all ops of a module: `call_libraries`.

    Raises:
        ScheduleError: no library is in force, or none has a function for the op.
    """
    check_maps(op, "call_library")
    libraries = in_force()
    if not libraries:
        raise refusal(
            op,
            "the step has no library to call",
            hint="take the step inside `with lx.library(...):`",
        )
    module: Any = enclosing(op, "builtin.module")
    choice = choose(op, libraries, asked_names(module))
    if not isinstance(choice, Chosen):
        raise refusal(
            op, f"the libraries have no function for this {op.name}: {choice or 'none fits'}"
        )
    replace_by_call(module, op, choice)
    return []
