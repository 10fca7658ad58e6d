"""Checks of the sizes of a structured op: its loops stay within all of its operands.

The extent of a loop is the size of each dimension that its variable alone indexes. Two sizes of one
loop are equal. A computed index, such as `d0 * 2 + d3` of a window, stays within its size. No check
depends on the trip counts: a loop that does not run has sizes, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linalg_ext.bindings import affine, arith, ir, scf
from linalg_ext.definition.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineMap,
    linear_terms,
)
from linalg_ext.structured.utils.maps import indexing_maps
from linalg_ext.structured.utils.operands import to_ir_map
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.tensor_loops import add, compare, mul, nest, sub

from ._assertions import Bounds, as_condition

_FEW = 1 << 16
"""The most places of an index that are checked one by one at compile time."""

_MOST = 1 << 62


def check_structured(op: Any, bounds: Bounds) -> None:
    """Check the sizes of an op with indexing maps."""
    check_maps(op.operands, indexing_maps(op), bounds)


def check_maps(operands: Sequence[Any], maps: Sequence[AffineMap], bounds: Bounds) -> None:
    """Check the sizes of operands with an indexing map for each."""
    loops: dict[str, tuple[Any, int, int]] = {}
    computed: list[tuple[int, int]] = []
    for number, (value, map_) in enumerate(zip(operands, maps, strict=True)):
        for axis, expr in enumerate(map_.results):
            if not isinstance(expr, AffineDim):
                computed.append((number, axis))
                continue
            size = bounds.size(value, axis)
            length, other, other_axis = loops.setdefault(expr.name, (size, number, axis))
            if length is not size and length != size:
                bounds.equal(
                    size,
                    length,
                    f"{_dimension(number, axis)} with dimension #{other_axis} of operand #{other}: "
                    "they are of one loop",
                )
    lengths = {dim: length for dim, (length, _, _) in loops.items()}
    for number, axis in computed:
        check_index(operands[number], number, axis, maps[number], lengths, bounds)


def _dimension(number: int, axis: int) -> str:
    return f"dimension #{axis} of input/output operand #{number} is incompatible"


def check_index(
    value: Any,
    number: int,
    axis: int,
    map_: AffineMap,
    lengths: Mapping[str, Any],
    bounds: Bounds,
) -> None:
    """An index that is computed of positions of loops stays within its size."""
    expr, size = map_.results[axis], bounds.size(value, axis)
    dims = [dim for dim in map_.dims if dim in expr.dims]
    taken = [lengths[dim] for dim in dims]
    if any(isinstance(length, int) and length == 0 for length in taken):
        return
    reason = f"{_dimension(number, axis)}: the index {expr} leaves it"
    is_exact = linear_terms(expr) is not None
    least, most = _span(expr, lengths)
    if all(isinstance(each, int) for each in (least, most, size)):
        if least >= 0 and most < size:
            return
        if is_exact:
            bounds.holds(False, reason)
            return
        places = [length for length in taken if isinstance(length, int)]
        if _count(places) <= _FEW:
            bounds.holds(all(0 <= at < size for at in _places(expr, dims, places)), reason)
            return
    inside: Any = True
    if not (isinstance(least, int) and least >= 0):
        inside = compare("sle", 0, least)
    below = compare("slt", most, size)
    inside = below if inside is True else arith.andi(inside, below)
    limit = _MOST // max(1, _weight(expr))
    for length in taken:
        if not isinstance(length, int):
            # No step of the computation is beyond 63 bits.
            inside = arith.andi(inside, compare("sle", length, limit))
            if is_exact:
                inside = arith.ori(inside, compare("eq", length, 0))
    bounds.holds(
        inside if is_exact else _every_place(inside, map_, axis, dims, taken, size), reason
    )


def _every_place(
    inside: Any,
    map_: AffineMap,
    axis: int,
    dims: Sequence[str],
    lengths: Sequence[Any],
    size: Any,
) -> Any:
    """True where the ends are inside; else every place is looked at, for some may not occur."""
    i1 = ir.IntegerType.get_signless(1)
    branch: Any = scf.IfOp(inside, [i1], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([as_condition(True)])

    def look(at: Sequence[Any], so_far: Sequence[Any]) -> Sequence[Any]:
        found = dict(zip(dims, at, strict=True))
        operands = [found.get(dim, index(0)) for dim in map_.dims]
        place = affine.AffineApplyOp(to_ir_map(map_).get_submap([axis]), operands).result
        fits = arith.andi(compare("sle", 0, place), compare("slt", place, size))
        return [arith.andi(so_far[0], fits)]

    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp(nest(lengths, [as_condition(True)], look))
    return branch.results[0]


def _places(expr: AffineExpr, dims: Sequence[str], lengths: Sequence[int]) -> Iterator[int]:
    """Every index that an expression computes."""
    names = [AffineDim(dim) for dim in dims]
    for at in itertools.product(*(range(length) for length in lengths)):
        yield expr.evaluate(dict(zip(names, at, strict=True)))


def _count(lengths: Sequence[int]) -> int:
    count = 1
    for length in lengths:
        count *= length
    return count


def _weight(expr: AffineExpr) -> int:
    """The sum of all factors and numbers of an expression: it grows no faster than by this."""
    if isinstance(expr, AffineConst):
        return abs(expr.value)
    if not isinstance(expr, AffineBinary):
        return 1
    left, right = _weight(expr.lhs), _weight(expr.rhs)
    return left * right if expr.kind is AffineKind.MUL else left + right


def _span(expr: AffineExpr, lengths: Mapping[str, Any]) -> tuple[Any, Any]:
    """The least and the greatest that an expression can be: numbers, or values."""
    if isinstance(expr, AffineConst):
        return expr.value, expr.value
    if isinstance(expr, AffineDim):
        return 0, sub(lengths[expr.name], 1)
    if not isinstance(expr, AffineBinary):
        raise TypeError(f"{expr} is a symbol, in a map without any")
    (least, most), by = _span(expr.lhs, lengths), _span(expr.rhs, lengths)
    (factor, _) = by
    match expr.kind:
        case AffineKind.ADD:
            return add(least, by[0]), add(most, by[1])
        case AffineKind.MUL:
            ends = mul(least, factor), mul(most, factor)
            return ends if factor >= 0 else ends[::-1]
        case AffineKind.CEILDIV:
            least, most = (add(end, factor - 1) for end in (least, most))
            return _divided(least, factor), _divided(most, factor)
    low, high = (_divided(end, factor) for end in (least, most))
    if expr.kind is AffineKind.FLOORDIV:
        return low, high
    return _remainders(least, most, low, high, factor)


def _divided(value: Any, by: int) -> Any:
    return value // by if isinstance(value, int) else arith.floordivsi(value, index(by))


def _remainders(least: Any, most: Any, low: Any, high: Any, by: int) -> tuple[Any, Any]:
    """Return the range of remainders of a range: all, unless no multiple lies in it."""
    ends = sub(least, mul(low, by)), sub(most, mul(high, by))
    if isinstance(low, int) and isinstance(high, int):
        return ends if low == high else (0, by - 1)
    same = compare("eq", low, high)
    return (
        arith.select(same, index(ends[0]), index(0)),
        arith.select(same, index(ends[1]), index(by - 1)),
    )
