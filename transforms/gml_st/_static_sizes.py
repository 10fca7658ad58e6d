"""Sizes that are known by now become static: of parts, and of what is computed of them."""

from __future__ import annotations

from linalg_ext import gml_st
from linalg_ext.bindings import ir, tensor
from linalg_ext.gml_st.ir.op_views import LOOPS, YIELDS, MaterializeView, TileView
from linalg_ext.gml_st.ir.types import subset_shape
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.indices import IndexReader
from linalg_ext.transforms.ir_utils.walking import operations, replace_op, select

from ._covering import view_of

_COMPUTED = ("affine.", "arith.")


def make_sizes_static(root: ir.Operation) -> None:
    """Numbers in the bodies of an op that can be one alone are that one.

    A part that has a static shape then is cast back to the type that its users know; upstream's
    canonicalization takes the shape further.
    """
    read = IndexReader()
    for op in select(root, lambda op: op.name.startswith(_COMPUTED) and len(op.results) == 1):
        if op.name == "arith.constant" or not isinstance(op.results[0].type, ir.IndexType):
            continue
        number = read(op.results[0])
        if isinstance(number, int):
            with op.location, ir.InsertionPoint(op):
                known = integer_constant(ir.IndexType.get(), number)
            op.results[0].replace_all_uses_with(known)
    for op in operations(root, ["gml_st.tile"]):
        _make_static(op, read)


def _make_static(op: ir.Operation, read: IndexReader) -> None:
    view = TileView.of(op)
    groups = [
        [number if isinstance(number := read(each), int) else each for each in group]
        for group in (view.offsets, view.sizes, view.strides)
    ]
    if groups == [list(view.offsets), list(view.sizes), list(view.strides)]:
        return
    with op.location, ir.InsertionPoint(op):
        new = gml_st.tile(view.superset, *groups)
    old = op.results[0]
    if new.type == old.type:
        old.replace_all_uses_with(new)
        return
    # A set of this set keeps to the one whose type it was made for.
    for user in [use.owner.operation for use in old.uses]:
        if user.name == "gml_st.materialize":
            _rematerialize(user, new)
        elif user.name in YIELDS:
            _yield_static(user, old, new)


def _rematerialize(op: ir.Operation, set_: ir.Value) -> None:
    view = MaterializeView.of(op)
    with op.location, ir.InsertionPoint(op):
        part = gml_st.materialize(view.source, set_)
        known = tensor.CastOp(op.results[0].type, part).result
    replace_op(op, known)


def _yield_static(op: ir.Operation, old: ir.Value, new: ir.Value) -> None:
    """Let a terminator write to the static set what it wrote to the open one."""
    loop = op.parent
    if loop is None or loop.operation.name not in LOOPS:
        return  # it ends the region of an accumulator, and yields no subset
    terminator = view_of(loop.operation).terminator
    operands = list(op.operands)
    for number, (value, set_, accumulated) in enumerate(
        zip(terminator.sources, terminator.sets, terminator.accumulated, strict=True)
    ):
        if set_ != old or accumulated:
            continue
        shape = subset_shape(new.type).sizes
        dynamic = ir.ShapedType.get_dynamic_size()
        type_ = ir.RankedTensorType.get(
            [dynamic if size is None else size for size in shape],
            ir.ShapedType(value.type).element_type,
        )
        with op.location, ir.InsertionPoint(op):
            known = tensor.CastOp(type_, value).result
        op.operands[number] = known
        op.operands[len(operands) - len(terminator.sets) + number] = new
