"""An element-wise op behind a reshape goes before it: it can be an epilogue then."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.transforms.ir_utils.generics import generic_on_tensors, maps_of, parallel_loops
from linalg_ext.transforms.ir_utils.tensor_loops import inlined
from linalg_ext.transforms.ir_utils.walking import producer, replace_op


def expand_only_reader(collapsed: Any) -> None:
    """Have the only reader of a `tensor.collapse_shape` of its last two axes read what that reads.

    What it gives is collapsed instead. An op that is not element-wise on all of it stays.
    """
    users = [use.owner.operation for use in collapsed.uses]
    if len(users) != 1 or not _is_elementwise(users[0], collapsed):
        return
    reader, source = users[0], producer(collapsed).operands[0]
    rank = collapsed.type.rank
    with reader.location, ir.InsertionPoint(reader):
        operands = [
            source if value == collapsed else _expanded(value, map_, source.type)
            for value, map_ in zip(reader.operands, maps_of(reader), strict=True)
        ]
        maps = [_map(map_, rank) for map_ in maps_of(reader)]
        kinds = ["parallel"] * (rank + 1)
        new = generic_on_tensors(operands[:-1], operands[-1], ir.ArrayAttr.get(maps), kinds)
        body = reader.regions[0].blocks[0]
        block = new.regions[0].blocks.append(*(argument.type for argument in body.arguments))
        with ir.InsertionPoint(block):
            linalg.YieldOp(inlined(body, block.arguments))
        groups = [*([axis] for axis in range(rank - 1)), [rank - 1, rank]]
        result = tensor.collapse_shape(reader.results[0].type, new.results[0], groups)
    replace_op(reader, result)


def _is_elementwise(op: Any, read: Any) -> bool:
    """Return whether an op gives one element for each of what it reads, at the same place."""
    if op.name != "linalg.generic" or len(op.results) != 1 or not all(parallel_loops(op)):
        return False
    rank, maps = read.type.rank, maps_of(op)
    identity = ir.AffineMap.get_identity(rank)
    if maps[-1] != identity or not all(map_.is_projected_permutation for map_ in maps):
        return False
    if op.results[0].type.shape != read.type.shape or op.operands[len(maps) - 1] == read:
        return False
    if any(m != identity for v, m in zip(op.operands, maps, strict=True) if v == read):
        return False
    body = op.regions[0].blocks[0].operations
    return all(each.operation.name.startswith(("arith.", "math.")) for each in list(body)[:-1])


def _expanded(value: Any, map_: Any, type_: Any) -> Any:
    """An operand with its last loop's axis, if it has one, in two."""
    axes = [ir.AffineDimExpr(result).position for result in map_.results]
    last = map_.n_dims - 1
    if last not in axes:
        return value
    axis, width = axes.index(last), type_.shape[-1]
    shape = [*value.type.shape[:axis], value.type.shape[axis] // width, width]
    shape += value.type.shape[axis + 1 :]
    groups = [
        [each + (each > axis)] + ([each + 1] if each == axis else []) for each in range(len(axes))
    ]
    wanted = ir.RankedTensorType.get(shape, value.type.element_type)
    return tensor.expand_shape(wanted, value, groups, [], shape)


def _map(map_: Any, rank: int) -> ir.AffineMapAttr:
    """The map of an operand whose axis of the last loop became two."""
    results = []
    for result in map_.results:
        position = ir.AffineDimExpr(result).position
        results.append(ir.AffineExpr.get_dim(position))
        if position == rank - 1:
            results.append(ir.AffineExpr.get_dim(rank))
    return ir.AffineMapAttr.get(ir.AffineMap.get(rank + 1, 0, results))
