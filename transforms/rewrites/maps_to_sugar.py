"""Replace indexing maps of `linalg_ext.elementwise` by sugar: the inverse of `sugar_to_maps`.

before:
    %r = linalg_ext.elementwise ins(%x : tensor<16xf32>, %y : tensor<64x16xf32>)
           outs(%o : tensor<16x64xf32>)
           indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1, d0)>,
                            affine_map<(d0, d1) -> (d0, d1)>] kind = add -> tensor<16x64xf32>
after:
    %r = linalg_ext.elementwise ins(%x : tensor<16xf32>, %y : tensor<64x16xf32>)
           outs(%o : tensor<16x64xf32>) kind = add broadcast_a = [1] permutation_b = [1, 0]
           -> tensor<16x64xf32>

Sugar expresses transposes and broadcasts; an op with another map (a diagonal) is left.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.definition.operand_maps import find_sugar
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.extension import ELEMENTWISE, MAPS, indexing_maps, operand_letters
from linalg_ext.symbolic.affine import AffineDim


@rewrite("linalg-ext-maps-to-sugar", on=(ELEMENTWISE,))
def maps_to_sugar(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Replace `indexing_maps` by the differences from the identity, operand by operand."""
    operation = op.operation
    if MAPS not in operation.attributes:
        return False
    maps = indexing_maps(operation)
    letters = operand_letters(len(maps))
    attributes: dict[str, ir.Attribute] = {}
    for letter, value, map in zip(letters, operation.operands, maps, strict=True):
        if not isinstance(value.type, ir.ShapedType):
            continue  # a scalar is read everywhere without a word
        sugar = find_sugar(tuple(AffineDim(dim) for dim in map.dims), map.results)
        if sugar is None:
            return MatchFailure("a map is neither a transpose nor a broadcast")
        if sugar.permutation:
            attributes[f"permutation_{letter}"] = ir.Attribute.parse(str(list(sugar.permutation)))
        if sugar.broadcast:
            attributes[f"broadcast_{letter}"] = ir.Attribute.parse(str(list(sugar.broadcast)))
    del operation.attributes[MAPS]
    for name, attribute in attributes.items():
        operation.attributes[name] = attribute
    return True
