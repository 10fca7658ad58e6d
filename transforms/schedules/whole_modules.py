"""Steps about a module: fusion of neighbours, propagation of packs and cleaning up.

Source: `linalg-fuse-elementwise-ops`, `linalg-fold-unit-extent-dims`,
`transform.apply_patterns.linalg.data_layout_propagation`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, passmanager
from linalg_ext.transforms.lowering.keep_effects import keep_effects
from linalg_ext.transforms.lowering.release_effects import release_effects

from ._script import ANY, FUNCTIONS, Script
from ._step import Passes, schedule_step


@schedule_step("linalg-ext-fuse-elementwise", whole=True)
def fuse_elementwise(module: ir.Operation) -> list[ir.Operation]:
    """Fuse element-wise ops on tensors with those that read them."""
    manager = passmanager.PassManager("builtin.module")
    manager.add("func.func(linalg-generalize-named-ops,linalg-fuse-elementwise-ops),cse")
    keep_effects.apply(module)
    manager.run(module)
    release_effects.apply(module)
    return []


@schedule_step("linalg-ext-fold-unit-extents", whole=True)
def fold_unit_extents(module: ir.Operation) -> Passes:
    """Drop loops that run once, and the dimensions that go with them."""
    return Passes("func.func(linalg-fold-unit-extent-dims),canonicalize")


@schedule_step("linalg-ext-simplify", whole=True)
def simplify(module: ir.Operation) -> Passes:
    """Fold constants, drop what nobody uses and what is said twice."""
    return Passes("canonicalize,cse")


@schedule_step("linalg-ext-propagate-packs", whole=True)
def propagate_packs(module: ir.Operation) -> Script:
    """Move `linalg.pack` and `linalg.unpack` across element-wise ops, so that they meet and go."""
    return Script(
        (
            FUNCTIONS,
            "transform.apply_patterns to %functions {",
            "  transform.apply_patterns.linalg.data_layout_propagation",
            "  transform.apply_patterns.tensor.fold_into_pack_and_unpack",
            "  transform.apply_patterns.canonicalization",
            f"}} : {ANY}",
        )
    )
