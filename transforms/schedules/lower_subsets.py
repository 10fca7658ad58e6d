"""Lower loops over subsets to slices and scf loops, as steps after `tile_subsets` may need.

before:
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %r = gml_st.parallel (%i) = (%c0) to (%c8) step (%c4) {
      %in = gml_st.tile %a [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
      %x = gml_st.materialize %a[%in] : tensor<8xf32>[!gml_st.subset<4xf32>] to tensor<4xf32>
      %part = gml_st.tile %c [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
      %y = gml_st.materialize %c[%part] : tensor<8xf32>[!gml_st.subset<4xf32>] to tensor<4xf32>
      %e = linalg.exp ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
      %n = linalg.abs ins(%e : tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
      gml_st.set_yield %n into %c[%part]
        : tensor<4xf32> into tensor<8xf32>[!gml_st.subset<4xf32>]
    } : tensor<8xf32>
after `lower_subsets().simplify()`:
    %r = scf.forall (%i) = (0) to (8) step (4) shared_outs(%o = %c) -> (tensor<8xf32>) {
      %slice = tensor.extract_slice %a[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %slice_0 = tensor.extract_slice %o[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %1 = linalg.exp ins(%slice : tensor<4xf32>) outs(%slice_0 : tensor<4xf32>) -> tensor<4xf32>
      %2 = linalg.abs ins(%1 : tensor<4xf32>) outs(%slice_0 : tensor<4xf32>) -> tensor<4xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %2 into %o[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
      }
    }

On whole modules: `lower_subset_loops`, with what it does in IR.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.gml_st.cleanup import tidy
from linalg_ext.transforms.gml_st.lower_subset_loops import lower_subset_loops

from .step import schedule_step


@schedule_step("linalg-ext-lower-subsets", whole=True)
def lower_subsets(module: ir.Operation) -> list[ir.Operation]:
    """Put `scf.forall`, `scf.for` and slices in the place of all of `gml_st`.

    Raises:
        LoweringError: a loop cannot be lowered.
    """
    tidy(module)
    lower_subset_loops.apply(module)
    return []
