"""The oracle: a definition evaluated by NumPy, slow and obviously right.

Independent of every IR: the steps of an op are evaluated one after the other, each point by point
of its reduction space, in order, each time for all points of its parallel space at once. Arrays
keep NumPy's signedness: a `_signed` function on unsigned integers computes on their values.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.definition.attributes import CallAttributes, resolve_attributes
from linalg_ext.definition.calls import per_output, resolve_dtypes, resolve_shapes, split_inputs
from linalg_ext.definition.initial import initial_number, recurrence_start
from linalg_ext.definition.model import (
    IteratorType,
    OpDefinition,
    Operand,
    OperandKind,
    reads_before,
)
from linalg_ext.definition.numpy_functions import apply_function, cast_values
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
)
from linalg_ext.definition.shapes import infer_extents, symbol_sizes
from linalg_ext.definition.specialization import at_rank
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import ArgumentError, DTypeError, ShapeError
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineSymbol


def reference(
    definition: OpDefinition, operands: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Array | tuple[Array, ...]:
    """Compute the result of an op for arrays; see `OpDefinition.reference`."""
    keywords = dict(keywords)
    init = per_output(definition, "init", keywords.pop("init", None))
    dtype = _dtype(definition, keywords.pop("dtype", None))
    values = split_inputs(definition, operands, keywords)
    attributes = resolve_attributes(definition, keywords, also=("init", "dtype"))
    inputs = {
        operand.name: _input(definition, operand, value)
        for operand, value in zip(definition.inputs, values, strict=True)
    }
    inits = {name: _array(definition, name, value) for name, value in init.items()}
    init_dtypes = {name: array.dtype for name, array in inits.items()}
    dtypes = resolve_dtypes(definition, inputs, init_dtypes, dtype)
    tensors = [o for o in definition.inputs if o.kind is OperandKind.INPUT_TENSOR]
    shapes = resolve_shapes(
        definition,
        {o.name: inputs[o.name].shape for o in tensors},
        {name: array.shape for name, array in inits.items()},
        attributes,
    )
    call = _Call(definition, dtypes, shapes, attributes)
    arrays = {o.name: call.converted(o, inputs[o.name]) for o in definition.inputs}
    for output in definition.outputs:
        before = inits.get(output.name)
        arrays[output.name] = (
            call.initial(output) if before is None else call.converted(output, before)
        )
    results = call.evaluate(arrays)
    return results[0] if len(results) == 1 else tuple(results)


@dataclass(frozen=True)
class _Call:
    """One call, with its dtypes and shapes resolved."""

    definition: OpDefinition
    dtypes: Mapping[str, np.dtype[Any]]
    shapes: Mapping[str, tuple[int, ...]]
    attributes: CallAttributes

    def converted(self, operand: Operand, value: Any) -> Array:
        """An operand in the dtype of its type variable."""
        array = np.asarray(value)
        dtype = self.dtypes[str(operand.type_var)]
        with np.errstate(all="ignore"):
            converted = array.astype(dtype)
        if operand.kind is OperandKind.SCALAR and dtype.kind in "iub" and converted != array:
            raise DTypeError(
                f"{self.definition.name}: {operand.name}={value!r} is not a number of {dtype}"
            )
        return converted

    def initial(self, output: Operand) -> Array:
        """Return the initial value of an output: the neutral element where it accumulates."""
        assignment = self.definition.assignment_to(output.name)
        shape, dtype = self.shapes[output.name], self.dtypes[str(output.type_var)]
        if not reads_before(self.definition, output.name):
            return np.zeros(shape, dtype)
        return np.full(shape, initial_number(assignment, self.attributes, dtype), dtype)

    def evaluate(self, arrays: dict[str, Array]) -> list[Array]:
        """The outputs."""
        definition = self.definition
        shapes = dict(self.shapes)
        if definition.is_rank_polymorphic:
            shape = shapes[definition.outputs[0].name]
            definition = at_rank(definition, len(shape))
            for operand in definition.operands:
                if operand.kind.is_tensor:
                    arrays[operand.name] = np.broadcast_to(arrays[operand.name], shape)
                    shapes[operand.name] = shape
        extents = infer_extents(definition, shapes, self.attributes.symbols)
        missing = [dim for dim in definition.dims if dim not in extents]
        if missing:
            raise ShapeError(
                f"{definition.name}: the size of dimension {', '.join(missing)} does not follow "
                "from the operands",
                hint="give init=, which has the shape of the output",
            )
        return evaluate(definition, arrays, extents, self.dtypes, self.attributes)


def _dtype(definition: OpDefinition, value: Any) -> np.dtype[Any] | None:
    try:
        return None if value is None else np.dtype(value)
    except TypeError:
        raise DTypeError(f"{definition.name}: dtype={value!r} is not a dtype") from None


def _input(definition: OpDefinition, operand: Operand, value: Any) -> Any:
    """An array, or for a scalar a number: Python's take part in dtypes as weakly as in NumPy."""
    if operand.kind is not OperandKind.SCALAR:
        return _array(definition, operand.name, value)
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return value
    array = _array(definition, operand.name, value)
    if array.ndim:
        raise ShapeError(
            f"{definition.name}: {operand.name} is a scalar, but an array of shape {array.shape} "
            "is given",
            expected="a number",
        )
    return array[()]


def _array(definition: OpDefinition, name: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{definition.name}: {name} is not an array", notes=[str(error)]
        ) from None
    if array.dtype.kind in "OSUMm":
        raise DTypeError(f"{definition.name}: {name} is an array of {array.dtype}, not of numbers")
    return array


Array = np.ndarray[Any, np.dtype[Any]]


def evaluate(
    definition: OpDefinition,
    operands: Mapping[str, Array],
    extents: Mapping[str, int],
    dtypes: Mapping[str, np.dtype[Any]],
    attributes: CallAttributes,
) -> list[Array]:
    """The outputs of an op.

    Args:
        definition: the op; not rank-polymorphic unless every tensor is of rank 0.
        operands: an array for each input and each output (its value before the op), by name.
        extents: the size of each dimension of the iteration space.
    """
    arrays = {**operands, **{o.name: np.array(operands[o.name]) for o in definition.outputs}}
    shapes = {o.name: arrays[o.name].shape for o in definition.operands if o.kind.is_tensor}
    symbols = symbol_sizes(definition, shapes, attributes.symbols)
    for step in definition.steps:
        arrays |= _evaluate_step(step, arrays, extents, dtypes, attributes, symbols)
    return [arrays[o.name] for o in definition.outputs]


def _evaluate_step(
    definition: OpDefinition,
    operands: Mapping[str, Array],
    extents: Mapping[str, int],
    dtypes: Mapping[str, np.dtype[Any]],
    attributes: CallAttributes,
    symbols: Mapping[AffineExpr, int],
) -> dict[str, Array]:
    """The outputs of one structured op, by name."""
    outputs = {o.name: operands[o.name] for o in definition.outputs}
    kinds = dict(zip(definition.dims, definition.iterator_types, strict=True))
    spaces = {kind: [dim for dim in kinds if kinds[dim] is kind] for kind in IteratorType}
    parallel = [extents[dim] for dim in spaces[IteratorType.PARALLEL]]
    grid = dict(zip(spaces[IteratorType.PARALLEL], np.indices(parallel, sparse=True), strict=True))
    backwards = {
        a.recurrence[0] for a in definition.assignments if a.recurrence and a.recurrence[1]
    }
    sizes = [
        range(extents[dim])[:: -1 if dim in backwards else 1]
        for dim in spaces[IteratorType.REDUCTION]
    ]
    starts = {
        a.target.operand: recurrence_start(a, attributes, dtypes[str(a.target.type_var)])
        for a in definition.assignments
        if a.recurrence
    }
    all_dtypes = {**{name: np.dtype(dtype) for name, dtype in PREDEFINED.items()}, **dtypes}
    scope = _Scope(all_dtypes, attributes, symbols, tuple(parallel), starts, grid, operands)
    for point in itertools.product(*sizes):
        places = zip(spaces[IteratorType.REDUCTION], map(np.int64, point), strict=True)
        scope.position = {**grid, **dict(places)}
        scope.arrays = {**operands, **outputs}
        for assignment in definition.assignments:
            result = scope.value(assignment.value)
            target = outputs[assignment.target.operand]
            updated = np.array(target)
            updated[scope.indices(assignment.target)] = np.asarray(result).astype(target.dtype)
            outputs[assignment.target.operand] = updated
    return outputs


@dataclass
class _Scope:
    """The values and types that an expression refers to while it is evaluated.

    Attributes:
        shape: that of the parallel space.
        starts: the value of each recurrence before its first step.
        position: a position of the reduction space, and all of the parallel one.
        arrays: the operands and the outputs before that position.
    """

    dtypes: Mapping[str, np.dtype[Any]]
    attributes: CallAttributes
    symbols: Mapping[AffineExpr, int]
    shape: tuple[int, ...]
    starts: Mapping[str, complex]
    position: Mapping[str, Any]
    arrays: Mapping[str, Array]

    def indices(self, access: Access | Carried) -> tuple[Array, ...]:
        """Index arrays of an access."""
        return tuple(map(self._index, access.indices))

    def _index(self, index: AffineExpr) -> Array:
        leaves: dict[AffineExpr, Any] = {AffineDim(d): grid for d, grid in self.position.items()}
        leaves.update(self.symbols)
        return np.broadcast_to(np.asarray(index.evaluate(leaves)), self.shape)

    def _looked_up(self, lookup: Lookup) -> Array:
        """Elements at computed places, each moved to the nearest in range."""
        table = self.arrays[lookup.operand]
        indices = [
            self._index(index)
            if isinstance(index, AffineExpr)
            else np.clip(self.value(index), 0, size - 1)
            for index, size in zip(lookup.indices, table.shape, strict=True)
        ]
        return np.asarray(table[tuple(np.broadcast_arrays(*indices))])

    def _carried(self, carried: Carried) -> Array:
        """The elements of one step before; the start of the recurrence, before the first."""
        output = self.arrays[carried.operand]
        indices = self.indices(carried)
        inside = [(p >= 0) & (p < size) for p, size in zip(indices, output.shape, strict=True)]
        if not np.logical_and.reduce(inside).all():
            start = np.asarray(self.starts[carried.operand]).astype(output.dtype)
            return np.broadcast_to(start, self.shape)
        return np.asarray(output[indices])

    def value(self, expr: ScalarExpr) -> Array:
        """The value of an expression."""
        match expr:
            case Access():
                return np.asarray(self.arrays[expr.operand][self.indices(expr)])
            case Lookup():
                return self._looked_up(expr)
            case Carried():
                return self._carried(expr)
            case ScalarOperand():
                return np.asarray(self.arrays[expr.operand])
            case Const(value=value):
                return np.asarray(value, np.int64 if isinstance(value, int) else np.float64)
            case Index(dim=dim):
                return np.asarray(self.position[dim])
            case Size(symbol=symbol):
                return np.asarray(self.symbols[AffineSymbol(symbol)], np.int64)
            case Apply():
                args = [self.value(arg) for arg in expr.args]
                function = expr.function
                if expr.attribute is not None:
                    function = self.attributes.functions[expr.attribute]
                if expr.type_var is not None:
                    return cast_values(args[0], self.dtypes[expr.type_var.name], function.name)
                return apply_function(function, args)
            case _:
                raise TypeError(f"unknown scalar expression {type(expr).__name__}")
