"""Reductions over loops one inside the other as one loop, before vectors are chosen.

before:
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                    iterator_types = ["reduction", "reduction"]}
        ins(%a : memref<30000x2xf32>) outs(%c : memref<f32>) {...}
after:
    %b = memref.collapse_shape %a [[0, 1]] : memref<30000x2xf32> into memref<60000xf32>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                    iterator_types = ["reduction"]}
        ins(%b : memref<60000xf32>) outs(%c : memref<f32>) {...}

The loops over vectors join such loops too, but not where the innermost is short, nor where the body
asks for its position: a position is that of the joined loop then, where it counts the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import affine, ir
from linalg_ext.notations.affine_text import affine_map
from linalg_ext.symbolic.affine import AffineDim, AffineSymbol, terms_of
from linalg_ext.transforms.ir_utils.generics import (
    loop_of,
    maps_of,
    parallel_loops,
    with_other_loops,
)
from linalg_ext.transforms.ir_utils.walking import operations, producer

from .loop_nests import SHORTEST, Access, Collapser, access_of, is_collapsible

_POSITION, _APPLY = "linalg.index", "affine.apply"


def flat_reduction(op: Any) -> Any:
    """Return a generic on buffers with loops that reduce as one, in the place of another.

    The op itself where its loops stay as they are.
    """
    for dim in reversed(range(len(parallel_loops(op)) - 1)):
        if _may_join(op, dim):
            return flat_reduction(_joined(op, dim))
    return op


def _may_join(op: Any, dim: int) -> bool:
    """Return whether loops `dim` and `dim + 1` may be one, and else stay two among vectors."""
    if any(parallel_loops(op)[dim : dim + 2]):
        return False
    accesses = [access for access in _accesses(op) if access is not None]
    extent = _extent(accesses, dim + 1)
    if extent is None or not all(
        isinstance(access, Access) and is_collapsible(access, dim) for access in accesses
    ):
        return False
    positions = [at for at in operations(op, {_POSITION}) if loop_of(at) in (dim, dim + 1)]
    readers = [use.owner.operation for at in positions for use in at.results[0].uses]
    if not positions:
        return extent < SHORTEST
    return all(_counts_elements(reader, dim, extent) for reader in readers)


def _accesses(op: Any) -> list[Access | str | None]:
    return [
        access_of(value, map_) if isinstance(value.type, ir.MemRefType) else None
        for value, map_ in zip(op.operands, maps_of(op), strict=True)
    ]


def _extent(accesses: Sequence[Any], dim: int) -> int | None:
    for access in accesses:
        if isinstance(access, Access) and dim in access.dims:
            axis = access.dims.index(dim)
            if not access.memref.type.is_dynamic_dim(axis):
                return int(access.memref.type.get_dim_size(axis))
    return None


def _counts_elements(reader: Any, dim: int, extent: int) -> bool:
    """Return whether a value grows by one step of loop `dim` as by `extent` of the next loop's."""
    factors = _factors(reader) if reader.name == _APPLY else None
    if factors is None:
        return False
    by_loop = _by_loop(reader, factors)
    return by_loop.get(dim, 0) == extent * by_loop.get(dim + 1, 0)


def _by_loop(apply: Any, factors: Sequence[int]) -> dict[int, int]:
    """Return the factor of the position of each loop in a sum."""
    by_loop: dict[int, int] = {}
    for operand, factor in zip(apply.operands, factors, strict=False):
        op = producer(operand)
        if op is not None and op.name == _POSITION:
            by_loop[loop_of(op)] = by_loop.get(loop_of(op), 0) + factor
    return by_loop


def _factors(apply: Any) -> list[int] | None:
    """Return the factor of each operand of a sum, then the constant; None if it is not a sum."""
    map_ = affine_map(ir.AffineMapAttr(apply.attributes["map"]).value)
    terms, constant = terms_of(map_.results[0])
    by_name = {
        term.name: factor
        for term, factor in terms.items()
        if isinstance(term, AffineDim | AffineSymbol)
    }
    if len(by_name) < len(terms):
        return None
    return [*(by_name.get(name, 0) for name in (*map_.dims, *map_.symbols)), constant]


def _joined(op: Any, dim: int) -> Any:
    """Return a generic in the place of another, with loops `dim` and `dim + 1` as one."""
    are_parallel = parallel_loops(op)
    with op.location, ir.InsertionPoint(op):
        collapser = Collapser(op)
        operands, maps = list(op.operands), []
        for number, access in enumerate(_accesses(op)):
            dims: tuple[int | None, ...] = ()
            if isinstance(access, Access):
                joined = collapser.joined(access, dim)
                operands[number], dims = joined.memref, joined.dims
            maps.append(_map_of(dims, len(are_parallel) - 1))
        new = with_other_loops(op, operands, maps, are_parallel[:dim] + are_parallel[dim + 1 :])
    op.regions[0].blocks[0].append_to(new.regions[0])
    _join_positions(new, dim)
    op.erase()
    return new


def _map_of(dims: Sequence[int | None], loops: int) -> Any:
    """Return an indexing map from the loop of each axis; for None the index is 0."""
    zero = ir.AffineExpr.get_constant(0)
    results = [zero if dim is None else ir.AffineExpr.get_dim(dim) for dim in dims]
    return ir.AffineMap.get(loops, 0, results)


def _join_positions(op: Any, dim: int) -> None:
    """Have the body of a generic count by the joined loop, which takes the place of the inner."""
    for apply in operations(op, {_APPLY}):
        if dim in _by_loop(apply, _factors(apply) or []):
            _leave_out(apply, dim)
    for position in operations(op, {_POSITION}):
        loop = loop_of(position)
        if loop == dim:
            position.erase()
        elif loop > dim:
            i64 = ir.IntegerType.get_signless(64)
            position.attributes["dim"] = ir.IntegerAttr.get(i64, loop - 1)


def _leave_out(apply: Any, dim: int) -> None:
    """Replace a sum by the same without the positions of a loop."""
    *factors, constant = _factors(apply) or [0]
    total: ir.AffineExpr = ir.AffineExpr.get_constant(constant)
    operands: list[Any] = []
    for operand, factor in zip(apply.operands, factors, strict=True):
        op = producer(operand)
        if op is None or op.name != _POSITION or loop_of(op) != dim:
            total = total + ir.AffineExpr.get_symbol(len(operands)) * factor
            operands.append(operand)
    with apply.location, ir.InsertionPoint(apply):
        new = affine.AffineApplyOp(ir.AffineMap.get(0, len(operands), [total]), operands)
    apply.results[0].replace_all_uses_with(new.result)
    apply.erase()
