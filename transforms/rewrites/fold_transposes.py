"""Fold transposes of operands into indexing maps.

before:
    %t = linalg.transpose ins(%a : tensor<8x5xf32>) outs(%e : tensor<5x8xf32>) permutation = [1, 0]
    %r = linalg.matmul ins(%t, %b : tensor<5x8xf32>, tensor<8x7xf32>)
                       outs(%c : tensor<5x7xf32>) -> tensor<5x7xf32>
after:
    %r = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>,
                                        affine_map<(d0, d1, d2) -> (d2, d1)>,
                                        affine_map<(d0, d1, d2) -> (d0, d1)>]
                       ins(%a, %b : tensor<8x5xf32>, tensor<8x7xf32>)
                       outs(%c : tensor<5x7xf32>) -> tensor<5x7xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Left, Rewriter, rewrite

_WITH_FREE_MAPS = ("linalg.matmul", "linalg.contract", "linalg.elementwise", "linalg.generic")


@rewrite("linalg-ext-fold-transposes", on=_WITH_FREE_MAPS)
def fold_transposes(op: ir.OpView, rewriter: Rewriter) -> bool | Left:
    """Fold `linalg.transpose` of an input into the indexing map of its user."""
    operation = op.operation
    if "indexing_maps" not in operation.attributes:
        return False
    maps = [ir.AffineMapAttr(attr).value for attr in ir.ArrayAttr(operation.attributes["indexing_maps"])]
    changed = False
    for index in range(len(operation.operands) - _output_count(operation)):
        transpose = operation.operands[index].owner
        if isinstance(transpose, ir.Block) or transpose.name != "linalg.transpose":
            continue
        if len(transpose.results) == 0:
            return Left("the transpose is on memrefs")
        permutation = list(ir.DenseI64ArrayAttr(transpose.attributes["permutation"]))
        maps[index] = _before_transpose(maps[index], permutation)
        operation.operands[index] = transpose.operands[0]
        changed = True
    if changed:
        attributes = [ir.AffineMapAttr.get(map) for map in maps]
        operation.attributes["indexing_maps"] = ir.ArrayAttr.get(attributes)
    return changed


def _output_count(operation: ir.Operation) -> int:
    """On tensors, each output has a result."""
    return len(operation.results)


def _before_transpose(map: ir.AffineMap, permutation: list[int]) -> ir.AffineMap:
    """The map to the source of a transpose, given the one to its result.

    Dimension `i` of the result is dimension `permutation[i]` of the source.
    """
    results: list[ir.AffineExpr] = list(map.results)
    source = list(results)
    for axis, origin in enumerate(permutation):
        source[origin] = results[axis]
    return ir.AffineMap.get(map.n_dims, map.n_symbols, source)
