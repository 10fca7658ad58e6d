"""A definition called on arrays, by the oracle: no MLIR, no compilation, no hurry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.definition.attributes import CallAttributes, resolve_attributes
from linalg_ext.definition.call_dtypes import resolve_dtypes
from linalg_ext.definition.call_inputs import per_output, split_inputs
from linalg_ext.definition.call_shapes import resolve_shapes
from linalg_ext.definition.initial import initial_number
from linalg_ext.definition.model import OpDefinition, Operand, OperandKind, reads_before
from linalg_ext.definition.reference import Array, evaluate
from linalg_ext.definition.shapes import infer_extents
from linalg_ext.definition.specialization import at_rank
from linalg_ext.errors import ArgumentError, DTypeError, ShapeError


def reference(
    definition: OpDefinition, operands: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Array | tuple[Array, ...]:
    """Compute the result of an op for arrays; see `OpDefinition.reference`."""
    keywords = dict(keywords)
    init = per_output(definition, "init", keywords.pop("init", None))
    dtype = _dtype(definition, keywords.pop("dtype", None))
    given = split_inputs(definition, operands, keywords)
    attributes = resolve_attributes(definition, keywords, also=("init", "dtype"))
    inputs = {
        operand.name: _input(definition, operand, value)
        for operand, value in zip(definition.inputs, given, strict=True)
    }
    inits = {name: _array(definition, name, value) for name, value in init.items()}
    known = {name: array.dtype for name, array in inits.items()}
    dtypes = resolve_dtypes(definition, inputs, known, dtype)
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
    """One call, its dtypes and shapes known."""

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
            raise DTypeError(f"{self.definition.name}: {operand.name}={value!r} is no {dtype}")
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
        raise DTypeError(f"{definition.name}: dtype={value!r} is no dtype") from None


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
        raise ArgumentError(f"{definition.name}: {name} is no array", notes=[str(error)]) from None
    if array.dtype.kind in "OSUMm":
        raise DTypeError(f"{definition.name}: {name} is an array of {array.dtype}, not of numbers")
    return array
