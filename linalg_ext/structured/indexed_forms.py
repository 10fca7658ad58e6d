"""Ops of our own dialect that say where elements go: a recurrence is a scan, and a scatter one.

    O[m, n] = O[m, n - 1] * A[m, n] + X[m, n]        linalg_ext.scan along n
    O[I[n], e] += X[n, e]                            linalg_ext.scatter of rows, combined by +

A definition has a scatter as a reduction: at each place of the output, over all written values, of
those that are written there. The op does in one pass the work that the reduction would do place by
place.

A scatter at affine places is structured ops on windows of the output:

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from linalg_ext.bindings import ir, tensor
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.checks import check
from linalg_ext.definition.functions import BINARY, REDUCTIONS, TERNARY, TYPE, FunctionKind
from linalg_ext.definition.initial import recurrence_start
from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
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
    Carried,
    Const,
    Index,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    Size,
    constant_of,
    type_of,
)
from linalg_ext.definition.shapes import infer_extents
from linalg_ext.definition.types import TV
from linalg_ext.errors import DefinitionError, DTypeError
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.structured.constants import number_constant, number_of
from linalg_ext.structured.destination_ops import MOST_SCANNED as MOST_INPUTS
from linalg_ext.structured.destination_ops import Scan, build_scan, build_scatter
from linalg_ext.structured.loops import nest_over
from linalg_ext.structured.maps import collapsed_tensor
from linalg_ext.structured.mixed import mixed_operands
from linalg_ext.structured.operands import BoundOp, element_of, producer, static_sizes
from linalg_ext.structured.outputs import empty_tensor, filled
from linalg_ext.structured.payload import (
    PayloadScope,
    build_generic,
    emit_expression,
    symbol_size,
)
from linalg_ext.structured.recognition import (
    BodyReader,
    operand_names,
    refusal,
    type_vars_of,
)
from linalg_ext.structured.sizes import as_number, mixed_size, mixed_sizes, sizes_of, tensor_type
from linalg_ext.structured.steps import bound_step, computed, extents_of, operand_values
from linalg_ext.symbolic.affine import (
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineSymbol,
    linear_terms,
)
from linalg_ext.symbolic.integers import Number, Symbol, is_le, total

SCAN = "linalg_ext.scan"

_SIGNED = TYPE["cast_signed"]


def build_recurrence(bound: BoundOp) -> ir.Value:
    """Build a recurrence as `linalg_ext.scan`, and answer its result.

    Raises:
        DTypeError: it is built on memrefs, or assigns another type than its output has.
        DefinitionError: it reads more than 8 elements at each step.
    """
    (assignment,) = bound.definition.assignments
    (output,) = bound.outputs
    along = assignment.recurrence
    if along is None or not isinstance(output.type, ir.RankedTensorType):
        raise DTypeError(
            f"{bound.definition.name} is a recurrence, and is called on {output.type}",
            expected="tensors: it becomes linalg_ext.scan",
        )
    dims = [str(index) for index in assignment.target.indices]
    for is_split in (True, False):
        inputs = _StepInputs(bound, assignment, is_split=is_split)
        value = inputs.extracted(assignment.value)
        if len(inputs.expressions) <= MOST_INPUTS:
            break
    else:
        raise DefinitionError(
            f"`{assignment}` reads {len(inputs.expressions)} elements at each step",
            expected=f"{MOST_INPUTS} at most, as linalg_ext.scan has inputs",
        )
    accesses, values = inputs.accesses(), inputs.values()
    element = ir.ShapedType(output.type).element_type
    scope = _scope(bound, assignment)

    def combine(carried: ir.Value, *elements: ir.Value) -> ir.Value:
        by_access = {_carried(assignment): carried, **dict(zip(accesses, elements, strict=False))}
        result = emit_expression(value, replace(scope, elements=by_access))
        if result.type != element:
            raise DTypeError(
                f"{bound.definition.name} assigns {result.type} to output "
                f"{assignment.target.operand}, which is of {element}",
                where=f"{assignment}",
                hint=f"cast it: TypeFn.cast_signed({assignment.target.type_var}, ...)",
            )
        return result

    array_type = by_mlir(str(element))
    if array_type is None:
        raise DTypeError(f"a recurrence of {element}", expected="an element type of arrays")
    is_unsigned = str(assignment.target.type_var) in bound.unsigned
    dtype = array_type.unsigned if is_unsigned and array_type.unsigned else array_type.dtype
    start = recurrence_start(assignment, bound.attributes, dtype)
    rest = extents_of(bound, [dim for dim in dims if dim != along[0]])
    initial = filled(number_constant(start, element), empty_tensor(list(rest.values()), element))
    dimension = dims.index(along[0])
    return build_scan(values, output, initial, combine, dimension=dimension, reverse=along[1])[0]


class _StepInputs:
    """The elements that a recurrence combines with its carried value, each of them a tensor.

    Operands that are indexed as the output are such as they are; other expressions are computed
    before. `is_split` leaves the arithmetic between the former to the scan.
    """

    def __init__(self, bound: BoundOp, assignment: Assignment, *, is_split: bool) -> None:
        self.bound = bound
        self.assignment = assignment
        self.is_split = is_split
        self.expressions: dict[ScalarExpr, Access] = {}
        self.operands = operand_values(bound)

    def extracted(self, expr: ScalarExpr) -> ScalarExpr:
        """The expression with an access in the place of each element."""
        if isinstance(expr, Carried):
            return _carried(self.assignment)
        parts = list(expr.walk())
        leaves = [part for part in parts if not isinstance(part, Apply)]
        if all(isinstance(leaf, (Const, ScalarOperand, Size)) for leaf in leaves):
            return expr
        is_mixed = any(isinstance(part, Carried) for part in parts)
        is_plain = self.is_split and all(
            isinstance(leaf, (Const, ScalarOperand, Size)) or self._is_input(leaf)
            for leaf in leaves
        )
        if isinstance(expr, Apply) and (is_mixed or is_plain):
            return replace(expr, args=tuple(map(self.extracted, expr.args)))
        if type_of(expr) is None:
            expr = Apply(_SIGNED, (expr,), TV.I64)
        name = f"element {len(self.expressions)}"
        new = Access(name, self.assignment.target.indices, type_of(expr) or TV.I64)
        return self.expressions.setdefault(expr, new)

    def accesses(self) -> list[Access]:
        """The access that stands for each element."""
        return list(self.expressions.values())

    def values(self) -> list[ir.Value]:
        """The tensor of each element; one that is not read if there is no element."""
        dims = extents_of(self.bound, [str(index) for index in self.assignment.target.indices])
        type_var = self.assignment.target.type_var
        unread = {Apply(_SIGNED, (Const(0),), type_var): Access("unread", (), type_var)}
        return [
            computed(self.bound, dims, expr, access.type_var)
            for expr, access in (self.expressions or unread).items()
        ]

    def _is_input(self, expr: ScalarExpr) -> bool:
        """Return whether an expression is an element of a tensor that is as the output is."""
        if not isinstance(expr, Access) or expr.indices != self.assignment.target.indices:
            return False
        (output,) = self.bound.outputs
        return static_sizes(self.operands[expr.operand]) == static_sizes(output)


def _carried(assignment: Assignment) -> Access:
    return replace(assignment.target, operand="carried")


def _scope(bound: BoundOp, assignment: Assignment) -> PayloadScope:
    """The names that the region of a scan or scatter refers to, its elements excepted."""
    values = operand_values(bound)
    return PayloadScope(
        bound.definition,
        bound.types,
        bound.unsigned,
        bound.attributes.functions,
        {},
        {o.name: values[o.name] for o in bound.definition.inputs if o.kind is OperandKind.SCALAR},
        {
            expr.symbol: symbol_size(bound, expr.symbol)
            for expr in assignment.value.walk()
            if isinstance(expr, Size)
        },
    )


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


def build_scattered(bound: BoundOp) -> ir.Value | None:
    """Build a reduction that is a scatter as `linalg_ext.scatter`; None where it is none."""
    if len(bound.outputs) != 1 or not isinstance(bound.outputs[0].type, ir.RankedTensorType):
        return None
    scatter = _read_scatter(bound.definition.assignments[0])
    if scatter is None or not _are_inputs_read(bound, scatter):
        return None
    windows = _build_windows(bound, scatter)
    if windows is not None:
        return windows
    target = scatter.target
    count = max(scatter.places) + 1
    written = [str(index) for index in target.indices]
    axes = [written[axis] for axis in range(count) if axis not in scatter.places]
    rows = [dim for dim in bound.definition.dims if dim not in written] + axes
    if not rows or type_of(scatter.new) not in (None, target.type_var):
        return None
    reduction = None
    if scatter.has_no_order and scatter.combined is not None:
        # Values that go to one place by whatever they are reduced over are combined before.
        placing = {
            dim for place in scatter.places.values() for p in place.walk() for dim in dims_of(p)
        }
        summed = tuple(dim for dim in rows if dim not in placing and dim not in axes)
        if summed and len(summed) < len(rows):
            rows = [dim for dim in rows if dim not in summed]
            reduction = Reduction(scatter.combined.function, summed)
    sizes = extents_of(bound, [*rows, *written[count:]])
    updates = computed(bound, sizes, scatter.new, target.type_var, reduction)
    column = "column"
    indices = [
        scatter.places.get(axis, Apply(_SIGNED, (Index(written[axis]),), TV.I64))
        for axis in range(count)
    ]
    row_index = indices[-1]
    for number in reversed(range(count - 1)):
        is_here = Apply(BINARY["eq"], (Index(column), Const(number)))
        row_index = Apply(TERNARY["select"], (is_here, indices[number], row_index))
    row_sizes = {dim: sizes[dim] for dim in rows}
    starts = computed(bound, {**row_sizes, column: count}, row_index, TV.I64)
    combine = None
    if scatter.combined is not None:
        scope = _scope(bound, bound.definition.assignments[0])
        new = replace(target, operand="new")
        value = scatter.combination(target, new)

        def combine(update: ir.Value, old: ir.Value) -> ir.Value:
            return emit_expression(value, replace(scope, elements={new: update, target: old}))

    starts, updates = _as_rows(starts, len(rows)), _as_rows(updates, len(rows))
    return build_scatter(starts, updates, bound.outputs[0], combine)


def _read_scatter(assignment: Assignment) -> Scatter | None:
    """The scatter that a reduction is: of values where places are equal to positions."""
    target, value, reduction = assignment.target, assignment.value, assignment.reduction
    if reduction is None or not reduction.is_scatter or not isinstance(value, Apply):
        return None
    combined: Apply | None = None
    if reduction.function is None:
        if value.function != TERNARY["select"] or value.args[2] != target:
            return None
        condition, new = value.args[:2]
        if isinstance(new, Apply) and target in new.args and len(new.args) == 2:
            combined = new
            new = new.args[1] if new.args[0] == target else new.args[0]
    else:
        if reduction.attribute is not None or value.args[0] != target or len(value.args) != 2:
            return None
        chosen = value.args[1]
        if not isinstance(chosen, Apply) or chosen.function != TERNARY["select"]:
            return None
        condition, new, other = chosen.args
        neutral = {"add": 0, "mul": 1}.get(value.function.name)
        if neutral is None or constant_of(other) != neutral:
            return None
        combined = value
    places: dict[int, ScalarExpr] = {}
    for part in _conjuncts(condition):
        axis = _axis_of(part, target)
        if axis is None or axis in places or not isinstance(part, Apply):
            return None
        places[axis] = part.args[0]
    own = {str(target.indices[axis]) for axis in places}
    for expr in (new, *places.values()):
        if any(part == target or own & set(dims_of(part)) for part in expr.walk()):
            return None
    return Scatter(target, places, new, combined)


def _conjuncts(condition: ScalarExpr) -> list[ScalarExpr]:
    if isinstance(condition, Apply) and condition.function == BINARY["and"]:
        return [part for arg in condition.args for part in _conjuncts(arg)]
    return [condition]


def _axis_of(condition: ScalarExpr, target: Access) -> int | None:
    """The axis of an output whose position a condition compares with a place of int64."""
    if not isinstance(condition, Apply) or condition.function != BINARY["eq"]:
        return None
    place, position = condition.args
    is_cast = isinstance(position, Apply) and position.function.kind is FunctionKind.TYPE
    if not is_cast or type_of(position) != TV.I64 or type_of(place) != TV.I64:
        return None
    (index,) = position.operands
    if not isinstance(index, Index) or AffineDim(index.dim) not in target.indices:
        return None
    return target.indices.index(AffineDim(index.dim))


def _are_inputs_read(bound: BoundOp, scatter: Scatter) -> bool:
    """Return whether the values and places read inputs alone, and not the output."""
    inputs = {operand.name for operand in bound.definition.inputs}
    return all(
        part.operand in inputs
        for expr in (scatter.new, *scatter.places.values())
        for part in expr.walk()
        if isinstance(part, (Access, Lookup, ScalarOperand))
    )


def _as_rows(value: ir.Value, count: int) -> ir.Value:
    """Collapse the first dimensions of a tensor into one."""
    if count == 1:
        return value
    rank = ir.ShapedType(value.type).rank
    groups = [list(range(count)), *([axis] for axis in range(count, rank))]
    return tensor.CollapseShapeOp(collapsed_tensor(value.type, groups), value, groups).result


Terms = Mapping[str, int]
"""Factors of dimensions."""

Positions = Mapping[str, Number]
"""The position along each dimension that a loop runs over."""


def _build_windows(bound: BoundOp, scatter: Scatter) -> ir.Value | None:
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
                for operand in definition.arguments
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
                _first_position(factors, first, positions),
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
            at = _first_position(factors, first, positions)
            ranges.append(_Range(at, length, is_dropped=not inside))
            terms_inside = (AffineDim(dim) * f for dim, f in inside.items())
            indices += [sum(terms_inside, start=AffineConst(0))] if inside else []
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


def _first_position(factors: Terms, first: int, positions: Positions) -> Number:
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


def recurrence_of(op: ir.Operation) -> OpDefinition:
    """Read `linalg_ext.scan` as a recurrence.

    Raises:
        ArgumentError: the op breaks a rule.
        RecognitionError: it is exclusive, or begins with other values than a recurrence.
    """
    scan = Scan.of(op)
    dims = tuple(f"d{axis}" for axis in range(ir.ShapedType(scan.init.type).rank))
    indices: tuple[AffineExpr, ...] = tuple(map(AffineDim, dims))
    before = [
        index + (1 if scan.is_reverse else -1) if axis == scan.dimension else index
        for axis, index in enumerate(indices)
    ]
    names = operand_names(len(scan.inputs), 1)
    values = (*scan.inputs, scan.init)
    type_vars = type_vars_of(list(values))
    *leaves, target = (
        Access(operand, indices, type_vars[str(element_of(value))])
        for operand, value in zip(names, values, strict=True)
    )
    if not scan.is_inclusive or str(scan.carried) != str(element_of(scan.init)):
        raise refusal(
            op,
            "the scan is exclusive, or carries another type than it writes",
            "a recurrence writes its carried value",
        )
    captured: dict[ir.Value, Operand] = {}
    carried = Carried(target.operand, tuple(before), target.type_var)
    reader = BodyReader(op, [carried, *leaves], type_vars, dims, captured)
    (value,) = reader.outputs()
    assignment = Assignment(target, value)
    if not _begins_as_recurrence(scan, assignment):
        raise refusal(
            op,
            "the scan begins with values of its own",
            "a recurrence begins with the neutral element of its reduction, or with 0",
        )
    shape = tuple(AffineSymbol(dim.upper()) for dim in dims)
    operands = [Operand(a.operand, OperandKind.INPUT_TENSOR, a.type_var, shape) for a in leaves]
    output = Operand(target.operand, OperandKind.OUTPUT_TENSOR, target.type_var, shape)
    definition = OpDefinition(
        "scan", "ScanOp", "", (*operands, *captured.values(), output), dims, (assignment,)
    )
    return check(definition)


def _begins_as_recurrence(scan: Scan, assignment: Assignment) -> bool:
    """Return whether a scan begins with the number that a recurrence of its body begins with."""
    element = by_mlir(str(scan.carried))
    if element is None:
        return False
    start = recurrence_start(assignment, CallAttributes(), element.dtype)
    if scan.initial is None:
        # The first element as it is: the reduction of it and the neutral element.
        value = assignment.value
        return (
            isinstance(value, Apply)
            and value.function in REDUCTIONS
            and {type(arg) for arg in value.args} == {Carried, Access}
        )
    filled = producer(scan.initial)
    if filled is None or filled.name != "linalg.fill":
        return False
    return bool(number_of(filled.operands[0]) == start)
