"""Upstream's ops that only move elements, or fold them: transpose, broadcast, fill, reduce.

They are told by lists of dimensions, or by a region, where the other named ops are told by nothing.
Each is found from the indexing maps and the body of a `linalg.generic`.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.scalar import Access
from linalg_ext.notations.affine_text import parse_affine_map
from linalg_ext.structured.recognition import RecognizedOp
from linalg_ext.structured.recognition.contraction_pairs import plain_dims


def build_rearrangement(recognized: RecognizedOp) -> ir.Operation | None:
    """Build `linalg.transpose` or `linalg.broadcast`, if that is what an op is; else None."""
    definition = recognized.definition
    values = (*recognized.inputs, *recognized.outputs)
    if len(values) != 2 or len({type(value.type) for value in values}) != 1:
        return None
    (assignment,) = definition.assignments
    read, written = assignment.value, plain_dims(assignment.target.indices)
    if not isinstance(read, Access) or read.operand != definition.inputs[0].name:
        return None
    source = plain_dims(read.indices)
    if source is None or written is None or not {*source} <= {*written}:
        return None
    if assignment.reduction is not None or len(written) != len(definition.dims):
        return None
    places = [written.index(dim) for dim in source]
    (value,), (init,) = recognized.inputs, recognized.outputs
    results = [init.type] if isinstance(init.type, ir.RankedTensorType) else []
    if len(source) == len(written):
        permutation = [places.index(axis) for axis in range(len(written))]
        op = linalg.TransposeOp(results, value, init, permutation).operation
    elif places == sorted(places):
        added = [axis for axis in range(len(written)) if axis not in places]
        op = linalg.BroadcastOp(results, value, init, added).operation
    else:
        return None  # both at once are two ops
    linalg.fill_builtin_region(op)
    return op


def filling_value(op: ir.Operation) -> ir.Value | None:
    """The number that a `linalg.generic` without inputs writes everywhere; None if it is another.

    It is a value from outside its body, or a constant of the body: the op that makes it is then
    built again at the current insertion point.
    """
    body = op.regions[0].blocks[0]
    yielded = body.operations[len(body.operations) - 1].operands
    if len(op.operands) != 1 or len(yielded) != 1:
        return None
    (target,) = _index_dims(op)
    if target is None or len(target) != len(_loops(op)) or True in _loops(op):
        return None
    value = yielded[0]
    owner = value.owner
    if isinstance(owner, ir.Block):
        return value if owner != body else None
    if owner.operation.block != body:
        return value
    if owner.operation.name != "arith.constant":
        return None
    return owner.operation.clone().operation.results[0]


def build_reduce(op: ir.Operation) -> ir.Operation | None:
    """Build `linalg.reduce` with the body of a `linalg.generic`, if it folds; else None.

    A fold reads its inputs, all of one shape, at every point, and its outputs at the points
    without the dimensions that it reduces.
    """
    count = len(op.operands) // 2
    dims = _index_dims(op)
    inputs, outputs = {*dims[:count]}, {*dims[count:]}
    if len(op.operands) != 2 * count or len(inputs) != 1 or len(outputs) != 1:
        return None
    if len({type(operand.type) for operand in op.operands}) != 1:
        return None
    (source,), (target,) = inputs, outputs
    if source is None or target is None or len(source) != len(_loops(op)):
        return None
    places = [source.index(dim) for dim in target]
    reduced = [axis for axis in range(len(source)) if axis not in places]
    said = [_loops(op)[int(dim.removeprefix("d"))] for dim in source]
    if not reduced or said != [axis in reduced for axis in range(len(source))]:
        return None
    if places != sorted(places) or not _can_be_copied(op):
        return None
    values = list(op.operands)
    inits = values[count:]
    results = [init.type for init in inits if isinstance(init.type, ir.RankedTensorType)]
    reduce = linalg.ReduceOp(results, values[:count], inits, reduced).operation
    _copy_body(op, reduce)
    return reduce


def _index_dims(op: ir.Operation) -> list[tuple[str, ...] | None]:
    """By which dimensions each operand is indexed; None where an index is no dimension."""
    maps = ir.ArrayAttr(op.attributes["indexing_maps"])
    return [plain_dims(parse_affine_map(str(map)).results) for map in maps]


def _loops(op: ir.Operation) -> list[bool]:
    """For each dimension of the iteration space, whether it is said to be a reduction."""
    return ["reduction" in str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]


def _can_be_copied(op: ir.Operation) -> bool:
    """Return whether the body is a list of ops that mean the same in another op."""
    body = [inner.operation for inner in op.regions[0].blocks[0]]
    return all(inner.name != "linalg.index" and not len(inner.regions) for inner in body)


def _copy_body(source: ir.Operation, target: ir.Operation) -> None:
    """Give an op without a body that of another, whose operands have the same element types."""
    old = source.regions[0].blocks[0]
    new = target.regions[0].blocks.append(*(argument.type for argument in old.arguments))
    known: dict[ir.Value, ir.Value] = dict(zip(old.arguments, new.arguments, strict=True))
    with ir.InsertionPoint(new):
        for inner in old.operations:
            copy = inner.operation.clone().operation
            _use(copy, known)
            known.update(zip(inner.operation.results, copy.results, strict=True))


def _use(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> None:
    operands: Sequence[ir.Value] = list(op.operands)
    for position, operand in enumerate(operands):
        if operand in known:
            op.operands[position] = known[operand]
