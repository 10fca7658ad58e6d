"""Peel the last, shorter part off loops over subsets, so that all others are of one static size.

before:
    %r = "gml_st.parallel"(%c0, %c80, %c7) ({
    ^bb0(%i: index):
      %n = affine.min affine_map<(d0) -> (7, -d0 + 80)>(%i)
      %t = "gml_st.tile"(%x, %i, %n) ... -> !gml_st.subset<"?xf32">
      ...
after:
    %m = "gml_st.parallel"(%c0, %c77, %c7) ({
    ^bb0(%i: index):
      %t = "gml_st.tile"(%x, %i) ... -> !gml_st.subset<"7xf32">
      ...
    %r = "gml_st.parallel"(%c77, %c80, %c7) ({
    ^bb0(%i: index):
      %t = "gml_st.tile"(%x, %i, %n) ... -> !gml_st.subset<"?xf32">
      ...

The second loop begins with the results of the first. A loop whose step divides its range, or is 1,
stays one; so does one whose range is shorter than its step.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.op_views import (
    LOOPS,
    YIELDS,
    LoopView,
    MaterializeView,
    TileView,
)
from linalg_ext.dialects.gml_st.ir.types import subset_shape
from linalg_ext.dialects.gml_st.rules import Unserved
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.indices import IndexReader
from linalg_ext.structured.mixed import type_shape
from linalg_ext.structured.sizes import as_number, value_of
from linalg_ext.transforms.ir_utils.walking import operations, replace_op, select

from ._loops import cast, with_bounds, with_destinations
from .cleanup import erase_all_dead

NAME = "linalg-ext-peel-subset-loops"


@module_pass(NAME, on=LOOPS)
def peel_subset_loops(
    module: ir.Operation, *, dims: tuple[int, ...] = (), skip_partial: bool = True
) -> Report:
    """Peel the shorter last part off loops.

    Args:
        module: a module, or another op with regions.
        dims: the iterators, by place, that are peeled, in this order; all where none is said.
        skip_partial: leave the other iterators of a peeled part alone; else they are peeled too.

    Raises:
        ArgumentError: an iterator is negative.
    """
    if any(dim < 0 for dim in dims):
        raise ArgumentError(f"dims={list(dims)}", expected="iterators by place, from 0")
    report = Report(NAME)
    for loop in reversed(operations(module, LOOPS)):
        report.matched[loop.name] += 1
        name = loop.name
        try:
            changed = _peel(loop, list(dims or range(LoopView.of(loop).rank)), skip_partial)
        except Unserved as error:
            report.leave(name, error.reason)
            continue
        report.changed[name] += changed
    if report:
        erase_all_dead(module)
        pass_manager("any", module.context, "canonicalize,cse").run(module)
    return report


def _peel(loop: ir.Operation, dims: list[int], skip_partial: bool) -> bool:
    """Peel an iterator, then the later ones in both parts of the loop."""
    for number, dim in enumerate(dims):
        if dim >= LoopView.of(loop).rank or not _has_remainder(loop, dim):
            continue
        main, rest = _split(loop, dim)
        later = dims[number + 1 :]
        if later:
            _peel(main, later, skip_partial)
            if not skip_partial:
                _peel(rest, later, skip_partial)
        return True
    return False


def _has_remainder(loop: ir.Operation, dim: int) -> bool:
    view = LoopView.of(loop)
    if not len(loop.results):
        raise Unserved("the loop writes to memrefs")
    lower, upper, step = map(as_number, view.bounds[dim])
    length = upper - lower
    if not isinstance(step, int) or step <= 1:
        return False
    if isinstance(length, int):
        return length > step and length % step != 0
    return True


def _split(loop: ir.Operation, dim: int) -> tuple[ir.Operation, ir.Operation]:
    """Build a loop over the whole steps, and one over the remainder that takes its results."""
    view = LoopView.of(loop)
    lower, upper, step = map(as_number, view.bounds[dim])
    with loop.location, ir.InsertionPoint(loop):
        middle = value_of(lower + (upper - lower) // step * step)
        main = loop.clone().operation
    uppers = [middle if number == dim else bound for number, bound in enumerate(view.upper)]
    lowers = [middle if number == dim else bound for number, bound in enumerate(view.lower)]
    # The clone first: it has no users yet.
    main = with_bounds(main, LoopView.of(main).lower, uppers, view.outs)
    begun = list(main.results)
    if loop.name == "gml_st.parallel":
        try:
            with_destinations(view.terminator, begun)
        except Unserved:
            main.erase()
            raise
    rest = with_bounds(loop, lowers, LoopView.of(loop).upper, begun)
    make_sizes_static(main)
    make_sizes_static(rest)
    return main, rest


_COMPUTED = ("affine.", "arith.")


def make_sizes_static(root: ir.Operation) -> None:
    """Replace computed indices in the bodies of an op by constants if known.

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
                constant = integer_constant(ir.IndexType.get(), number)
            op.results[0].replace_all_uses_with(constant)
    for op in operations(root, ["gml_st.tile"]):
        _make_static(op, read)


def _make_static(op: ir.Operation, read: IndexReader) -> None:
    view = TileView.of(op)
    groups = [
        [number if isinstance(number := read(value), int) else value for value in group]
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
        part = cast(gml_st.materialize(view.source, set_), op.results[0].type)
    replace_op(op, part)


def _yield_static(op: ir.Operation, old: ir.Value, new: ir.Value) -> None:
    """Let a terminator write to the static set in the place of the open one."""
    loop = op.parent
    if loop is None or loop.operation.name not in LOOPS:
        return  # it ends the region of an accumulator, and yields no subset
    terminator = LoopView.of(loop.operation).terminator
    operands = list(op.operands)
    for number, (value, set_, accumulated) in enumerate(
        zip(terminator.sources, terminator.sets, terminator.accumulated, strict=True)
    ):
        if set_ != old or accumulated:
            continue
        shape = subset_shape(new.type).sizes
        element = ir.ShapedType(value.type).element_type
        type_ = ir.RankedTensorType.get(type_shape(shape), element)
        with op.location, ir.InsertionPoint(op):
            op.operands[number] = cast(value, type_)
        op.operands[len(operands) - len(terminator.sets) + number] = new
