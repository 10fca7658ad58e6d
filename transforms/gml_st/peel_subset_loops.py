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

The second loop begins with what the first one gave. A loop whose step divides its range, or is 1,
stays one; so does one whose range is shorter than its step.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.gml_st.ir.loop_views import ParallelView
from linalg_ext.gml_st.ir.op_views import LOOPS
from linalg_ext.gml_st.rules import Unserved
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.structured.sizes import as_number, value_of
from linalg_ext.transforms.ir_utils.walking import operations

from ._covering import view_of
from ._loops import with_bounds, with_destinations
from ._static_sizes import make_sizes_static
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
            changed = _peel(loop, list(dims or range(view_of(loop).rank)), skip_partial)
        except Unserved as error:
            report.leave(name, error.reason)
            continue
        report.changed[name] += changed
    if report:
        erase_all_dead(module)
        pass_manager("any", module.context, "canonicalize,cse").run(module)
    return report


def _peel(loop: ir.Operation, dims: list[int], skip_partial: bool) -> bool:
    """Peel iterators one after the other: the first one's parts, then what is left of them."""
    for place, dim in enumerate(dims):
        if dim >= view_of(loop).rank or not _has_remainder(loop, dim):
            continue
        main, rest = _split(loop, dim)
        later = dims[place + 1 :]
        if later:
            _peel(main, later, skip_partial)
            if not skip_partial:
                _peel(rest, later, skip_partial)
        return True
    return False


def _has_remainder(loop: ir.Operation, dim: int) -> bool:
    view = view_of(loop)
    if not len(loop.results):
        raise Unserved("the loop writes to memrefs")
    lower, upper, step = (as_number(each[dim]) for each in (view.lower, view.upper, view.step))
    length = upper - lower
    if not isinstance(step, int) or step <= 1:
        return False
    if isinstance(length, int):
        return length > step and length % step != 0
    return True


def _split(loop: ir.Operation, dim: int) -> tuple[ir.Operation, ir.Operation]:
    """A loop over the whole steps, and one over what is left, which begins with its results."""
    view = view_of(loop)
    lower, upper, step = (as_number(each[dim]) for each in (view.lower, view.upper, view.step))
    with loop.location, ir.InsertionPoint(loop):
        middle = value_of(lower + (upper - lower) // step * step)
        main = loop.clone().operation
    uppers = [middle if at == dim else each for at, each in enumerate(view.upper)]
    lowers = [middle if at == dim else each for at, each in enumerate(view.lower)]
    outs = [] if isinstance(view, ParallelView) else list(view.outs)
    # The clone first: it has no users yet.
    main = with_bounds(main, view_of(main).lower, uppers, outs)
    begun = list(main.results)
    if isinstance(view, ParallelView):
        try:
            with_destinations(view.terminator, begun)
        except Unserved:
            main.erase()
            raise
    rest = with_bounds(loop, lowers, view_of(loop).upper, begun)
    make_sizes_static(main)
    make_sizes_static(rest)
    return main, rest
