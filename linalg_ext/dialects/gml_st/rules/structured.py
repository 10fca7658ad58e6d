"""Structured ops: everything that has indexing maps, of linalg and of linalg_ext.

The domain is the iteration space. A part of a result gives the dimensions that the result is
indexed by; the image of the maps gives the parts of the operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.definition.functions import Function
from linalg_ext.definition.initial import neutral_element
from linalg_ext.dialects.gml_st.rules.bodies import (
    as_generic,
    on_operands,
    on_scalars,
    reads_positions,
    shift_positions,
)
from linalg_ext.dialects.gml_st.rules.protocol import (
    PARALLEL,
    REDUCTION,
    Accumulation,
    Domain,
    Rule,
    Take,
    TakeElement,
    Unserved,
    known_size,
    operands_on_parts,
)
from linalg_ext.errors import LinalgExtError
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.extension import COMPUTE_TYPE, OVERWRITE
from linalg_ext.structured.extension import NAMES as EXTENSION_OPS
from linalg_ext.structured.maps import (
    has_payload,
    indexing_maps,
    is_valid,
    iterator_types,
    split_operands,
)
from linalg_ext.structured.payload import Scalar, emit_function
from linalg_ext.structured.recognition import recognize
from linalg_ext.structured.sizes import size_of
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineMap,
    constant_value,
    linear_terms,
)
from linalg_ext.symbolic.index_sets import Point, Tile, tile_of
from linalg_ext.symbolic.integers import (
    Number,
    ceildiv,
    floordiv,
    is_eq,
    is_le,
    maximum,
    minimum,
    modulo,
)

_GENERIC = "linalg.generic"

_STRICT = frozenset(("linalg.transpose", "linalg.broadcast", "linalg.reduce", "linalg.map"))
"""Ops that take no operand of static size beside one of open size, though the two be equal."""


def maps_tensors(op: ir.Operation) -> bool:
    """Return whether an op has indexing maps and works on tensors."""
    return op.name in EXTENSION_OPS or (len(op.results) > 0 and has_payload(op))


class StructuredRule(Rule):
    """An op with a map from its iteration space to each of its operands."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        try:
            self.maps = indexing_maps(op)
        except LinalgExtError as error:
            raise Unserved(error.what) from None
        if any(map.symbols for map in self.maps):
            raise Unserved(f"{op.name} has maps with symbols")
        self.operands = list(op.operands)
        inputs, outputs = split_operands(op)
        self.destinations = tuple(range(len(inputs), len(inputs) + len(outputs)))
        self.is_cheap = REDUCTION not in self.domain.iterators

    @cached_property
    def domain(self) -> Domain:
        """The iteration space."""
        dims = self.maps[0].dims
        sizes = tuple(self._size(position, name) for position, name in enumerate(dims))
        outputs = self.maps[self._first_output :]
        iterators = tuple(kind.value for kind in iterator_types(self.op, self.maps, outputs))
        # A parallel dimension that a result lacks is not cut: the order of its writes would change.
        # A sum that is rounded, or written over, between two parts is another sum.
        written = [_axes_of_dims(map) for map in outputs]
        no_sums_in_parts = OVERWRITE in self.op.attributes or COMPUTE_TYPE in self.op.attributes
        whole = {
            dim
            for dim, kind in enumerate(iterators)
            if (kind == REDUCTION and no_sums_in_parts)
            or (kind == PARALLEL and any(dim not in axes for axes in written))
        }
        return Domain(sizes, iterators, frozenset(whole))

    @property
    def _first_output(self) -> int:
        return len(self.operands) - len(self.op.results)

    def _size(self, position: int, name: str) -> Number:
        """The size of a dimension: a static one if any operand has it, else that of a result."""
        sources = [
            (operand, axes[position])
            for operand, axes in enumerate(map(_axes_of_dims, self.maps))
            if position in axes
        ]
        if not sources:
            raise Unserved(f"dimension {name} of {self.op.name} is the size of no operand")
        return known_size(
            *(size_of(self.operands[operand], axis) for operand, axis in reversed(sources))
        )

    def _local(self, part: Tile) -> list[tuple[Tile, AffineMap] | None]:
        self.check_part(part)
        return [
            self._local_of(position, part) if isinstance(value.type, ir.ShapedType) else None
            for position, value in enumerate(self.operands)
        ]

    def _local_of(self, position: int, part: Tile) -> tuple[Tile, AffineMap]:
        own = self.maps[position]
        may_change = self.op.name == _GENERIC
        tile, local = _local_map(own, part, may_change=may_change)
        # Along a dimension that is whole the operand's own size says the same and is shorter.
        sizes = list(tile.sizes)
        for dim, axis in _axes_of_dims(own).items():
            if self.domain.spans(part, dim):
                sizes[axis] = size_of(self.operands[position], axis)
        return Tile(tile.offsets, sizes, tile.strides), local

    def _parts(self, part: Tile) -> Sequence[Tile | None]:
        return tuple(None if local is None else local[0] for local in self._local(part))

    def part_of_result(self, part: Tile, number: int = 0) -> Tile:
        """Return the part of a result that a part of the domain computes."""
        tile, _ = self._local_of(self._first_output + number, part)
        return tile

    def part_for_result(self, result_part: Tile, number: int = 0) -> Tile:
        """The part that computes some of a result."""
        map = self.maps[self._first_output + number]
        by_dim: dict[str, tuple[Number, Number, Number]] = {}
        for axis, expr in enumerate(map.results):
            numbers = (result_part.offset(axis), result_part.size(axis), result_part.stride(axis))
            if isinstance(expr, AffineDim) and expr.name not in by_dim:
                by_dim[expr.name] = numbers
            elif constant_value(expr) != 0 or is_eq(result_part.size(axis), 1) is not True:
                raise Unserved(f"a result of {self.op.name} is written by the index {expr}")
        sizes = zip(map.dims, self.domain.sizes, strict=True)
        part = tile_of([by_dim.get(name, (0, size, 1)) for name, size in sizes])
        self.check_part(part)
        return part

    def result_sizes(self, number: int = 0) -> tuple[Number, ...]:
        """The sizes of the destination."""
        init = self.operands[self._first_output + number]
        return tuple(size_of(init, axis) for axis in range(ir.ShapedType(init.type).rank))

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        local = self._local(part)
        maps = [
            own if local_part is None else local_part[1]
            for own, local_part in zip(self.maps, local, strict=True)
        ]
        parts = [None if local_part is None else local_part[0] for local_part in local]
        positions = reads_positions(self.op)
        must_be_generic = positions or any(
            new.results != own.results for new, own in zip(maps, self.maps, strict=True)
        )
        if must_be_generic and self.op.name in EXTENSION_OPS:
            raise Unserved(f"{self.op.name} cannot hold the maps of this part")
        operands = operands_on_parts(parts, self.operands, take)
        types = [value.type for value in operands[self._first_output :]]
        if not must_be_generic:
            new = on_operands(self.op, operands, types)
            if self.op.name not in _STRICT or is_valid(new):
                return list(new.results)
            new.erase()
        generic = as_generic(self.op, operands, types, maps, self.domain.iterators)
        if positions:
            shift_positions(generic, part)
        return list(generic.results)

    def _element(self, point: Point, take: TakeElement) -> list[ir.Value] | None:
        if REDUCTION in self.domain.iterators or self.op.name in EXTENSION_OPS:
            return None
        parts = self.operand_parts(Tile(point.indices, (1,) * point.rank))
        block = self.op.regions[0].blocks[0]
        scalars: list[ir.Value] = []
        for position, (value, tile) in enumerate(zip(self.operands, parts, strict=True)):
            if position >= len(block.arguments):
                break  # linalg.map does not show its body the destination
            if tile is None:
                scalars.append(value)
            elif not list(block.arguments[position].uses):
                # Not read: any value of its type will do, and none of them is.
                scalars.append(block.arguments[position])
            else:
                scalars.append(take(position, Point(tile.offsets)))
        return on_scalars(self.op, scalars, point)

    def accumulation(self, number: int = 0) -> Accumulation | None:
        """Return how partial results are combined, by the body's function of its destination."""
        return _accumulation_of(self.op, number)


def _accumulation_of(op: ir.Operation, number: int) -> Accumulation | None:
    """The accumulation of a result of a structured op; None where it is not one by a function."""
    try:
        recognized = recognize(op)
    except LinalgExtError:
        return None
    output = recognized.definition.outputs[number]
    reduction = recognized.definition.assignment_to(output.name).reduction
    element = ir.ShapedType(op.results[number].type).element_type
    if reduction is None or reduction.function is None or reduction.attribute is not None:
        return None
    start = _neutral(reduction.function, element)
    function = reduction.function.name
    if start is None:
        return None

    def combine(first: ir.Value, second: ir.Value) -> ir.Value:
        value = emit_function(function, [Scalar(first), Scalar(second)])
        if value is None:
            raise TypeError(f"{function} of {element} has a neutral element and no meaning")
        return value

    return Accumulation(combine, lambda: number_constant(start, element))


def _neutral(function: Function, element: ir.Type) -> complex | None:
    dtype = by_mlir(str(element))
    if dtype is None:
        return None
    try:
        value: np.generic = neutral_element(function.name, dtype.dtype)
    except LinalgExtError:
        return None
    number: complex = value.item()
    return number


@dataclass(frozen=True)
class _LocalIndex:
    """The index of one axis of an operand over a part of the domain.

    Attributes:
        offset, size, stride: the part of the operand along this axis.
        expr: the index into that part.
    """

    offset: Number
    size: Number
    stride: Number
    expr: AffineExpr


def _local_map(map: AffineMap, part: Tile, *, may_change: bool) -> tuple[Tile, AffineMap]:
    """The part of an operand that a map reads over a part of the domain, and the map into it.

    With `d = offset + stride * d'` an index `d * 2 + k` is a base plus an index into a part of the
    operand that begins at that base. The op on the part then reads its operand by the latter.

    Args:
        map: from the domain to the operand, without symbols.
        part: of the domain.
        may_change: whether the op can hold another map; else the map stays as it is if
            possible, though it may then read a longer part than it needs.

    Raises:
        Unserved: no map without symbols reads it so.
    """
    reader = _Reader(map.dims, part, may_change=may_change)
    indices = [reader.index(expr) for expr in map.results]
    tile = Tile(
        [index.offset for index in indices],
        [index.size for index in indices],
        [index.stride for index in indices],
    )
    return tile, AffineMap(map.dims, (), tuple(index.expr for index in indices))


class _Reader:
    """The index expressions of one map over one part of the domain."""

    def __init__(self, dims: Sequence[str], part: Tile, *, may_change: bool) -> None:
        self.place = {name: position for position, name in enumerate(dims)}
        self.part = part
        self.may_change = may_change

    def index(self, expr: AffineExpr) -> _LocalIndex:
        if isinstance(expr, AffineDim):
            dim = self.place[expr.name]
            return _LocalIndex(
                self.part.offset(dim), self.part.size(dim), self.part.stride(dim), expr
            )
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
        return _LocalIndex(base, maximum(highest - lowest + 1, 0), stride, local)

    def _common_stride(self, expr: AffineExpr) -> int:
        """The stride of all dimensions of an expression, where they have one."""
        strides = {self.part.stride(self.place[name]) for name in expr.dims}
        if len(strides) == 1 and isinstance(stride := strides.pop(), int) and stride > 1:
            return stride if linear_terms(expr) is not None else 1
        return 1

    def _split(self, expr: AffineExpr, by: int) -> tuple[Number, AffineExpr]:
        """`(base, local)` such that the expression is `base + by * local`."""
        if isinstance(expr, AffineConst):
            return expr.value, AffineConst(0)
        if isinstance(expr, AffineDim):
            dim = self.place[expr.name]
            stride = self.part.stride(dim)
            if not isinstance(stride, int):
                raise Unserved(
                    f"the stride of {expr.name} is not known, and it is not a plain index"
                )
            return self.part.offset(dim), expr * (stride // by)
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


def _common_factor(expr: AffineExpr) -> int:
    """The greatest number that all of a linear expression's factors are multiples of."""
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.ADD:
        return gcd(_common_factor(expr.lhs), _common_factor(expr.rhs))
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.MUL:
        return abs(expr.rhs.value) if isinstance(expr.rhs, AffineConst) else 1
    return abs(expr.value) if isinstance(expr, AffineConst) else 1


def _axes_of_dims(map: AffineMap) -> Mapping[int, int]:
    """For each dimension that is an index of its own, the axis of that index."""
    positions = {name: position for position, name in enumerate(map.dims)}
    return {
        positions[expr.name]: axis
        for axis, expr in reversed(list(enumerate(map.results)))
        if isinstance(expr, AffineDim)
    }
