"""Dimensions of one element that an op has only because another op's shape rules ask for them."""

from __future__ import annotations

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineMap
from linalg_ext.rewriting import Rewriter
from linalg_ext.structured.extension import carry_over
from linalg_ext.structured.maps import indexing_maps, is_valid, maps_attribute, split_operands

from ._destinations import reads_destination, rearranged, squeezed, unsqueezed
from ._folding import units_read_by_zero
from ._targets import with_maps
from ._views import is_unit

_BATCHED = ("linalg.batch_matmul", "linalg.batch_reduce_matmul")


def drop_batch_of_one(op: ir.Operation, rewriter: Rewriter) -> bool:
    """A batched matrix product of one matrix each is a matrix product."""
    if op.name not in _BATCHED or len(op.results) == 0:
        return False
    inputs, (output,) = split_operands(op)
    maps = indexing_maps(op)
    batch = AffineDim(maps[0].dims[0])
    axes = [map.results.index(batch) if batch in map.results else None for map in maps]
    values = [*inputs, output]
    held = [(value, axis) for value, axis in zip(values, axes, strict=True) if axis is not None]
    if not any(is_unit(value, axis) for value, axis in held):
        return False
    if not all(is_unit(value, axis) for value, axis in held):
        return False  # a dynamic size next to a static one: it is not known to be 1
    given = [
        v if axis is None else squeezed(v, [axis]) for v, axis in zip(inputs, axes, strict=False)
    ]
    destination = _squeezed_destination(op, output, [axes[-1]] if axes[-1] is not None else [])
    new = linalg.MatmulOp(
        [destination.type],
        given,
        [destination],
        indexing_maps=maps_attribute([_without_first(map) for map in maps]),
    ).operation
    if "cast" in op.attributes:
        new.attributes["cast"] = op.attributes["cast"]
    linalg.fill_builtin_region(new)
    if not is_valid(new):
        new.erase()
        return False
    carry_over(op, new)
    result = new.results[0]
    rewriter.replace_op(
        op, [result if axes[-1] is None else unsqueezed(result, output, [axes[-1]])]
    )
    return True


def _without_first(map: AffineMap) -> AffineMap:
    """The map over the iteration space without its first dimension."""
    first, *others = map.dims
    names = tuple(f"d{i}" for i in range(len(others)))
    renamed: dict[AffineExpr, AffineExpr | int] = {
        AffineDim(old): AffineDim(new) for old, new in zip(others, names, strict=True)
    }
    kept = (r.substitute(renamed) for r in map.results if r != AffineDim(first))
    return AffineMap(names, (), tuple(kept))


def drop_units_of_results(op: ir.Operation, rewriter: Rewriter) -> bool:
    """Have a generic write what it writes at the index 0 of a dimension of one without that."""
    if op.name != "linalg.generic" or len(op.results) == 0:
        return False
    inputs, outputs = split_operands(op)
    maps = indexing_maps(op)
    units = [
        units_read_by_zero(value, map.results)
        for value, map in zip(outputs, maps[len(inputs) :], strict=True)
    ]
    if not any(units):
        return False
    destinations = [
        _squeezed_destination(op, value, dropped, position) if dropped else value
        for position, (value, dropped) in enumerate(zip(outputs, units, strict=True))
    ]
    for position, dropped in enumerate(units, start=len(inputs)):
        kept = [r for axis, r in enumerate(maps[position].results) if axis not in dropped]
        maps[position] = AffineMap(maps[position].dims, (), tuple(kept))
    new = with_maps(op, inputs, destinations, maps)
    if new is None:
        return False
    results = [
        unsqueezed(result, value, dropped) if dropped else result
        for result, value, dropped in zip(new.results, outputs, units, strict=True)
    ]
    rewriter.replace_op(op, results)
    return True


def _squeezed_destination(
    op: ir.Operation, value: ir.Value, units: list[int], position: int = 0
) -> ir.Value:
    """A destination without some unit axes: made without them if possible, else reshaped."""
    if not units:
        return value
    rank = ir.ShapedType(value.type).rank
    kept = [axis for axis in range(rank) if axis not in units]
    made = rearranged(value, kept, is_read=reads_destination(op, position))
    return squeezed(value, units) if made is None else made
