"""Spell out the sugar of `linalg_ext.elementwise` as indexing maps.

before:
    %r = linalg_ext.elementwise ins(%x : tensor<16xf32>, %y : tensor<16x64xf32>)
           outs(%o : tensor<16x64xf32>) kind = add broadcast_a = [1] -> tensor<16x64xf32>
after:
    %r = linalg_ext.elementwise ins(%x : tensor<16xf32>, %y : tensor<16x64xf32>)
           outs(%o : tensor<16x64xf32>)
           indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>,
                            affine_map<(d0, d1) -> (d0, d1)>] kind = add -> tensor<16x64xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Rewriter, rewrite
from linalg_ext.structured.extension import ELEMENTWISE, MAPS, indexing_maps, sugar_attributes
from linalg_ext.structured.maps import maps_attribute


@rewrite("linalg-ext-sugar-to-maps", on=(ELEMENTWISE,))
def sugar_to_maps(op: ir.OpView, rewriter: Rewriter) -> bool:
    """Give an op `indexing_maps` for its sugar; where it says nothing, identities."""
    operation = op.operation
    if MAPS in operation.attributes:
        return False
    maps = indexing_maps(operation)
    for name in sugar_attributes(operation):
        del operation.attributes[name]
    operation.attributes[MAPS] = maps_attribute(maps)
    return True
