"""The rules of the structured ops of our own dialect, which their verifiers hold."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.functions import BINARY
from linalg_ext.errors import ArgumentError, DTypeError, counted
from linalg_ext.structured.constants import is_complex
from linalg_ext.structured.extension import (
    COMPUTE_TYPE,
    CONTRACT,
    contract_kind,
    elementwise_function,
    extension_definition,
)
from linalg_ext.structured.operands import bind
from linalg_ext.structured.recognition import has_meaning

_sound: set[tuple[object, ...]] = set()
"""The memo of ops that keep the rules, by name, attributes and types.

Verifiers run after every pass.
"""
_MOST_SOUND = 4096


def check_extension_op(op: ir.Operation) -> None:
    """Check an op of ours against the rules of its kind and its maps.

    Raises:
        ArgumentError: of the kind of the mistake; names operands, dimensions and types.
    """
    key = (
        op.name,
        tuple((name, str(attribute)) for name, attribute in op.attributes.items()),
        tuple(str(value.type) for value in (*op.operands, *op.results)),
        len(op.operands),
    )
    if key in _sound:
        return
    _check(op)
    if len(_sound) >= _MOST_SOUND:
        _sound.clear()
    _sound.add(key)


def _check(op: ir.Operation) -> None:
    if len(op.operands) < 2:
        raise ArgumentError(
            f"{op.name} has {counted(len(op.operands), 'operand')}",
            expected="inputs, and a destination",
        )
    *inputs, destination = op.operands
    if not isinstance(destination.type, ir.RankedTensorType):
        raise ArgumentError(
            f"the destination is of type {destination.type}", expected="a ranked tensor"
        )
    for position, value in enumerate(inputs):
        if isinstance(value.type, ir.ShapedType) and not isinstance(
            value.type, ir.RankedTensorType
        ):
            raise ArgumentError(
                f"operand {position} is of type {value.type}",
                expected="a tensor or a scalar",
            )
    if [result.type for result in op.results] != [destination.type]:
        result_types = ", ".join(str(result.type) for result in op.results) or "nothing"
        raise ArgumentError(
            f"{op.name} gives {result_types}",
            expected=f"the type of its destination: {destination.type}",
        )
    definition = extension_definition(op)
    for dim in definition.dims:
        if dim not in definition.indexed_dims:
            raise ArgumentError(
                f"dimension {dim} is in no map: the maps do not cover the iteration space "
                f"({', '.join(definition.dims)})"
            )
    bound = bind(definition, inputs, [destination], CallAttributes())
    _check_meaning(op, bound.types["U"])


def _check_meaning(op: ir.Operation, computed: ir.Type) -> None:
    """Raise where a function of the op has no meaning for the type that it computes in."""
    if COMPUTE_TYPE in op.attributes:
        attribute = op.attributes[COMPUTE_TYPE]
        if not isinstance(attribute, ir.TypeAttr):
            raise ArgumentError(f"{COMPUTE_TYPE} = {attribute}", expected="a type, such as f32")
        computed = attribute.value
    if op.name == CONTRACT:
        kind = contract_kind(op)
        if kind.is_ordered and is_complex(computed):
            raise DTypeError(f"kind {kind} needs an order, which {computed} has not")
        functions = [kind.add, kind.multiply]
    else:
        functions = [elementwise_function(op)]
    for function in functions:
        if not has_meaning(function.kind, function.name, str(computed)):
            raise DTypeError(
                f"{function.name} has no meaning for {computed}",
                hint=f"compute in another type: {COMPUTE_TYPE} = f32"
                if function not in (BINARY["and"], BINARY["or"])
                else None,
            )
