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

Every op that a rule of `linalg_ext.dialects.gml_st.rules` serves can be tiled. The dimensions
are those of its domain: the iteration space of a structured op, the indices of the result of any
other. The last part of a dimension that a size does not divide is shorter.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.rules import PARALLEL, Rule, Unserved, rule_of
from linalg_ext.errors import ArgumentError, LinalgExtError, counted
from linalg_ext.executable.explanation import ExplainedDecision
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.target import Target, current
from linalg_ext.transforms.analysis.buffers import element_bytes

from .op_tiling import Request, Tiled, name_of, requested_ops, tile_op

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
        distribution: the units that run the parallel iterators, as `block` or `thread`: a note on
            the loop.

    Raises:
        ArgumentError: sizes are negative or too many, or no op is so called.
    """
    request = Request.of(tile_sizes, op, form, points, accumulate, distribution)
    report = Report(NAME)
    for target in requested_ops(module, request):
        tile_one(target, request, report)
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
    rows = (("tiles", tiles), ("target", target.name))
    report.decisions.append(ExplainedDecision(name_of(op), rows))
    return (sizes,)


def _check_count(op: ir.Operation, request: Request, nest: tuple[tuple[int, ...], ...]) -> None:
    rank = rule_of(op).domain.rank
    for sizes in nest:
        if request.op and len(sizes) > rank:
            raise ArgumentError(
                f"{len(sizes)} tile sizes for {name_of(op)}, which has "
                f"{counted(rank, 'dimension')}",
                where=str(op.location),
                expected=f"{rank} at most; a shorter list leaves the last ones whole",
            )


_OPEN = 1024
"""The assumed value of a size that is known only at run time."""

_ROW = 64
"""Bytes that neighbours in memory are not cut below: a line of a cache."""


def chosen_sizes(rule: Rule, target: Target) -> tuple[int, ...]:
    """Return sizes for an op: halved, the dimension that saves most first, until a part fits.

    Half of the second cache, for the operands and results of a part together: producers that are
    fused later need room too. Reductions are cut last, since each cut of one reads the result
    again. A dimension that fits whole is not cut; where all of the op fits nothing is.

    Raises:
        Unserved: the rule cannot state the parts of the operands that a part needs.
    """
    domain = rule.domain
    sizes = [size if isinstance(size, int) else _OPEN for size in domain.sizes]
    budget = _second_cache(target) // 2
    whole = list(sizes)
    while _footprint(rule, sizes) > budget:
        shorter = [
            (domain.iterators[dim] != PARALLEL, _footprint(rule, _halved(sizes, dim)), dim)
            for dim in range(domain.rank)
            if dim not in domain.whole and sizes[dim] > _shortest(rule, dim)
        ]
        if not shorter:
            break
        _, _, dim = min(shorter)
        sizes = _halved(sizes, dim)
    return tuple(
        0 if size == all_ and isinstance(domain.sizes[dim], int) else size
        for dim, (size, all_) in enumerate(zip(sizes, whole, strict=True))
    )


def _halved(sizes: list[int], dim: int) -> list[int]:
    """Return the sizes, one of them reduced to the next power of two below."""
    power = 1 << max(0, (sizes[dim] - 1).bit_length() - 1)
    return [power if number == dim else size for number, size in enumerate(sizes)]


def _shortest(rule: Rule, dim: int) -> int:
    """Return the smallest size of a part along a dimension.

    The last dimension of the domain keeps a cache line of the result.
    """
    result = ir.ShapedType(rule.op.results[0].type)
    bytes_ = element_bytes(result.element_type)
    return max(1, _ROW // bytes_) if dim == rule.domain.rank - 1 else 1


def _footprint(rule: Rule, sizes: list[int]) -> int:
    """Return the bytes that a part at the origin reads and writes."""
    part = Tile((0,) * len(sizes), sizes)
    operands = list(rule.op.operands)
    parts = [
        (tile, operands[position].type)
        for position, tile in enumerate(rule.operand_parts(part))
        if tile is not None and position not in rule.destinations
    ]
    parts += [
        (rule.part_of_result(part, number), result.type)
        for number, result in enumerate(rule.op.results)
    ]
    return sum(
        math.prod(size if isinstance(size, int) else _OPEN for size in tile.sizes)
        * element_bytes(ir.ShapedType(type_).element_type)
        for tile, type_ in parts
    )


def _second_cache(target: Target) -> int:
    for level in (2, 1):
        try:
            return target.cache(level).size
        except LinalgExtError:
            continue
    raise Unserved(f"the target {target.name} has no cache to choose sizes for")
