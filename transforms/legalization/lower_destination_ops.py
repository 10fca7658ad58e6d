"""Lower the ops of `linalg_ext` that say where elements go, and their kin of `tensor`, in one walk.

before:
    %r = "linalg_ext.reverse"(%a, %o) {dimensions = array<i64: 0>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = tensor.bitcast %r : tensor<4xf32> to tensor<4xi32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (3 - i)>, affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) {
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
    } -> tensor<4xf32>
    %b = arith.bitcast %r : tensor<4xf32> to tensor<4xi32>

Each op is lowered as the pass of its name says: `linalg-ext-lower-concatenate` and so on, which do
one kind alone.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import builds_of, replace_all
from linalg_ext.transforms.sorting.lower_sort import lower_sort

from .lower_concatenate import lower_concatenate
from .lower_dynamic_broadcast import lower_dynamic_broadcast
from .lower_gather import lower_gather
from .lower_gather_scatter import lower_gather_scatter
from .lower_reverse import lower_reverse
from .lower_scan import lower_scan
from .lower_scatter import lower_scatter
from .lower_tensor_bitcast import lower_tensor_bitcast

NAME = "linalg-ext-lower-destination-ops"

_BUILDS = builds_of(
    lower_concatenate,
    lower_dynamic_broadcast,
    lower_gather,
    lower_gather_scatter,
    lower_reverse,
    lower_scan,
    lower_scatter,
    lower_sort,
    lower_tensor_bitcast,
)


@module_pass(NAME, on=tuple(_BUILDS))
def lower_destination_ops(module: ir.Operation) -> Report:
    """Lower all ops that move elements: concatenate, reverse, gather, scatter, scan, sort, ..."""
    return replace_all(NAME, module, _BUILDS)
