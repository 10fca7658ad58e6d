"""Tile ops into loops over subsets of their results.

before:
    %r = linalg.reduce {arith.addf} ins(%x : tensor<80x60xf32>) outs(%y : tensor<80xf32>)
         dimensions = [1]
after, with tile_sizes=[4]:
    %r = "gml_st.parallel"(%c0, %c80, %c4) ({
    ^bb0(%i: index):
      %xt = "gml_st.tile"(%x, %i) ... : (tensor<80x60xf32>, index) -> !gml_st.subset<"4x60xf32">
      %xs = "gml_st.materialize"(%x, %xt) ... -> tensor<4x60xf32>
      %yt = "gml_st.tile"(%y, %i) ... : (tensor<80xf32>, index) -> !gml_st.subset<"4xf32">
      %ys = "gml_st.materialize"(%y, %yt) ... -> tensor<4xf32>
      %s = linalg.reduce {arith.addf} ins(%xs : tensor<4x60xf32>) outs(%ys : tensor<4xf32>)
           dimensions = [1]
      "gml_st.set_yield"(%s, %y, %yt) ...
    }) ... -> tensor<80xf32>

Every op that a rule of `linalg_ext.gml_st.rules` serves can be tiled. The dimensions
are those of its domain: the iteration space of a structured op, the indices of the result of any
other. The last part of a dimension that a size does not divide is shorter.
"""

from __future__ import annotations

from collections.abc import Callable

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.executable.explanation import Told
from linalg_ext.gml_st.rules import Unserved, rule_of
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.target import current

from ._target_sizes import chosen_sizes
from .chosen_ops import name_of
from .op_tiling import Tiled, tile_op
from .tiling_request import Request, meant_ops

NAME = "linalg-ext-tile-into-subset-loops"


@module_pass(NAME)
def tile_into_subset_loops(
    module: ir.Operation,
    *,
    tile_sizes: tuple[tuple[int, ...], ...] = (),
    op: str = "",
    form: str = "parallel",
    points: bool = False,
    accumulate: bool = False,
    distribution: tuple[str, ...] = (),
) -> Report:
    """Tile ops into loops over subsets.

    Args:
        module: a module, or another op with regions.
        tile_sizes: the size of a part along each dimension, 0 where it is not cut, or such a list
            for each nest of loops, outermost first. Sizes chosen for the target's caches where
            nothing is given.
        op: the name (`linalg.matmul`) or the label (attribute `linalg_ext.label`) of the ops that
            are tiled; left out, those that give the results of functions.
        form: `parallel` (a `gml_st.parallel`, and a `gml_st.for` over reductions in it), `for` or
            `loop` (one `gml_st.loop`, with inputs that have arguments).
        points: give results element by element, on scalars where the op has such a form.
        accumulate: cut reductions in parallel too: partial results are put together by an
            accumulator.
        distribution: what runs the parallel iterators, as `block` or `thread`: a note on the loop.

    Raises:
        ArgumentError: sizes are negative or too many, or no op is so called.
    """
    request = Request.of(tile_sizes, op, form, points, accumulate, distribution)
    report = Report(NAME)
    for each in meant_ops(module, request):
        tile_one(each, request, report)
    return report


Then = Callable[[Tiled], None]
"""A callback on the loops of one nest, before the next one is made inside them."""


def tile_one(
    op: ir.Operation, request: Request, report: Report, then: Then = lambda tiled: None
) -> None:
    """Tile one op as a request says; where it is left the report says why."""
    name = op.name
    report.matched[name] += 1
    try:
        nest = request.tile_sizes or _for_target(op, report)
        _check_count(op, request, nest)
        inner: ir.Operation | None = op
        for level, sizes in enumerate(nest):
            if inner is None:
                break
            tiled = tile_op(inner, request.cut(sizes, is_last=level == len(nest) - 1))
            report.changed[name] += level == 0
            inner = tiled.inner
            then(tiled)
    except Unserved as error:
        report.leave(name, error.reason)


def _for_target(op: ir.Operation, report: Report) -> tuple[tuple[int, ...], ...]:
    target = current()
    sizes = chosen_sizes(rule_of(op), target)
    if not any(sizes):
        raise Unserved(f"the whole op fits in half of the second cache of {target.name}")
    tiles = " x ".join(str(size) if size else "all" for size in sizes)
    report.decisions.append(Told(name_of(op), (("tiles", tiles), ("target", target.name))))
    return (sizes,)


def _check_count(op: ir.Operation, request: Request, nest: tuple[tuple[int, ...], ...]) -> None:
    rank = rule_of(op).domain.rank
    for sizes in nest:
        if request.op and len(sizes) > rank:
            raise ArgumentError(
                f"{len(sizes)} tile sizes for {name_of(op)}, which has {rank} dimension(s)",
                where=str(op.location),
                expected=f"{rank} at most; a shorter list leaves the last ones whole",
            )
