"""Lower the ops of `linalg_ext` on views to `memref.subview`.

before:
    %c0 = arith.constant 0 : index
    %p = "linalg_ext.tile"(%a, %i, %c0) {sizes = array<i64: 4, 20>}
           : (memref<10x20xf32>, index, index) -> memref<?x20xf32, strided<[20, 1], offset: ?>>
after:
    %c0 = arith.constant 0 : index
    %o = affine.min affine_map<(d0) -> (d0 * 4, 10)>(%i)
    %n = affine.min affine_map<(d0) -> (4, -d0 + 10)>(%o)
    %z = arith.constant 0 : index
    %e = arith.cmpi sle, %n, %z : index
    %b = arith.select %e, %z, %o : index
    %p = memref.subview %a[%b, 0] [%n, 20] [1, 1]
           : memref<10x20xf32> to memref<?x20xf32, strided<[20, 1], offset: ?>>

A slice is a subview that drops dimensions; a tile ends where its view does. Of an intersection, a
union and a difference the numbers are those of the subset algebra, relative to the nearest view
that both operands are rectangles of. An empty view begins at index 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from linalg_ext.analysis.numbers import Number, any_of, at_most, select
from linalg_ext.analysis.subsets import Tile
from linalg_ext.bindings import ir, memref
from linalg_ext.errors import ArgumentError, LoweringError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.subsets.emission import Emitter
from linalg_ext.structured.subsets.rules.sizes import mixed_attribute, with_dims
from linalg_ext.structured.views import ops
from linalg_ext.structured.views.placement import Placement, ViewReader, step_of
from linalg_ext.structured.views.types import view_type

from ._walk import operations, place

NAME = "linalg-ext-lower-views"


@module_pass(NAME, on=(*sorted(ops.VIEW_OPS), ops.RANGE))
def lower_views(module: ir.Operation) -> Report:
    """Lower slices, tiles and sets of views to subviews.

    Raises:
        LoweringError: two views are of different buffers, or what they have in common cannot be
            told before the run.
    """
    report = Report(NAME)
    for op in operations(module, ops.VIEW_OPS):
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        with _at(op):
            for result in op.results:
                found = step_of(result, ViewReader())
                if found is not None:
                    result.replace_all_uses_with(_subview(found, result.type))
        op.erase()
    for op in operations(module, [ops.RANGE]):
        report.matched[op.name] += 1
        if not any(True for _ in op.results[0].uses):
            report.changed[op.name] += 1
            op.erase()
    return report


def _subview(found: Placement, wanted: ir.Type) -> ir.Value:
    if list(found.dims) != sorted(found.dims):
        raise ArgumentError(
            f"the view has dimensions {found.dims} of what it is a view of",
            expected="ascending ones",
            cure="combine the views before they are transposed",
        )
    tile = _begun_at_0(found.tile)
    sizes = [size if isinstance(size, int) else None for size in tile.sizes]
    type_ = view_type(ir.MemRefType(found.base.type), tile, sizes, found.dims)
    emitter = Emitter()
    columns = [
        emitter.mixed([with_dims(number) for number in column])
        for column in (tile.offsets, tile.sizes, tile.strides)
    ]
    dynamic = [[each for each in column if not isinstance(each, int)] for column in columns]
    numbers: list[Any] = [*dynamic, *map(mixed_attribute, columns)]
    view: ir.Value = memref.SubViewOp(type_, found.base, *numbers).result
    return view if view.type == wanted else memref.CastOp(wanted, view).result


def _begun_at_0(tile: Tile) -> Tile:
    """A tile that begins at 0 where it is empty: upstream refuses an empty one at the end."""
    is_empty = any_of(*(at_most(size, 0) for size in tile.sizes))
    offsets: Sequence[Number] = [select(is_empty, 0, offset) for offset in tile.offsets]
    return Tile(offsets, tile.sizes, tile.strides)


@contextmanager
def _at(op: ir.Operation) -> Iterator[None]:
    """The location and the place of an op, for what is built and for errors."""
    try:
        with op.location, ir.InsertionPoint(op):
            yield
    except ArgumentError as error:
        raise LoweringError(
            error.what, where=place(op), expected=error.expected, cure=error.cure
        ) from error
