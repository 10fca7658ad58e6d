"""Structured ops built again on parts: on other operands, by other maps, shifted, or scalar."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from linalg_ext.bindings import arith, ir, linalg
from linalg_ext.structured.extension import discardable_attributes, forget_memoized_maps
from linalg_ext.structured.maps import iterators_attribute, maps_attribute
from linalg_ext.structured.operands import copied_on, element_of, ops_where
from linalg_ext.structured.sizes import value_of
from linalg_ext.symbolic.affine import AffineMap
from linalg_ext.symbolic.index_sets import Point, Tile

_INDEX = "linalg.index"


def on_operands(
    op: ir.Operation, operands: Sequence[ir.Value], types: Sequence[ir.Type]
) -> ir.Operation:
    """The same op on other operands and with other result types, at the insertion point."""
    new = copied_on(op, operands)
    for result, type_ in zip(new.results, types, strict=True):
        result.set_type(type_)
    forget_memoized_maps(new)
    return new


def as_generic(
    op: ir.Operation,
    operands: Sequence[ir.Value],
    types: Sequence[ir.Type],
    maps: Sequence[AffineMap],
    iterators: Sequence[str],
    *,
    outputs: int | None = None,
    without: Collection[int] = (),
) -> ir.Operation:
    """A structured op of linalg as `linalg.generic`, on other operands and with other maps.

    Args:
        op: it is left as it is.
        operands: of the new op.
        types: of its results.
        maps: one for each operand.
        iterators: the kinds of its loops.
        outputs: how many of the operands are written; as many as there are results if left out.
        without: the inputs of `op` that the new one lacks; the body must not read them.
    """
    inputs = len(operands) - (len(types) if outputs is None else outputs)
    generic = linalg.GenericOp(
        result_tensors=list(types),
        inputs=list(operands[:inputs]),
        outputs=list(operands[inputs:]),
        indexing_maps=maps_attribute(maps),
        iterator_types=iterators_attribute(iterators),
    ).operation
    for name, attribute in discardable_attributes(op).items():
        generic.attributes[name] = attribute
    clone = op.clone().operation
    block = clone.regions[0].blocks[0]
    for position in sorted(without, reverse=True):
        block.erase_argument(position)
    # `linalg.map` has no argument for its destination.
    for value in operands[len(block.arguments) :]:
        block.add_argument(element_of(value), ir.Location.unknown())
    block.append_to(generic.regions[0])
    clone.erase()
    return generic


def reads_positions(op: ir.Operation) -> bool:
    """Return whether the body of a structured op asks where in the domain it is."""
    return any(True for region in op.regions for _ in _positions(region.blocks[0]))


def shift_positions(op: ir.Operation, part: Tile) -> None:
    """Let the body of an op on a part of the domain see the positions of the whole."""
    for index in list(_positions(op.regions[0].blocks[0])):
        dim = ir.IntegerAttr(index.attributes["dim"]).value
        ops = [view.operation for view in index.block.operations]
        with ir.InsertionPoint(ops[ops.index(index) + 1]):
            _shift(index.results[0], part, dim)


def _shift(position: ir.Value, part: Tile, dim: int) -> None:
    """Give the users of a position in a part the position in the whole, at the insertion point."""
    offset, stride = part.offset(dim), part.stride(dim)
    if offset == 0 and stride == 1:
        return
    scaled = position if stride == 1 else arith.MulIOp(position, value_of(stride)).result
    shifted = arith.AddIOp(scaled, value_of(offset)).result
    first_user = shifted if stride == 1 else scaled
    position.replace_all_uses_except(shifted, ir.OpResult(first_user).owner.operation)


def on_scalars(op: ir.Operation, scalars: Sequence[ir.Value], point: Point) -> list[ir.Value]:
    """The body of a structured op on one element of each operand, at the insertion point."""
    clone = op.clone().operation
    block = clone.regions[0].blocks[0]
    for argument, scalar in zip(block.arguments, scalars, strict=True):
        argument.replace_all_uses_with(scalar)
    for index in list(_positions(block)):
        dim = ir.IntegerAttr(index.attributes["dim"]).value
        with ir.InsertionPoint(clone):
            index.results[0].replace_all_uses_with(value_of(point.offset(dim)))
        index.erase()
    body = [view.operation for view in block.operations]
    results = list(body[-1].operands)
    for view in body[:-1]:
        view.move_before(clone)
    clone.erase()
    return results


def _positions(block: ir.Block) -> list[ir.Operation]:
    """The `linalg.index` ops in a body and in nested regions."""
    return [
        index
        for view in block.operations
        for index in ops_where(view.operation, lambda op: op.name == _INDEX)
    ]


def given_positions(op: ir.Operation, new: ir.Operation, part: Tile) -> None:
    """Give `new`, an op on a part, the body of `op`, whose arguments are positions in the whole."""
    clone = op.clone().operation
    block = clone.regions[0].blocks[0]
    block.append_to(new.regions[0])
    clone.erase()
    body = new.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(body):
        for dim, argument in enumerate(body.arguments):
            if list(argument.uses):
                _shift(argument, part, dim)
