"""Lower loops over subsets to slices and scf loops, as steps after `tile_subsets` may need.

before:
    %r = linalg.negf ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
after `match("negf").tile_subsets([4]).lower_subsets().simplify()`:
    %r = scf.forall (%i) = (0) to (8) step (4) shared_outs(%o = %c) -> (tensor<8xf32>) {
      %as = tensor.extract_slice %a[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %os = tensor.extract_slice %o[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %n = linalg.negf ins(%as : tensor<4xf32>) outs(%os : tensor<4xf32>) -> tensor<4xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %n into %o[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
      }
    }

Source: docs/gml_st.md. On whole modules, with more of what it does in IR: `lower_subset_loops`.
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
