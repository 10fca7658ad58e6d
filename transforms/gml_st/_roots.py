"""Subsets on IR once more, relative to their root: what composes and folds them shares."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext import gml_st
from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.gml_st.ir.op_views import (
    DropDimsView,
    PairView,
    PointView,
    TileView,
    TransposeDimsView,
)
from linalg_ext.gml_st.ir.roots import called, root_of
from linalg_ext.gml_st.ir.sets_of_values import ToNumber, subset_of
from linalg_ext.gml_st.ir.types import is_container, subset_shape
from linalg_ext.structured.indices import Emitter
from linalg_ext.structured.mixed import Index, Size
from linalg_ext.structured.operands import producer
from linalg_ext.symbolic.index_sets import Point, Tile, as_tile, full
from linalg_ext.symbolic.integers import Number


def is_root(value: ir.Value) -> bool:
    """Return whether a superset is all there is: a tensor, a memref, a `gml_st.space`."""
    op = producer(value)
    return is_container(value.type) or (op is not None and op.name == "gml_st.space")


def set_at_root(
    set_: ir.Value, subset: Tile | Point, read: ToNumber, emitter: Emitter
) -> ir.Value | None:
    """A set as one op on its root, at the insertion point; None where types would not agree.

    Where no value stands for the root, as after `gml_st.drop_dims`, it becomes a `gml_st.space`.

    Args:
        subset: what the set names.
        read: what its numbers were read with.
    """
    root = root_of(set_)
    if root is None:
        sizes = _root_sizes(set_, read)
        root = gml_st.space(emitter.mixed(sizes))
        if subset == full(sizes) and root.type == set_.type:
            return root
    if isinstance(subset, Point):
        return gml_st.point(root, emitter.mixed(subset.indices))
    sizes_ = sizes_as_typed(subset.sizes, subset_shape(set_.type).sizes, emitter)
    offsets, strides = emitter.mixed(subset.offsets), emitter.mixed(subset.strides)
    made = gml_st.tile(root, offsets, sizes_, strides)
    return made if made.type == set_.type else None


def sizes_as_typed(sizes: Sequence[Number], typed: Sequence[Size], emitter: Emitter) -> list[Index]:
    """Sizes as a type has them: a value where it leaves one open, whatever is known of it."""
    return [
        emitter.value(number) if known is None else known
        for number, known in zip(sizes, typed, strict=True)
    ]


def _root_sizes(set_: ir.Value, read: ToNumber) -> list[Number]:
    """The sizes of the whole that a set is a part of."""
    root = root_of(set_)
    if root is not None:
        return list(as_tile(subset_of(root, read)).sizes)
    op = producer(set_)
    if op is None:
        raise ArgumentError(f"a set is {called(set_)}", expected="the result of an op of gml_st")
    match op.name:
        case "gml_st.drop_dims":
            drop = DropDimsView.of(op)
            sizes = _root_sizes(drop.set, read)
            return [sizes[dim] for dim in drop.remaining_dims]
        case "gml_st.transpose_dims":
            turned = TransposeDimsView.of(op)
            sizes = _root_sizes(turned.set, read)
            return [sizes[dim] for dim in turned.permutation]
        case "gml_st.tile":
            return _root_sizes(TileView.of(op).superset, read)
        case "gml_st.point":
            return _root_sizes(PointView.of(op).superset, read)
    return _root_sizes(PairView.of(op).first, read)


def is_known(subset: Tile | Point) -> bool:
    """Return whether all numbers of a subset are known."""
    tile = as_tile(subset)
    return all(isinstance(n, int) for n in (*tile.offsets, *tile.sizes, *tile.strides))
