"""By which indices the operands of an op are read where nothing is transposed nor broadcast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.definition.operand_maps import Indices
from linalg_ext.structured.extension import CONTRACT

MATMULS: Mapping[str, tuple[str, str, str]] = {
    "linalg.matmul": ("02", "21", "01"),
    "linalg.batch_matmul": ("013", "032", "012"),
    "linalg.batch_reduce_matmul": ("013", "032", "12"),
}
"""The dimensions that index the operands of matrix products without maps, by position."""


def plain_indices(
    op: ir.Operation, maps: Sequence[AffineMap], values: Sequence[ir.Value]
) -> list[Indices]:
    """The indices of each operand in the plain form of an op, over the dimensions of its maps.

    An operand keeps those that it has where they are no plain dimensions, each once; so do all
    operands of an op that slides windows, or that contracts more than two of them at once.

    Args:
        op: the op.
        maps: of its operands, the destinations last.
        values: the operands.
    """
    dims = tuple(AffineDim(dim) for dim in maps[0].dims)
    if op.name in MATMULS:
        return [tuple(dims[int(place)] for place in word) for word in MATMULS[op.name]]
    given = [map.results for map in maps]
    outputs = given[-max(len(op.results), 1) :]
    if all(_is_plain(indices) and len(indices) == len(dims) for indices in outputs):
        natural = dims if _asks_where_it_is(op) else outputs[0]
        # A generic has scalars for operands as a matter of course.
        return [
            natural if _is_plain(indices) and not _is_scalar_of_generic(op, value) else indices
            for indices, value in zip(given, values, strict=True)
        ]
    if not all(map(_is_plain, given)):
        return given
    if len(given) == 3 and len(outputs) == 1:
        a, b, c = given
        return _product(a, b, c, dims)
    if op.name == CONTRACT:
        return given
    return [tuple(sorted(indices, key=dims.index)) for indices in given]


def _is_scalar_of_generic(op: ir.Operation, value: ir.Value) -> bool:
    return op.name == "linalg.generic" and not isinstance(value.type, ir.ShapedType)


def _is_plain(indices: Indices) -> bool:
    return len(set(indices)) == len(indices) and all(isinstance(i, AffineDim) for i in indices)


def _product(a: Indices, b: Indices, c: Indices, dims: Indices) -> list[Indices]:
    """A contraction of two operands: batch, rows, contracted; batch, contracted, columns.

    The other dimensions, of one of them alone, come last.
    """
    batch = [d for d in c if d in a and d in b]
    rows = [d for d in c if d in a and d not in b]
    columns = [d for d in c if d in b and d not in a]
    contracted = [d for d in a if d in b and d not in c]
    known = {*batch, *rows, *columns, *contracted}
    lone = [d for d in dims if d not in known]
    orders = (
        (a, (*batch, *rows, *contracted, *lone)),
        (b, (*batch, *contracted, *columns, *lone)),
        (c, (*batch, *rows, *columns, *lone)),
    )
    return [tuple(d for d in order if d in operand) for operand, order in orders]


def _asks_where_it_is(op: ir.Operation) -> bool:
    """Return whether the body knows its place in the iteration space, whose order then is part of
    it.
    """
    if not len(op.regions):
        return False
    return any(inner.operation.name == "linalg.index" for inner in op.regions[0].blocks[0])
