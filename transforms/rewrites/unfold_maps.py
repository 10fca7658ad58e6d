"""Take transposes and broadcasts out of indexing maps, as ops of their own.

Afterwards each operand is indexed as in the op's plain form. A matrix product has no maps, and an
element-wise op no maps and its own name. A contraction of two operands has its batch, row and
column dimensions in the order of the result. Any other op has the dimensions of each operand in the
order of the iteration space. An operand is transposed first, then broadcast; a scalar fills a
tensor. `fold_into_maps` is the way back. A generic that only moves elements becomes the transposes
and broadcasts that it is. Indices that are not plain dimensions stay, and so do ops on memrefs,
where a transpose is a copy.

before:
    %r = linalg.elementwise kind = #linalg.elementwise_kind<add>
           indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>,
                            affine_map<(d0, d1) -> (d0, d1)>]
           ins(%a, %x : tensor<64x16xf32>, tensor<16xf32>)
           outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
after:
    %d = tensor.empty() : tensor<16x64xf32>
    %t = linalg.transpose ins(%a : tensor<64x16xf32>) outs(%d : tensor<16x64xf32>)
                          permutation = [1, 0]
    %e = tensor.empty() : tensor<16x64xf32>
    %s = linalg.broadcast ins(%x : tensor<16xf32>) outs(%e : tensor<16x64xf32>) dimensions = [1]
    %r = linalg.add ins(%t, %s : tensor<16x64xf32>, tensor<16x64xf32>)
                    outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linalg_ext.bindings import ir
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.operand_maps import Indices, Sugar, find_sugar
from linalg_ext.dialects.gml_st.rules.bodies import reads_positions
from linalg_ext.errors import ArgumentError, RecognitionError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured.extension import COMPUTE_TYPE, CONTRACT, carry_over
from linalg_ext.structured.maps import (
    INDEXING_MAPS,
    holds_maps,
    indexing_maps,
    is_valid,
    rebuilt,
    split_operands,
)
from linalg_ext.structured.named_forms import build_named_form
from linalg_ext.structured.recognition import RecognizedOp, recognize
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineMap

from ._arrangements import (
    broadcast,
    reads_destination,
    rearranged,
    size_of,
    transposed,
    yields_its_input,
)
from ._structured import LIBRARY_CALL, meaning_key


@rewrite("linalg-ext-unfold-maps", on=holds_maps)
def unfold_maps(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Take transposes and broadcasts out of an op's maps, as ops of their own."""
    if "library_call" in op.operation.attributes:
        return LIBRARY_CALL
    try:
        results = unfolded(op.operation)
    except ArgumentError as error:
        return MatchFailure(error.what)
    if results is None:
        return False
    if isinstance(results, MatchFailure):
        return results
    rewriter.replace_op(op, results)
    return True


_DEFINITIONS: dict[tuple[str, ...], tuple[OpDefinition, Mapping[str, str]] | None] = {}
_ELEMENTWISE = ("linalg.elementwise", extension_ops.ELEMENTWISE)


def unfolded(op: ir.Operation) -> list[ir.Value] | MatchFailure | None:
    """Return the results of an op with plain maps; None where its maps are plain already.

    All is built at the current insertion point.

    Raises:
        ArgumentError: an op of ours has attributes that are not maps.
    """
    inputs, outputs = split_operands(op)
    maps = indexing_maps(op)
    plain = plain_indices(op, maps, [*inputs, *outputs])
    original = [map.results for map in maps]
    sugars = [
        Sugar() if after == before else find_sugar(after, before) or Sugar()
        for after, before in zip(plain, original, strict=True)
    ]
    if not any(sugars):
        return None
    if not len(op.results):
        return MatchFailure("on memrefs a transpose would be a copy")
    extents = _extents([*inputs, *outputs], original)
    count = len(inputs)
    values = [
        _arranged(value, sugar, [extents[index] for index in indices])
        for value, sugar, indices in zip(inputs, sugars, plain, strict=False)
    ]
    if _only_moves(op) and values[0].type == op.results[0].type and not sugars[-1]:
        return values
    destinations = [
        _destination(op, i, [original[count + i].index(index) for index in plain[count + i]])
        if sugars[count + i]
        else value
        for i, value in enumerate(outputs)
    ]
    new = _built(op, values, destinations, _in_iteration_order(plain, maps[0].dims, count))
    if new is None:
        return MatchFailure("the op does not take its plain maps")
    return [
        transposed(
            result, [plain[i].index(index) for index in original[i]], like=outputs[i - count]
        )
        if sugars[i]
        else result
        for i, result in enumerate(new.results, start=count)
    ]


def _extents(
    values: Sequence[ir.Value], indices: Sequence[Indices]
) -> dict[AffineExpr, tuple[ir.Value, int]]:
    """Return for each dimension an operand and an axis of its size, a static one if possible."""
    extents: dict[AffineExpr, tuple[ir.Value, int]] = {}
    for value, results in zip(values, indices, strict=True):
        for axis, index in enumerate(results):
            if not isinstance(index, AffineDim):
                continue
            shape = ir.ShapedType(value.type)
            if index not in extents or not shape.is_dynamic_dim(axis):
                extents[index] = (value, axis)
    return extents


def _arranged(value: ir.Value, sugar: Sugar, extents: Sequence[tuple[ir.Value, int]]) -> ir.Value:
    if sugar.permutation:
        value = transposed(value, sugar.permutation)
    if sugar.broadcast:
        value = broadcast(value, [size_of(*extent) for extent in extents], sugar.broadcast)
    return value


def _destination(op: ir.Operation, position: int, order: Sequence[int]) -> ir.Value:
    """A destination with its axes in another order: made so, if possible, else transposed."""
    value = split_operands(op)[1][position]
    destination = rearranged(value, order, is_read=reads_destination(op, position))
    return transposed(value, order) if destination is None else destination


def _only_moves(op: ir.Operation) -> bool:
    is_plain = op.name == "linalg.generic" and COMPUTE_TYPE not in op.attributes
    return is_plain and yields_its_input(op)


def _in_iteration_order(
    plain: Sequence[Indices], dims: tuple[str, ...], inputs: int
) -> list[AffineMap]:
    """Return the maps, dimensions renamed where the result alone says in which order they come."""
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
    """Return the op with plain maps, or the op without maps that means the same."""
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
    key = meaning_key(op)
    if key not in _DEFINITIONS:
        try:
            recognized = recognize(op)
        except (ArgumentError, RecognitionError):
            _DEFINITIONS[key] = None
        else:
            _DEFINITIONS[key] = (recognized.definition, recognized.types)
    cached = _DEFINITIONS[key]
    if cached is None:
        return None
    definition, types = cached
    inputs, outputs = split_operands(op)
    named = build_named_form(RecognizedOp(definition, tuple(inputs), tuple(outputs), types))
    if named is None or is_valid(named):
        return named
    named.erase()
    return None


MATMULS: Mapping[str, tuple[str, str, str]] = {
    "linalg.matmul": ("02", "21", "01"),
    "linalg.batch_matmul": ("013", "032", "012"),
    "linalg.batch_reduce_matmul": ("013", "032", "12"),
}
"""The dimensions that index the operands of matrix products without maps, by position."""


def plain_indices(
    op: ir.Operation, maps: Sequence[AffineMap], values: Sequence[ir.Value]
) -> list[Indices]:
    """Return the indices of each operand in the plain form of an op, by its maps' dimensions.

    An operand keeps those that it has where they are not plain dimensions, each once; so do all
    operands of an op that slides windows, or that contracts more than two of them at once.

    Args:
        op: the op.
        maps: of its operands, the destinations last.
        values: the operands.
    """
    dims = tuple(AffineDim(dim) for dim in maps[0].dims)
    if op.name in MATMULS:
        return [tuple(dims[int(position)] for position in word) for word in MATMULS[op.name]]
    own = [map.results for map in maps]
    outputs = own[-max(len(op.results), 1) :]
    if all(_is_plain(indices) and len(indices) == len(dims) for indices in outputs):
        natural = dims if reads_positions(op) else outputs[0]
        # A generic has scalars for operands as a matter of course.
        may_be_scalar = op.name == "linalg.generic"
        return [
            natural
            if _is_plain(indices) and (not may_be_scalar or isinstance(value.type, ir.ShapedType))
            else indices
            for indices, value in zip(own, values, strict=True)
        ]
    if not all(map(_is_plain, own)):
        return own
    if len(own) == 3 and len(outputs) == 1:
        a, b, c = own
        return _product(a, b, c, dims)
    if op.name == CONTRACT:
        return own
    return [tuple(sorted(indices, key=dims.index)) for indices in own]


def _is_plain(indices: Indices) -> bool:
    return len(set(indices)) == len(indices) and all(isinstance(i, AffineDim) for i in indices)


def _product(a: Indices, b: Indices, c: Indices, dims: Indices) -> list[Indices]:
    """Return a contraction of two operands: batch, rows, contracted; batch, contracted, columns.

    The other dimensions, of one of them alone, come last.
    """
    batch = [d for d in c if d in a and d in b]
    rows = [d for d in c if d in a and d not in b]
    columns = [d for d in c if d in b and d not in a]
    contracted = [d for d in a if d in b and d not in c]
    classified = {*batch, *rows, *columns, *contracted}
    lone = [d for d in dims if d not in classified]
    orders = (
        (a, (*batch, *rows, *contracted, *lone)),
        (b, (*batch, *contracted, *columns, *lone)),
        (c, (*batch, *rows, *columns, *lone)),
    )
    return [tuple(d for d in order if d in operand) for operand, order in orders]
