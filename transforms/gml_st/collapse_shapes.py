"""Collapse the leading dimensions of structured ops into one, and keep some trailing ones.

before:
    %e = tensor.empty() : tensor<2x3x4xf32>
    %c = linalg.map {arith.addf} ins(%x, %y : tensor<2x3x4xf32>, tensor<2x3x4xf32>)
                                 outs(%e : tensor<2x3x4xf32>)
    %i = tensor.empty() : tensor<2x3xf32>
    %f = linalg.fill ins(%zero : f32) outs(%i : tensor<2x3xf32>) -> tensor<2x3xf32>
    %r = linalg.reduce {arith.addf} ins(%c : tensor<2x3x4xf32>) outs(%f : tensor<2x3xf32>)
         dimensions = [2]
after:
    %a = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
    %b = tensor.collapse_shape %y [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
    %e = tensor.empty() : tensor<6x4xf32>
    %c = linalg.map {arith.addf} ins(%a, %b : tensor<6x4xf32>, tensor<6x4xf32>)
                                 outs(%e : tensor<6x4xf32>)
    %i = tensor.empty() : tensor<6xf32>
    %f = linalg.fill ins(%zero : f32) outs(%i : tensor<6xf32>) -> tensor<6xf32>
    %s = linalg.reduce {arith.addf} ins(%c : tensor<6x4xf32>) outs(%f : tensor<6xf32>)
         dimensions = [1]
    %r = tensor.expand_shape %s [[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>

So with `retain-trailing-dims=1`: the last dimension is for vectors, all others are one loop. Of
`linalg.map`, `linalg.reduce`, `linalg.broadcast` and `linalg.fill`, and of any `linalg.generic`
whose maps allow it: each operand has all of the leading dimensions, one after the other, or none.
An op that mixes them (a reduction along one of two, a broadcast along one) is left, and so is one
that asks for its indices. The origin is `gml-collapse-shape` of tensorflow/mlir-hlo.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.dialects.gml_st.rules.bodies import reads_positions
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.maps import collapsed_tensor, groups_of
from linalg_ext.structured.operands import producer
from linalg_ext.structured.sizes import size_at

NAME = "linalg-ext-collapse-shapes"

_OPS = ("linalg.map", "linalg.reduce", "linalg.broadcast", "linalg.fill", "linalg.generic")


@rewrite(NAME, on=_OPS)
def collapse_shapes(
    op: ir.OpView, rewriter: Rewriter, *, retain_trailing_dims: int = 0
) -> bool | MatchFailure:
    """Make one dimension of all but the last ones of an op's iteration space."""
    if retain_trailing_dims < 0:
        raise ArgumentError(
            f"retain-trailing-dims is {retain_trailing_dims}", expected="0 or a positive number"
        )
    whole = op.operation
    attributes = linalg.get_indexing_maps(op)
    if attributes is None:
        return False
    all_maps = [ir.AffineMapAttr(map).value for map in attributes]
    maps, rank = [_dims(map) for map in all_maps], all_maps[0].n_dims
    count = rank - retain_trailing_dims
    if count < 2:
        return False
    reason = _reason_against(whole, maps, count)
    if reason is not None:
        return MatchFailure(reason)
    operands = list(whole.operands)
    groups = [_groups(dims, count) for dims in maps]
    collapsed = [
        _collapsed(value, group) if group else value
        for value, group in zip(operands, groups, strict=True)
    ]
    inits = operands[len(operands) - len(whole.results) :]
    rebuilt = _rebuilt(whole, collapsed, maps, count)
    results = [
        _expanded(result, init, group) if group else result
        for result, init, group in zip(rebuilt.results, inits, groups[-len(inits) :], strict=True)
    ]
    rewriter.replace_op(op, results)
    return True


Groups = list[list[int]]


def _dims(map: ir.AffineMap) -> list[int] | None:
    """Return the dimensions that an operand is indexed by; None where it is by something else."""
    if not all(isinstance(result, ir.AffineDimExpr) for result in map.results):
        return None
    return [ir.AffineDimExpr(result).position for result in map.results]


def _reason_against(op: ir.Operation, maps: Sequence[list[int] | None], count: int) -> str | None:
    if not all(isinstance(result.type, ir.RankedTensorType) for result in op.results):
        return "memory is collapsed where its strides allow it, which is not known here"
    if not len(op.results):
        return "the op works on memory"
    for dims in maps:
        if dims is None:
            return "an operand is indexed by more than dimensions"
        leading = [dim for dim in dims if dim < count]
        first = dims.index(0) if 0 in dims else 0
        if leading and dims[first : first + count] != list(range(count)):
            return "an operand has some of the leading dimensions, or has them in another order"
    kinds = {str(kind) for kind in _iterators(op, count)}
    if len(kinds) > 1:
        return "some of the leading dimensions are reduced"
    if reads_positions(op):
        return "the body reads its indices"
    return None


def _iterators(op: ir.Operation, count: int) -> list[str]:
    if op.name == "linalg.reduce":
        reduced = list(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
        return ["reduction" if dim in reduced else "parallel" for dim in range(count)]
    if op.name == "linalg.generic":
        return [str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])][:count]
    return ["parallel"]


def _groups(dims: list[int] | None, count: int) -> Groups:
    """Return the dimensions of an operand in groups that become one each; empty where all stay."""
    if not dims or 0 not in dims:
        return []
    first = dims.index(0)
    before, after = range(first), range(first + count, len(dims))
    return [
        *([axis] for axis in before),
        list(range(first, first + count)),
        *([axis] for axis in after),
    ]


def _collapsed(value: ir.Value, groups: Groups) -> ir.Value:
    """Return a tensor with fewer dimensions: one that is made so, or a view of one."""
    type_ = collapsed_tensor(value.type, groups)
    maker = producer(value)
    if maker is not None and maker.name == "tensor.empty":
        if type_.has_static_shape:
            return tensor.EmptyOp(list(type_.shape), type_.element_type).result
    elif maker is not None and maker.name == "tensor.expand_shape":
        source: ir.Value = maker.operands[0]
        if source.type == type_ and groups_of(maker) == groups:
            return source
    elif maker is not None and maker.name == "linalg.fill":
        below = _collapsed(maker.operands[1], groups)
        filled: ir.Value = linalg.fill(maker.operands[0], outs=[below])
        return filled
    return tensor.CollapseShapeOp(type_, value, groups).result


def _expanded(value: ir.Value, like: ir.Value, groups: Groups) -> ir.Value:
    """Return a result with all dimensions again, those of its output."""
    type_ = ir.RankedTensorType(like.type)
    sizes = [
        size_at([(like, dim)]) if type_.is_dynamic_dim(dim) else None for dim in range(type_.rank)
    ]
    dynamic = [size for size in sizes if isinstance(size, ir.Value)]
    return tensor.ExpandShapeOp(type_, value, groups, dynamic, list(type_.shape)).result


def _rebuilt(
    op: ir.Operation,
    operands: Sequence[ir.Value],
    maps: Sequence[list[int] | None],
    count: int,
) -> ir.Operation:
    """Return the same op on collapsed operands, with the body of the old one."""
    attributes: dict[str, Any] = {name: op.attributes[name] for name in op.attributes}
    if op.name == "linalg.generic":
        rank = len(ir.ArrayAttr(op.attributes["iterator_types"]))
        attributes["indexing_maps"] = _collapsed_maps(maps, count, rank)
        kinds = list(ir.ArrayAttr(op.attributes["iterator_types"]))
        attributes["iterator_types"] = ir.ArrayAttr.get([kinds[0], *kinds[count:]])
    elif "dimensions" in attributes:
        reduced = list(ir.DenseI64ArrayAttr(attributes["dimensions"]))
        collapsed_dims = [max(0, dim - count + 1) for dim in reduced]
        attributes["dimensions"] = ir.DenseI64ArrayAttr.get(sorted(set(collapsed_dims)))
    results = [value.type for value in operands[len(operands) - len(op.results) :]]
    new: ir.Operation = ir.Operation.create(
        op.name,
        results=results,
        operands=list(operands),
        attributes=attributes,
        regions=1,
    )
    op.regions[0].blocks[0].append_to(new.operation.regions[0])
    return new.operation


def _collapsed_maps(maps: Sequence[list[int] | None], count: int, rank: int) -> ir.ArrayAttr:
    """Return the maps over the leading dimension that is left, and those after it."""
    collapsed_maps = []
    for dims in maps:
        remaining = [max(0, dim - count + 1) for dim in dims or () if dim == 0 or dim >= count]
        results = [ir.AffineDimExpr.get(dim) for dim in remaining]
        collapsed_maps.append(ir.AffineMapAttr.get(ir.AffineMap.get(rank - count + 1, 0, results)))
    return ir.ArrayAttr.get(collapsed_maps)
