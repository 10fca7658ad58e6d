"""Steps about a module: fusion of neighbours, propagation of packs and cleaning up.

Source: `linalg-ext-fuse-producers`, `linalg-fold-unit-extent-dims`,
`transform.apply_patterns.linalg.data_layout_propagation`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.transforms.fusion.fuse_producers import fuse_producers

from .step import ANY, FUNCTIONS, Script, schedule_step


@schedule_step("linalg-ext-fuse-elementwise", whole=True)
def fuse_elementwise(module: ir.Operation) -> str:
    """Fuse element-wise ops on tensors with those that read them.

    before:
        %e = linalg.exp ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
        %r = linalg.abs ins(%e : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
    after `fuse_elementwise()`:
        %0 = tensor.empty() : tensor<8xf32>
        %r = linalg.generic {
            indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
            iterator_types = ["parallel"]
        } ins(%a : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
        ^bb0(%in: f32, %out: f32):
          %2 = math.exp %in : f32
          %3 = math.absf %2 : f32
          linalg.yield %3 : f32
        } -> tensor<8xf32>
    """
    generalize = "func.func(linalg-generalize-named-ops)"
    pass_manager("builtin.module", module.context, generalize).run(module)
    fuse_producers.apply(module)
    return "canonicalize,cse"


@schedule_step("linalg-ext-fold-unit-extents", whole=True)
def fold_unit_extents(module: ir.Operation) -> str:
    """Drop loops that run once, and the dimensions that go with them.

    before:
        %r = linalg.generic {
            indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
            iterator_types = ["parallel", "parallel"]
        } ins(%a : tensor<1x8xf32>) outs(%c : tensor<1x8xf32>) {
        ^bb0(%in: f32, %out: f32):
          %0 = math.absf %in : f32
          linalg.yield %0 : f32
        } -> tensor<1x8xf32>
    after `fold_unit_extents()`:
        %collapsed = tensor.collapse_shape %a [[0, 1]] : tensor<1x8xf32> into tensor<8xf32>
        %collapsed_0 = tensor.collapse_shape %c [[0, 1]] : tensor<1x8xf32> into tensor<8xf32>
        %0 = linalg.generic {
            indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
            iterator_types = ["parallel"]
        } ins(%collapsed : tensor<8xf32>) outs(%collapsed_0 : tensor<8xf32>) {
        ^bb0(%in: f32, %out: f32):
          %1 = math.absf %in : f32
          linalg.yield %1 : f32
        } -> tensor<8xf32>
        %r = tensor.expand_shape %0 [[0, 1]] output_shape [1, 8]
            : tensor<8xf32> into tensor<1x8xf32>
    """
    return "func.func(linalg-fold-unit-extent-dims),canonicalize"


@schedule_step("linalg-ext-simplify", whole=True)
def simplify(module: ir.Operation) -> str:
    """Fold constants, and remove unused and repeated operations.

    before:
        %x = arith.addf %a, %a : f32
        %y = arith.addf %a, %a : f32
        %one = arith.constant 1.0 : f32
        %z = arith.mulf %y, %one : f32
        %r = arith.subf %x, %z : f32
    after `simplify()`:
        %0 = arith.addf %a, %a : f32
        %r = arith.subf %0, %0 : f32
    """
    return "canonicalize,cse"


@schedule_step("linalg-ext-propagate-packs", whole=True)
def propagate_packs(module: ir.Operation) -> Script:
    """Move `linalg.pack` and `linalg.unpack` across element-wise ops, so that they meet and go.

    before:
        %q = linalg.pack %a inner_dims_pos = [0] inner_tiles = [4] into %p
            : tensor<8xf32> -> tensor<2x4xf32>
        %u = linalg.unpack %q inner_dims_pos = [0] inner_tiles = [4] into %c
            : tensor<2x4xf32> -> tensor<8xf32>
        %r = linalg.abs ins(%u : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
    after `propagate_packs()`:
        %r = linalg.abs ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
    """
    return Script(
        FUNCTIONS,
        "transform.apply_patterns to %functions {",
        "  transform.apply_patterns.linalg.data_layout_propagation",
        "  transform.apply_patterns.tensor.fold_into_pack_and_unpack",
        "  transform.apply_patterns.canonicalization",
        f"}} : {ANY}",
    )
