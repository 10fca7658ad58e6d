"""Ops of our own dialect that say where elements go: a recurrence is a scan, and a scatter one.

    O[m, n] = O[m, n - 1] * A[m, n] + X[m, n]        linalg_ext.scan along n
    O[I[n], e] += X[n, e]                            linalg_ext.scatter of rows, combined by +

A definition has a scatter as a reduction: at each place of the output, over all written values, of
those that are written there. The op does in one pass the work that the reduction would do place by
place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
)
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
from linalg_ext.definition.types import TV
from linalg_ext.errors import DefinitionError, DTypeError
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.structured.constants import number_constant, number_of
from linalg_ext.structured.destination_ops import MOST_SCANNED as MOST_INPUTS
from linalg_ext.structured.destination_ops import Scan, build_scan, build_scatter
from linalg_ext.structured.operands import BoundOp, element_of, producer, static_sizes
from linalg_ext.structured.outputs import empty_tensor, filled
from linalg_ext.structured.payload import PayloadScope, emit_expression, symbol_size
from linalg_ext.structured.recognition import (
    BodyReader,
    operand_names,
    refusal,
    type_vars_of,
)
from linalg_ext.structured.scatter_windows import Scatter, build_windows
from linalg_ext.structured.steps import computed, extents_of, operand_values
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineSymbol

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


def build_scattered(bound: BoundOp) -> ir.Value | None:
    """Build a reduction that is a scatter as `linalg_ext.scatter`; None where it is none."""
    if len(bound.outputs) != 1 or not isinstance(bound.outputs[0].type, ir.RankedTensorType):
        return None
    scatter = _read_scatter(bound.definition.assignments[0])
    if scatter is None or not _are_inputs_read(bound, scatter):
        return None
    windows = build_windows(bound, scatter)
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
    rank = ir.ShapedType(value.type).rank
    if count == 1:
        return value
    groups: Sequence[Sequence[int]] = [range(count), *([axis] for axis in range(count, rank))]
    sizes = static_sizes(value)
    rows = 1
    for size in sizes[:count]:
        rows = ir.ShapedType.get_dynamic_size() if size is None or rows < 0 else rows * size
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [rows, *(dynamic if size is None else size for size in sizes[count:])]
    kind = ir.RankedTensorType.get(shape, ir.ShapedType(value.type).element_type)
    return tensor.CollapseShapeOp(kind, value, [list(group) for group in groups]).result


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
