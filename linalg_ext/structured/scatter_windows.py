"""Scatters at affine places, as structured ops on windows of the output.

    O[i + j] += X[i] * K[j]

    for j:                                    scf.for
        window = O[j : j + N]                 tensor.extract_slice
        window[i] += X[i] * K[j]              linalg.generic
        O[j : j + N] = window                 tensor.insert_slice

One dimension of each place runs inside of a window, the longest that indexes no other axis; loops
run over the rest. No element is tested: sizes that are known, or the declared size of the output,
show that all windows lie inside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from linalg_ext.bindings import ir, tensor
from linalg_ext.definition.functions import REDUCTIONS, FunctionKind
from linalg_ext.definition.model import (
    Assignment,
    Operand,
    OperandKind,
    Reduction,
    dims_of,
    part_of,
)
from linalg_ext.definition.renaming import rewrite_expression
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Const,
    Index,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    Size,
)
from linalg_ext.definition.shapes import infer_extents
from linalg_ext.structured.loops import nest_over
from linalg_ext.structured.mixed import mixed_operands
from linalg_ext.structured.operands import BoundOp, static_sizes
from linalg_ext.structured.payload import build_generic, symbol_size
from linalg_ext.structured.sizes import as_number, mixed_size, mixed_sizes, sizes_of, tensor_type
from linalg_ext.structured.steps import bound_step, extents_of, operand_values
from linalg_ext.symbolic.affine import (
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineSymbol,
    linear_terms,
)
from linalg_ext.symbolic.integers import Number, Symbol, is_le, total

Terms = Mapping[str, int]
"""Factors of dimensions."""

Positions = Mapping[str, Number]
"""The position along each dimension that a loop runs over."""


@dataclass(frozen=True)
class Scatter:
    """A reduction that writes each value to one place.

    Attributes:
        target: the element that is written, at the positions of the output.
        places: the computed place along each such axis of the output.
        new: the value that is written.
        combined: the combination of it with the element before; None where it is overwritten.
    """

    target: Access
    places: Mapping[int, ScalarExpr]
    new: ScalarExpr
    combined: Apply | None

    @property
    def has_no_order(self) -> bool:
        """Return whether values that meet at one place may be combined in any order."""
        combined = self.combined
        return (
            combined is not None and combined.attribute is None and combined.function in REDUCTIONS
        )

    def combination(self, target: Access, new: ScalarExpr) -> ScalarExpr:
        """Return the new element of a target, for another target and value than its own."""
        if self.combined is None:
            return new
        args = (target if arg == self.target else new for arg in self.combined.args)
        return replace(self.combined, args=tuple(args))


def build_windows(bound: BoundOp, scatter: Scatter) -> ir.Value | None:
    """Build a scatter by windows; None where a place is not affine, or may lie outside."""
    axes = []
    for axis, index in enumerate(scatter.target.indices):
        place = scatter.places.get(axis)
        affine = index if place is None else _affine(bound, place)
        terms = None if affine is None else linear_terms(affine)
        if terms is None:
            return None
        axes.append(terms)
    extents = extents_of(bound, bound.definition.dims)
    if any(isinstance(size, int) and size == 0 for size in extents.values()):
        return None
    windows = _Windows(bound, scatter, axes, extents)
    return windows.build() if windows.are_valid() else None


class _Windows:
    """The windows of a scatter.

    Attributes:
        axes: the factors of the dimensions along each axis of the output, and a constant.
        inner: the dimension inside of the windows along each axis; None if absent.
        outer: the dimensions that loops run over.
        summed: the dimensions that are reduced inside of a window.
    """

    def __init__(
        self,
        bound: BoundOp,
        scatter: Scatter,
        axes: Sequence[tuple[Terms, int]],
        extents: Mapping[str, Number],
    ) -> None:
        self.bound = bound
        self.scatter = scatter
        self.axes = axes
        self.extents = extents
        uses = [dim for factors, _ in axes for dim in factors]
        alone = [[dim for dim in factors if uses.count(dim) == 1] for factors, _ in axes]
        self.inner = [max(dims, key=self._length, default=None) for dims in alone]
        self.outer = tuple(dim for dim in dict.fromkeys(uses) if dim not in self.inner)
        read = [dim for part in scatter.new.walk() for dim in dims_of(part)]
        self.summed = tuple(dim for dim in dict.fromkeys(read) if dim not in uses)

    def _length(self, dim: str) -> float:
        """Return the extent of a dimension; that of an open one counts as more than any number."""
        extent = self.extents[dim]
        return extent if isinstance(extent, int) else math.inf

    def are_valid(self) -> bool:
        """Return whether all windows lie inside of the output, and may be written in any order."""
        if (self.outer or self.summed) and not self.scatter.has_no_order:
            return False
        return (
            all(first >= 0 and min(factors.values(), default=1) > 0 for factors, first in self.axes)
            and self._are_inside()
            and all(map(self._is_cut, self.scatter.new.walk()))
        )

    def _are_inside(self) -> bool:
        """Return whether the last place along each axis is known to be one of the operand."""
        values = operand_values(self.bound)
        shapes: dict[str, Sequence[Any]] = {n: static_sizes(v) for n, v in values.items()}
        extents: Mapping[str, Any] = self.extents
        if not all(isinstance(n, int) for n in (*extents.values(), *chain(*shapes.values()))):
            # Declared sizes, in the symbols of the definition, tell as much of any numbers.
            definition, known = self.bound.definition, self.bound.attributes.symbols
            shapes = {
                operand.name: [
                    size.evaluate(
                        {
                            AffineSymbol(name): known.get(name, Symbol(name, lower=0).number)
                            for name in size.symbols
                        }
                    )
                    for size in operand.shape
                ]
                for operand in (*definition.inputs, *definition.outputs)
            }
            inputs = {operand.name: shapes[operand.name] for operand in definition.inputs}
            extents = infer_extents(definition, inputs, known)
        reads = [part for part in self.scatter.new.walk() if isinstance(part, Access)]
        places = [*zip(self.axes, shapes[self.scatter.target.operand], strict=True)]
        for read in reads:
            for index, size in zip(read.indices, shapes[read.operand], strict=True):
                terms = linear_terms(index)
                places += [] if terms is None else [(terms, size)]
        return all(_is_inside(terms, size, extents) for terms, size in places)

    def _is_cut(self, part: ScalarExpr) -> bool:
        """Return whether a part of the value can be read from slices of its operands."""
        moved = set(dims_of(part)) & set(self.outer)
        if not moved or not isinstance(part, Access):
            return not moved
        return all(_increasing(index) or not set(index.dims) & moved for index in part.indices)

    def build(self) -> ir.Value:
        """Build the loops, and return the output that they write."""
        (output,) = self.bound.outputs
        sizes = mixed_sizes([self.extents[dim] for dim in self.outer])
        written: ir.Value = nest_over(sizes, [output], self._written)[0]
        return written

    def _written(self, ivs: Sequence[ir.Value], carried: Sequence[ir.Value]) -> list[ir.Value]:
        """Combine one window of the output with the values that are written there."""
        (output,) = carried
        positions = dict(zip(self.outer, map(as_number, ivs), strict=True))
        geometry = [
            _Range(
                _position(factors, first, positions),
                1 if dim is None else self.extents[dim],
                1 if dim is None else factors[dim],
                dim is None,
            )
            for (factors, first), dim in zip(self.axes, self.inner, strict=True)
        ]
        target = self.scatter.target
        element = replace(target, indices=tuple(AffineDim(d) for d in self.inner if d is not None))
        values = {**operand_values(self.bound), target.operand: _slice(output, geometry)}
        elements: dict[ScalarExpr, Access] = {}
        for access in self.scatter.new.walk():
            if isinstance(access, Access) and access not in elements:
                name = f"element {len(elements)}"
                ranges, indices = self._read(access, values[access.operand], positions)
                values[name] = _slice(values[access.operand], ranges)
                elements[access] = replace(access, operand=name, indices=indices)
        new = rewrite_expression(self.scatter.new, lambda part: elements.get(part, part))
        read_whole = {e.operand for e in new.walk() if isinstance(e, (Lookup, ScalarOperand))}
        reduction = None
        if self.summed and self.scatter.combined is not None:
            reduction = Reduction(self.scatter.combined.function, self.summed)
        definition = self.bound.definition
        operands = [_operand(access, OperandKind.INPUT_TENSOR) for access in elements.values()]
        operands += [operand for operand in definition.inputs if operand.name in read_whole]
        operands += [_operand(element, OperandKind.OUTPUT_TENSOR)]
        assignment = Assignment(element, self.scatter.combination(element, new), reduction)
        dims = (*map(str, element.indices), *self.summed)
        part = part_of(definition, operands, dims, [assignment])
        (window,) = build_generic(bound_step(self.bound, part, values)).results
        return [tensor.InsertSliceOp(window, output, *_geometry(geometry)).result]

    def _read(
        self, access: Access, value: ir.Value, positions: Positions
    ) -> tuple[list[_Range], tuple[AffineExpr, ...]]:
        """Return the part of an operand that a window reads, and its indices there."""
        ranges, indices = [], []
        for index, size in zip(access.indices, sizes_of(value), strict=True):
            terms = _increasing(index)
            if terms is None:
                ranges.append(_Range(0, size))
                indices.append(index)
                continue
            factors, first = terms
            inside = {dim: f for dim, f in factors.items() if dim not in positions}
            length = total((1, *((self.extents[dim] - 1) * f for dim, f in inside.items())))
            at = _position(factors, first, positions)
            ranges.append(_Range(at, length, is_dropped=not inside))
            indices += [_sum(AffineDim(dim) * f for dim, f in inside.items())] if inside else []
        return ranges, tuple(indices)


@dataclass(frozen=True)
class _Range:
    """The part of an axis that a slice has, which may lack the axis."""

    first: Number
    size: Number
    step: int = 1
    is_dropped: bool = False


def _slice(value: ir.Value, ranges: Sequence[_Range]) -> ir.Value:
    shape = [part.size for part in ranges if not part.is_dropped]
    kind = tensor_type(shape, value.type)
    if kind == value.type and ir.ShapedType(kind).has_static_shape:
        return value
    return tensor.ExtractSliceOp(kind, value, *_geometry(ranges)).result


def _geometry(ranges: Sequence[_Range]) -> tuple[Any, ...]:
    """Offsets, sizes and steps as the ops of slices hold them."""
    numbers = ((mixed_size(part.first), mixed_size(part.size), part.step) for part in ranges)
    columns = zip(*numbers, strict=True)
    return mixed_operands(*columns)


def _operand(access: Access, kind: OperandKind) -> Operand:
    """Return a tensor of as many axes as an element of it has indices."""
    shape = (AffineSymbol(f"{access.operand}, axis {n}") for n in range(len(access.indices)))
    return Operand(access.operand, kind, access.type_var, tuple(shape))


def _position(factors: Terms, first: int, positions: Positions) -> Number:
    """Return the first place of a window along an axis."""
    moved = (positions[dim] * factor for dim, factor in factors.items() if dim in positions)
    return total((*moved, first))


def _is_inside(terms: tuple[Terms, int], size: Any, extents: Mapping[str, Any]) -> bool:
    """Return whether the last of some places is below a size, for any numbers of its symbols."""
    factors, first = terms
    if not factors.keys() <= extents.keys():
        return False
    last = total((first, *((extents[dim] - 1) * factor for dim, factor in factors.items())))
    return is_le(last + 1, size) is True


def _increasing(index: AffineExpr) -> tuple[Terms, int] | None:
    """Return the terms of an index where a slice from its least value on has all others."""
    terms = linear_terms(index)
    if terms is None or terms[1] < 0 or min(terms[0].values(), default=1) < 0:
        return None
    return terms


def _sum(terms: Iterable[AffineExpr]) -> AffineExpr:
    total: AffineExpr = AffineConst(0)
    for term in terms:
        total = total + term
    return total


def _affine(bound: BoundOp, place: ScalarExpr) -> AffineExpr | None:
    """Return a place as an affine expression of dimensions; None if it is not."""
    match place:
        case Const(value=int(number)):
            return AffineConst(number)
        case Index(dim=dim):
            return AffineDim(dim)
        case Size(symbol=symbol):
            size = symbol_size(bound, symbol)
            return AffineConst(size) if isinstance(size, int) else None
        case Apply(function=function, args=args) if function.kind is FunctionKind.TYPE:
            return _affine(bound, args[-1])
        case Apply(function=function, args=(left, right)):
            parts = _affine(bound, left), _affine(bound, right)
            if parts[0] is None or parts[1] is None:
                return None
            if function.name == "add":
                return parts[0] + parts[1]
            is_scaled = any(isinstance(part, AffineConst) for part in parts)
            return parts[0] * parts[1] if function.name == "mul" and is_scaled else None
    return None
