"""An op on operands that are transposed and broadcast before it, instead of by its maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineMap
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.operand_maps import Indices, Sugar, find_sugar
from linalg_ext.errors import ArgumentError, RecognitionError
from linalg_ext.rewriting import MatchFailure
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured.extension import COMPUTE_TYPE, carry_over
from linalg_ext.structured.maps import (
    INDEXING_MAPS,
    indexing_maps,
    is_valid,
    rebuilt,
    split_operands,
)
from linalg_ext.structured.named_forms import build_named_form
from linalg_ext.structured.recognition import RecognizedOp, recognize

from ._destinations import broadcast, reads_destination, rearranged, size_of, transposed
from ._plain_maps import MATMULS, plain_indices
from ._targets import meaning_key

_known: dict[tuple[str, ...], tuple[OpDefinition, Mapping[str, str]] | None] = {}
_ELEMENTWISE = ("linalg.elementwise", extension_ops.ELEMENTWISE)


def unfolded(op: ir.Operation) -> list[ir.Value] | MatchFailure | None:
    """Return the results of an op with plain maps; None where its maps are plain already.

    All is built at the current insertion point.

    Raises:
        ArgumentError: an op of ours has attributes that are no maps.
    """
    inputs, outputs = split_operands(op)
    maps = indexing_maps(op)
    plain = plain_indices(op, maps, [*inputs, *outputs])
    given = [map.results for map in maps]
    sugars = [
        Sugar() if wanted == found else find_sugar(wanted, found) or Sugar()
        for wanted, found in zip(plain, given, strict=True)
    ]
    if not any(sugars):
        return None
    if not len(op.results):
        return MatchFailure("on memrefs a transpose would be a copy")
    extents = _extents([*inputs, *outputs], given)
    count = len(inputs)
    values = [
        _arranged(value, sugar, [extents[index] for index in indices])
        for value, sugar, indices in zip(inputs, sugars, plain, strict=False)
    ]
    if _only_moves(op) and values[0].type == op.results[0].type and not sugars[-1]:
        return values
    destinations = [
        _destination(op, i, [given[count + i].index(index) for index in plain[count + i]])
        if sugars[count + i]
        else value
        for i, value in enumerate(outputs)
    ]
    new = _built(op, values, destinations, _in_iteration_order(plain, maps[0].dims, count))
    if new is None:
        return MatchFailure("the op does not take its plain maps")
    return [
        transposed(result, [plain[i].index(index) for index in given[i]], like=outputs[i - count])
        if sugars[i]
        else result
        for i, result in enumerate(new.results, start=count)
    ]


def _extents(
    values: Sequence[ir.Value], indices: Sequence[Indices]
) -> dict[AffineExpr, tuple[ir.Value, int]]:
    """For each dimension an operand and an axis that have its size, a static one if there is."""
    found: dict[AffineExpr, tuple[ir.Value, int]] = {}
    for value, results in zip(values, indices, strict=True):
        for axis, index in enumerate(results):
            if not isinstance(index, AffineDim):
                continue
            shape = ir.ShapedType(value.type)
            if index not in found or not shape.is_dynamic_dim(axis):
                found[index] = (value, axis)
    return found


def _arranged(value: ir.Value, sugar: Sugar, extents: Sequence[tuple[ir.Value, int]]) -> ir.Value:
    """An operand transposed, then broadcast."""
    if sugar.permutation:
        value = transposed(value, sugar.permutation)
    if sugar.broadcast:
        value = broadcast(value, [size_of(*extent) for extent in extents], sugar.broadcast)
    return value


def _destination(op: ir.Operation, position: int, order: Sequence[int]) -> ir.Value:
    """A destination with its axes in another order: made so, if possible, else transposed."""
    value = split_operands(op)[1][position]
    made = rearranged(value, order, is_read=reads_destination(op, position))
    return transposed(value, order) if made is None else made


def _only_moves(op: ir.Operation) -> bool:
    """Return whether an op is a generic that yields its one input."""
    if op.name != "linalg.generic" or len(op.operands) != 2 or COMPUTE_TYPE in op.attributes:
        return False
    body = op.regions[0].blocks[0]
    yielded = body.operations[0].operation
    return yielded.name == "linalg.yield" and yielded.operands[0] == body.arguments[0]


def _in_iteration_order(
    plain: Sequence[Indices], dims: tuple[str, ...], inputs: int
) -> list[AffineMap]:
    """The maps, dimensions renamed where the result alone says in which order they come."""
    first = plain[inputs]
    if len(first) == len(dims) and all(indices == first for indices in plain):
        dims = tuple(index.name for index in first if isinstance(index, AffineDim))
    return [AffineMap(dims, (), indices) for indices in plain]


def _built(
    op: ir.Operation,
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    maps: Sequence[AffineMap],
) -> ir.Operation | None:
    """The op with plain maps, or the op without maps that means the same."""
    new = rebuilt(op, inputs, outputs, maps)
    if new is None:
        return None
    if op.name in MATMULS:
        del new.attributes[INDEXING_MAPS]
    if op.name not in _ELEMENTWISE:
        return new
    named = _named(new)
    if named is None:
        return new
    carry_over(new, named)
    new.erase()
    return named


def _named(op: ir.Operation) -> ir.Operation | None:
    """The named op that an element-wise op is; None if absent."""
    key = meaning_key(op)
    if key not in _known:
        try:
            found = recognize(op)
        except (ArgumentError, RecognitionError):
            _known[key] = None
        else:
            _known[key] = (found.definition, found.types)
    known = _known[key]
    if known is None:
        return None
    definition, types = known
    inputs, outputs = split_operands(op)
    named = build_named_form(RecognizedOp(definition, tuple(inputs), tuple(outputs), types))
    if named is None or is_valid(named):
        return named
    named.erase()
    return None
