"""Lower the ops of torch-mlir's dialect `tm_tensor` in one walk: scan, scatter, sort and topk.

before:
    %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true)
        ins(%u, %i : tensor<3xf32>, tensor<3x1xi32>) outs(%o : tensor<8xf32>) {
    ^bb0(%new: f32, %old: f32):
      tm_tensor.yield %new : f32
    } -> tensor<8xf32>
after:
    %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%all = %o) -> (tensor<8xf32>) {
      %n = tensor.extract %i[%k, %c0] : tensor<3x1xi32>
      %at = arith.index_cast %n : i32 to index
      %a = tensor.extract %u[%k] : tensor<3xf32>
      %next = tensor.insert %a into %all[%at] : tensor<8xf32>
      scf.yield %next : tensor<8xf32>
    }

Each op is lowered as the pass of its name says: `linalg-ext-lower-exported-scan` and so on, which
do one kind alone.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import builds_of, replace_all

from .lower_exported_scan import lower_exported_scan
from .lower_exported_scatter import lower_exported_scatter
from .lower_exported_sort import lower_exported_sort
from .lower_exported_top_k import lower_exported_top_k

NAME = "linalg-ext-lower-tm-tensor"

_BUILDS = builds_of(
    lower_exported_scan, lower_exported_scatter, lower_exported_sort, lower_exported_top_k
)


@module_pass(NAME, on=tuple(_BUILDS))
def lower_tm_tensor(module: ir.Operation) -> Report:
    """Lower tm_tensor's scan, scatter, sort and topk."""
    return replace_all(NAME, module, _BUILDS)
