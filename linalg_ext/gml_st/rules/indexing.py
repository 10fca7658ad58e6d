"""An index expression over a part of its dimensions: the part of the operand, and what is left.

With `d = offset + stride * d'` an index `d * 2 + k` is a base plus an index into a part of the
operand that begins at that base. The op on the part then reads its operand by the latter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from linalg_ext.definition.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineMap,
)
from linalg_ext.gml_st.rules.protocol import Unserved
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number, ceildiv, floordiv, is_le, maximum, minimum, modulo


@dataclass(frozen=True)
class LocalIndex:
    """The index of one axis of an operand over a part of the domain.

    Attributes:
        offset, size, stride: the part of the operand along this axis.
        expr: the index into that part.
    """

    offset: Number
    size: Number
    stride: Number
    expr: AffineExpr


def local_map(map: AffineMap, part: Tile, *, may_change: bool) -> tuple[Tile, AffineMap]:
    """The part of an operand that a map reads over a part of the domain, and the map into it.

    Args:
        map: from the domain to the operand, without symbols.
        part: of the domain.
        may_change: whether the op can hold another map; else the map stays as it is if
            possible, though it may then read a longer part than it needs.

    Raises:
        Unserved: no map without symbols reads it so.
    """
    reader = _Reader(map.dims, part, may_change=may_change)
    found = [reader.index(expr) for expr in map.results]
    tile = Tile(
        [each.offset for each in found],
        [each.size for each in found],
        [each.stride for each in found],
    )
    return tile, AffineMap(map.dims, (), tuple(each.expr for each in found))


class _Reader:
    """The index expressions of one map over one part of the domain."""

    def __init__(self, dims: Sequence[str], part: Tile, *, may_change: bool) -> None:
        self.place = {name: position for position, name in enumerate(dims)}
        self.part = part
        self.may_change = may_change

    def index(self, expr: AffineExpr) -> LocalIndex:
        if isinstance(expr, AffineDim):
            at = self.place[expr.name]
            return LocalIndex(self.part.offset(at), self.part.size(at), self.part.stride(at), expr)
        common = self._common_stride(expr)
        base, local = self._split(expr, by=common)
        lowest, highest = self._range(local)
        if not isinstance(lowest, int):
            raise Unserved(f"the index {expr} runs backwards over a number of places that is open")
        base, local, stride = base + lowest * common, local - lowest, common
        if self.may_change and (factor := _common_factor(local)) > 1:
            local, stride = local // factor, stride * factor
            highest, lowest = floordiv(highest - lowest, factor), 0
        # Without an element in a dimension there is none to read, however wide the window is.
        return LocalIndex(base, maximum(highest - lowest + 1, 0), stride, local)

    def _common_stride(self, expr: AffineExpr) -> int:
        """The stride of all dimensions of an expression, where they have one."""
        strides = {self.part.stride(self.place[name]) for name in expr.dims}
        if len(strides) == 1 and isinstance(stride := strides.pop(), int) and stride > 1:
            return stride if _is_linear(expr) else 1
        return 1

    def _split(self, expr: AffineExpr, by: int) -> tuple[Number, AffineExpr]:
        """`(base, local)` such that the expression is `base + by * local`."""
        if isinstance(expr, AffineConst):
            return expr.value, AffineConst(0)
        if isinstance(expr, AffineDim):
            at = self.place[expr.name]
            stride = self.part.stride(at)
            if not isinstance(stride, int):
                raise Unserved(f"the stride of {expr.name} is not known, and it is no plain index")
            return self.part.offset(at), expr * (stride // by)
        if not isinstance(expr, AffineBinary):
            raise Unserved(f"the index {expr} has a symbol")
        if expr.kind is AffineKind.ADD:
            first, other = self._split(expr.lhs, by), self._split(expr.rhs, by)
            return first[0] + other[0], first[1] + other[1]
        if not isinstance(expr.rhs, AffineConst):
            raise Unserved(f"the index {expr} has a symbol")
        base, local = self._split(expr.lhs, by)
        if expr.kind is AffineKind.MUL:
            return base * expr.rhs.value, local * expr.rhs
        return _divided(expr, expr.kind, base, local, expr.rhs.value)

    def _range(self, expr: AffineExpr) -> tuple[Number, Number]:
        """The least and the greatest value of a local index."""
        if isinstance(expr, AffineConst):
            return expr.value, expr.value
        if isinstance(expr, AffineDim):
            return 0, self.part.size(self.place[expr.name]) - 1
        if not isinstance(expr, AffineBinary):
            raise Unserved(f"the index {expr} has a symbol")
        low, high = self._range(expr.lhs)
        other_low, other_high = self._range(expr.rhs)
        match expr.kind:
            case AffineKind.ADD:
                return low + other_low, high + other_high
            case AffineKind.MUL:
                ends = (low * other_low, high * other_low)
                return ends if is_le(0, other_low) else (ends[1], ends[0])
            case AffineKind.FLOORDIV:
                return floordiv(low, other_low), floordiv(high, other_low)
            case AffineKind.CEILDIV:
                return ceildiv(low, other_low), ceildiv(high, other_low)
        if is_le(0, low):
            return 0, minimum(high, other_low - 1)
        return 0, other_low - 1


def _divided(
    whole: AffineExpr, kind: AffineKind, base: Number, local: AffineExpr, divisor: int
) -> tuple[Number, AffineExpr]:
    if kind is AffineKind.CEILDIV:
        base, kind = base + divisor - 1, AffineKind.FLOORDIV
    if isinstance(local, AffineConst):
        # Nothing of it moves inside the part.
        divide = floordiv if kind is AffineKind.FLOORDIV else modulo
        return divide(base, divisor), AffineConst(0)
    rest = modulo(base, divisor)
    if not isinstance(rest, int):
        raise Unserved(
            f"the index {whole} at a part that does not begin at a multiple of {divisor}"
        )
    if kind is AffineKind.FLOORDIV:
        return floordiv(base, divisor), (local + rest) // divisor
    return 0, (local + rest) % divisor


def _is_linear(expr: AffineExpr) -> bool:
    if not isinstance(expr, AffineBinary):
        return True
    return expr.kind in (AffineKind.ADD, AffineKind.MUL) and all(
        map(_is_linear, (expr.lhs, expr.rhs))
    )


def _common_factor(expr: AffineExpr) -> int:
    """The greatest number that all of a linear expression's factors are multiples of."""
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.ADD:
        return gcd(_common_factor(expr.lhs), _common_factor(expr.rhs))
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.MUL:
        return abs(expr.rhs.value) if isinstance(expr.rhs, AffineConst) else 1
    return abs(expr.value) if isinstance(expr, AffineConst) else 1


def axes_of_dims(map: AffineMap) -> Mapping[int, int]:
    """For each dimension that some index is by itself, the axis of that index."""
    places = {name: position for position, name in enumerate(map.dims)}
    return {
        places[expr.name]: axis
        for axis, expr in reversed(list(enumerate(map.results)))
        if isinstance(expr, AffineDim)
    }
