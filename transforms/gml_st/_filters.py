"""The elements of a `gml_st.filter`, one by one: read with zeros around them, and written.

Each row of the indices is checked when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linalg_ext.bindings import arith, cf, ir, linalg, memref, scf, tensor
from linalg_ext.errors import ArgumentTypeError
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.indices import Emitter
from linalg_ext.structured.outputs import size_at
from linalg_ext.symbolic.index_sets import Filter

Body = Callable[[Sequence[ir.Value], ir.Value], ir.Value]
"""A function from an index and the carried value to the next carried value."""

OUT_OF_BOUNDS = "an index of a gml_st.filter is out of bounds"


def gather_filtered(source: ir.Value, filter_: Filter) -> ir.Value:
    """A tensor like the source, with its elements at the indices and zeros elsewhere."""
    element = ir.ShapedType(source.type).element_type
    empty = tensor.EmptyOp(_sizes(source), element).result
    zeros: ir.Value = linalg.fill(number_constant(0, element), outs=[empty])

    def copied(index: Sequence[ir.Value], filled: ir.Value) -> ir.Value:
        return tensor.InsertOp(tensor.ExtractOp(source, index).result, filled, index).result

    return _over_rows(filter_, source, zeros, copied)


def scatter_filtered(value: ir.Value, destination: ir.Value, filter_: Filter) -> ir.Value:
    """The destination with the elements of the value at the indices; a memref is written to."""

    def extracted(index: Sequence[ir.Value]) -> ir.Value:
        is_memref = isinstance(value.type, ir.MemRefType)
        element: ir.Value = (memref.LoadOp if is_memref else tensor.ExtractOp)(value, index).result
        return element

    def inserted(index: Sequence[ir.Value], into: ir.Value) -> ir.Value:
        return tensor.InsertOp(extracted(index), into, index).result

    def stored(index: Sequence[ir.Value], into: ir.Value) -> ir.Value:
        memref.StoreOp(extracted(index), into, index)
        return into

    if isinstance(destination.type, ir.MemRefType):
        return _over_rows(filter_, destination, None, stored)
    return _over_rows(filter_, destination, destination, inserted)


def _over_rows(filter_: Filter, whole: ir.Value, carried: ir.Value | None, body: Body) -> ir.Value:
    """A loop over the indices around a body; its carried value, or `whole` if it has none."""
    indices = filter_.indices
    if not isinstance(indices, ir.Value):
        raise ArgumentTypeError(f"the indices of a filter are {indices!r}", expected="a value")
    emitter = Emitter()
    bounds = (emitter.value(0), _extent(indices, 0), emitter.value(1))
    loop = scf.ForOp(*bounds, [] if carried is None else [carried])
    with ir.InsertionPoint(loop.body):
        row = loop.induction_variable
        index = [_coordinate(indices, row, dim) for dim in range(ir.ShapedType(whole.type).rank)]
        for dim, coordinate in enumerate(index):
            _check(coordinate, _extent(whole, dim))
        result = body(index, whole if carried is None else loop.inner_iter_args[0])
        scf.YieldOp([] if carried is None else [result])
    return whole if carried is None else loop.results[0]


def _coordinate(indices: ir.Value, row: ir.Value, dim: int) -> ir.Value:
    is_flat = ir.ShapedType(indices.type).rank == 1
    where = [row] if is_flat else [row, Emitter().value(dim)]
    coordinate: ir.Value = tensor.ExtractOp(indices, where).result
    if not isinstance(coordinate.type, ir.IndexType):
        coordinate = arith.IndexCastOp(ir.IndexType.get(), coordinate).result
    return coordinate


def _check(coordinate: ir.Value, size: ir.Value) -> None:
    # Below nothing as an unsigned number is beyond everything.
    inside = arith.CmpIOp(arith.CmpIPredicate.ult, coordinate, size).result
    cf.AssertOp(inside, OUT_OF_BOUNDS)


def _extent(container: ir.Value, dim: int) -> ir.Value:
    size = size_at([(container, dim)])
    return size if isinstance(size, ir.Value) else Emitter().value(size or 0)


def _sizes(container: ir.Value) -> list[ir.Value | int]:
    rank = ir.ShapedType(container.type).rank
    sizes = (size_at([(container, dim)]) for dim in range(rank))
    return [size for size in sizes if size is not None]
