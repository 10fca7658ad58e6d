"""Conditions on the elements that a vector reads or writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, vector
from linalg_ext.transforms.ir_utils.arithmetic import Integers, index, like, negated
from linalg_ext.transforms.ir_utils.tensor_loops import as_index, mul, sub

from ._assertions import DYNAMIC, Bounds, mixed, operand_groups, places

_MOST_LANES = (1 << 31) - 1
"""Upstream compares lanes as integers of 32 bits."""


def check_vector(base: Any, at: Sequence[Any], value: Any, bounds: Bounds) -> None:
    """A scalar, or a vector of consecutive elements along the last dimensions.

    Args:
        base: the memref.
        at: where it begins.
        value: the type of what is read or written.
        bounds: gets what must hold.
    """
    lanes = [1] * len(at)
    if isinstance(value, ir.VectorType) and value != base.type.element_type:
        lanes[len(at) - value.rank :] = value.shape
    for axis, (start, count) in enumerate(zip(at, lanes, strict=True)):
        bounds.within(start, count, bounds.size(base, axis))


def check_affine(op: Any, bounds: Bounds) -> None:
    """`affine.load`, `store`, `vector_load` and `vector_store`: where its map says."""
    is_store = op.name in ("affine.store", "affine.vector_store")
    base, *operands = list(op.operands)[is_store:]
    value = op.operands[0] if is_store else op.results[0]
    at = places(ir.AffineMapAttr(op.attributes["map"]).value, operands)
    check_vector(base, at, value.type, bounds)


def check_load(op: Any, bounds: Bounds) -> None:
    """`vector.load`: consecutive elements."""
    base, *at = op.operands
    check_vector(base, at, op.results[0].type, bounds)


def check_store(op: Any, bounds: Bounds) -> None:
    """`vector.store`: consecutive elements."""
    value, base, *at = op.operands
    check_vector(base, at, value.type, bounds)


def check_transfer(op: Any, bounds: Bounds) -> None:
    """`vector.transfer_read` and `_write`: along dimensions that are said to be in bounds."""
    is_read = op.name == "vector.transfer_read"
    groups = operand_groups(op)
    (base,), at, mask = (groups[0], groups[1], groups[3]) if is_read else groups[1:4]
    shape = (op.results[0] if is_read else op.operands[0]).type.shape
    map_ = ir.AffineMapAttr(op.attributes["permutation_map"]).value
    said = [ir.BoolAttr(each).value for each in ir.ArrayAttr(op.attributes["in_bounds"])]
    lanes: dict[int, int] = {}
    for expr, count, is_inside in zip(map_.results, shape, said, strict=True):
        if isinstance(expr, ir.AffineDimExpr):
            # Lanes beyond the end are padded, or not written: only where it begins matters.
            lanes[expr.position] = count if is_inside else 0
    element = base.type.element_type
    if isinstance(element, ir.VectorType):
        lanes = {}
    limits = [bounds.size(base, axis) for axis in range(base.type.rank)]
    for axis, (start, limit) in enumerate(zip(at, limits, strict=True)):
        count = lanes.get(axis, 1)
        if count and not mask:
            bounds.within(start, count, limit)
        else:
            bounds.at_most(0, start)
            bounds.at_most(start, _MOST_LANES)
    if mask and map_.is_projected_permutation and not isinstance(element, ir.VectorType):
        _check_mask(mask[0], at, limits, lanes, map_, bounds)


def _check_mask(
    mask: Any, at: Sequence[Any], limits: Sequence[Any], lanes: Any, map_: Any, bounds: Bounds
) -> None:
    """Lanes that are chosen are in bounds, along dimensions that are said to be."""
    order = [e.position for e in map_.results if isinstance(e, ir.AffineDimExpr)]
    # A mask has the dimensions in the order of the memory.
    shape = list(mask.type.shape)
    axes = sorted(order)
    if len(axes) != len(shape):
        return
    left = [
        sub(limits[axis], at[axis]) if lanes[axis] else count
        for axis, count in zip(axes, shape, strict=True)
    ]
    _all_below(mask, left, bounds)


def _all_below(mask: Any, left: Sequence[Any], bounds: Bounds) -> None:
    """Lanes that a mask chooses are below counts, one for each dimension of it."""
    counts = [arith.maxsi(index(each), index(0)) for each in left]
    inside = vector.CreateMaskOp(mask.type, counts).result
    holds = arith.ori(inside, negated(mask))
    bounds.holds(_reduced("and", holds))


def check_masked(op: Any, bounds: Bounds) -> None:
    """`vector.maskedload` and `maskedstore`: the lanes that are chosen."""
    base, *outer, last, mask, _ = op.operands
    for axis, start in enumerate(outer):
        bounds.within(start, 1, bounds.size(base, axis))
    bounds.at_most(0, last)
    bounds.at_most(last, _MOST_LANES)
    _all_below(mask, [sub(bounds.size(base, len(outer)), last)], bounds)


def check_packed(op: Any, bounds: Bounds) -> None:
    """`vector.expandload` and `compressstore`: as many as are chosen."""
    base, *rest = op.operands
    *outer, last, mask, _ = rest
    for axis, start in enumerate(outer):
        bounds.within(start, 1, bounds.size(base, axis))
    wide = arith.extui(like(mask.type, ir.IntegerType.get_signless(64)), mask)
    count = as_index(_reduced("add", wide))
    bounds.within(last, count, bounds.size(base, len(outer)))


def check_gather(op: Any, bounds: Bounds) -> None:
    """`vector.gather` and `scatter`: the lanes that are chosen, from a place on."""
    base, *rest = op.operands
    at, (lanes, mask) = rest[: base.type.rank], rest[base.type.rank : base.type.rank + 2]
    steps = _steps(base, bounds)
    if steps is None:
        return
    limits = [bounds.size(base, axis) for axis in range(base.type.rank)]
    for start, limit in zip(at, limits, strict=True):
        bounds.within(start, 1, limit)
    start, last = index(0), index(0)
    for place, step, limit in zip(at, steps, limits, strict=True):
        start = arith.addi(start, arith.muli(index(place), index(step)))
        last = arith.addi(last, arith.muli(index(sub(limit, 1)), index(step)))
    positions = Integers(like(lanes.type, ir.IndexType.get()))
    found = lanes
    if lanes.type.element_type != ir.IndexType.get():
        found = arith.index_cast(positions.type, lanes)
    least = vector.BroadcastOp(positions.type, arith.subi(index(0), start)).result
    most = vector.BroadcastOp(positions.type, arith.subi(last, start)).result
    sle = arith.CmpIPredicate.sle
    inside = arith.andi(positions.compare(sle, least, found), positions.compare(sle, found, most))
    # Lanes that are not chosen may hold poison, which `ori` would hand on and `select` does not.
    bounds.holds(_reduced("and", arith.select(mask, inside, negated(mask))))


def _steps(base: Any, bounds: Bounds) -> list[Any] | None:
    """Return the stride of each dimension in elements; None where the layout hides it."""
    rank = base.type.rank
    if isinstance(base.type, ir.MemRefType):
        strides, _ = base.type.get_strides_and_offset()
        if DYNAMIC not in strides:
            return list(strides)
        if not base.type.affine_map.is_permutation:
            return None
    steps: list[Any] = [1] * rank
    for axis in reversed(range(rank - 1)):
        steps[axis] = mul(steps[axis + 1], bounds.size(base, axis + 1))
    return steps


def check_position(op: Any, bounds: Bounds) -> None:
    """`vector.extract` and `insert` at positions that are computed."""
    is_insertion = op.name == "vector.insert"
    _, *rest = op.operands
    whole = op.operands[int(is_insertion)]
    at = mixed(op, "static_position", rest[int(is_insertion) :])
    for place, count in zip(at, whole.type.shape, strict=False):
        bounds.within(place, 1, count)


def _reduced(kind: str, value: Any) -> Any:
    """All lanes of a vector of any rank, as one number."""
    element = value.type.element_type
    if value.type.rank != 1:
        flat = ir.VectorType.get([math.prod(value.type.shape)], element)
        value = vector.ShapeCastOp(flat, value).result
    attribute = ir.Attribute.parse(f"#vector.kind<{kind}>")
    return vector.ReductionOp(element, attribute, value).result
