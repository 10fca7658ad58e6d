"""The origin of a set: its root, its rank, and the values that its place depends on."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.gml_st.ir.op_views import (
    DropDimsView,
    FilterView,
    PointView,
    TransposeDimsView,
    operand_of,
)
from linalg_ext.gml_st.ir.types import is_container, is_element, subset_shape
from linalg_ext.structured.mixed import Size
from linalg_ext.structured.operands import producer


def called(value: ir.Value) -> str:
    """Return the description of a value for errors: its name is unknown while text is parsed."""
    op = producer(value)
    if op is None:
        return f"argument {ir.BlockArgument(value).arg_number} of the block"
    return f"the result of {op.name}"


def root_of(set_: ir.Value) -> ir.Value | None:
    """The tensor or memref that a set is of, or the result of `gml_st.space`.

    None where it is of a space that no value stands for (after `gml_st.drop_dims`, ...), or
    where the set comes from somewhere else.
    """
    # The bindings take a while to give the type of a set: it is asked for last.
    op = producer(set_)
    if op is not None and op.name in _OF_THE_SAME_ROOT:
        superset = operand_of(op, 0)
        return superset if is_container(superset.type) else root_of(superset)
    is_root = op is not None and op.name == "gml_st.space"
    return set_ if is_root or is_container(set_.type) else None


_OF_THE_SAME_ROOT = frozenset(
    f"gml_st.{name}"
    for name in ("full", "filter", "tile", "point", "intersection", "convex_union", "difference")
)
"""Ops that give sets of the root of their first operand."""


def root_sizes(set_: ir.Value) -> tuple[Size, ...] | None:
    """The sizes of the whole that a set is a part of, those that are known; None if none is.

    Those of a `gml_st.space` are numbers alone: a value is dynamic, as in a type.
    """
    root = root_of(set_)
    if root is not None:
        return subset_shape(root.type).sizes
    op = producer(set_)
    if op is None:
        return None
    if op.name == "gml_st.drop_dims":
        drop = DropDimsView.of(op)
        return _picked(root_sizes(drop.set), drop.remaining_dims)
    if op.name == "gml_st.transpose_dims":
        transposed = TransposeDimsView.of(op)
        return _picked(root_sizes(transposed.set), transposed.permutation)
    if op.name in ("gml_st.tile", "gml_st.point"):
        return root_sizes(op.operands[0])
    return None


def _picked(sizes: tuple[Size, ...] | None, dims: Sequence[int]) -> tuple[Size, ...] | None:
    return None if sizes is None else tuple(sizes[dim] for dim in dims)


def rank_of(set_: ir.Value) -> int | None:
    """The number of dimensions of a set; None for an element that comes from somewhere else."""
    if not is_element(set_.type):
        return subset_shape(set_.type).rank
    op = producer(set_)
    if op is None:
        return None
    match op.name:
        case "gml_st.point":
            return rank_of(PointView.of(op).superset)
        case "gml_st.drop_dims":
            return len(DropDimsView.of(op).remaining_dims)
        case "gml_st.transpose_dims":
            return len(TransposeDimsView.of(op).permutation)
    return None


def is_filter(set_: ir.Value) -> bool:
    """Return whether a set is one of `gml_st.filter`, whose elements are no rectangle."""
    op = producer(set_)
    return op is not None and op.name == "gml_st.filter"


def dependences(value: ir.Value, arguments: Sequence[ir.Value]) -> set[int]:
    """On which of some arguments of a block a value depends, by their positions.

    All of them where that cannot be told: behind an op with regions, an argument of a block inside,
    or another argument of the same block, whose elements an iteration may have changed.
    """
    if not arguments:
        return set()
    block = _home(arguments[0])
    found: set[int] = set()
    seen: set[ir.Value] = set()
    open_ = [value]
    while open_:
        one = open_.pop()
        if one in seen:
            continue
        seen.add(one)
        op = producer(one)
        if op is None:
            own = {at for at, argument in enumerate(arguments) if argument == one}
            if not own and _is_inside(_home(one), block):
                return set(range(len(arguments)))
            found |= own
        elif _is_inside(op.block, block):
            if len(op.regions):
                return set(range(len(arguments)))
            open_ += _read_operands(op)
    return found


_READ_SHAPES = ("gml_st.tile", "gml_st.point", "gml_st.full", "tensor.dim", "memref.dim")


def _read_operands(op: ir.Operation) -> list[ir.Value]:
    """The operands that what an op gives depends on: not those whose shape alone is read."""
    if op.name == "gml_st.filter":
        return [FilterView.of(op).indices]
    reads_shapes = op.name in _READ_SHAPES
    return [each for each in op.operands if not (reads_shapes and is_container(each.type))]


def is_defined_inside(value: ir.Value, block: ir.Block) -> bool:
    """Return whether a value is an argument of a block, or of one inside it, or made in one of
    these.
    """
    return _is_inside(_home(value), block)


def _home(value: ir.Value) -> ir.Block:
    """The block that a value is an argument of, or whose op makes it."""
    owner = value.owner
    return owner if isinstance(owner, ir.Block) else owner.operation.block


def _is_inside(inner: ir.Block, outer: ir.Block) -> bool:
    while inner != outer:
        owner = inner.owner
        if owner is None or owner.operation.name in ("builtin.module", "func.func"):
            return False
        inner = owner.operation.block
    return True
