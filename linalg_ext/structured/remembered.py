"""`recognize`, remembered: an op that looks as one did before computes what that one did.

Modules repeat themselves, and reading an op costs as much as building it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from linalg_ext.bindings import ir
from linalg_ext.definition.compute_type import ComputeForm, in_compute_type
from linalg_ext.definition.model import OpDefinition
from linalg_ext.structured.recognition import RecognizedOp, recognize

WITH_BODY_OF_ITS_OWN = frozenset({"linalg.generic", "linalg.map", "linalg.reduce"})
"""Ops whose body their author writes; that of the others of linalg follows from the rest."""

_MOST = 4096
"""How much is remembered; then all is forgotten, which only costs time."""


@dataclass(frozen=True)
class Reading:
    """What an op computes, without the op.

    Attributes:
        definition: what it computes, at the types that it has.
        types: the element type of each type variable.
        unsigned: whether it is told to read integers as unsigned, even where no cast shows it.
        forms: what it computes in compute types.
    """

    definition: OpDefinition
    types: Mapping[str, str]
    unsigned: bool
    forms: dict[str, ComputeForm] = field(default_factory=dict)

    def form(self, compute: str) -> ComputeForm:
        """The op in a compute type.

        Raises:
            DTypeError: the compute type cannot hold the operation.
        """
        if compute not in self.forms:
            self.forms[compute] = in_compute_type(
                self.definition, self.types, compute, unsigned=self.unsigned
            )
        return self.forms[compute]


_readings: dict[object, Reading] = {}


def read(op: ir.Operation | ir.OpView) -> tuple[RecognizedOp, Reading]:
    """What an op computes, and what is known of all ops alike; raises as `recognize` does."""
    operation = op.operation
    with operation.context:
        key = _signature(operation)
    reading = _readings.get(key) if key is not None else None
    if reading is not None:
        values = list(operation.operands)
        count = len(reading.definition.inputs)
        found = RecognizedOp(
            reading.definition, tuple(values[:count]), tuple(values[count:]), reading.types
        )
        return found, reading
    recognized = recognize(operation)
    reading = Reading(recognized.definition, recognized.types, _casts_unsigned(operation))
    if key is not None:
        if len(_readings) >= _MOST:
            _readings.clear()
        _readings[key] = reading
    return recognized, reading


def _casts_unsigned(op: ir.Operation) -> bool:
    return "cast" in op.attributes and "cast_unsigned" in str(op.attributes["cast"])


def _signature(op: ir.Operation) -> object | None:
    """All that the meaning of an op depends on; None where that is more than the op itself."""
    if len(op.regions) != 1 or not len(op.regions[0].blocks):
        return None
    types = tuple(str(value.type) for value in op.operands)
    attributes = _attributes(op)
    if op.name.startswith("linalg.") and op.name not in WITH_BODY_OF_ITS_OWN:
        return op.name, types, attributes
    body = _body(op)
    return None if body is None else (op.name, types, attributes, body)


def _attributes(op: ir.Operation) -> tuple[tuple[str, str], ...]:
    """Those with a dot are others' remarks."""
    return tuple((name, str(op.attributes[name])) for name in op.attributes if "." not in name)


def _body(op: ir.Operation) -> object | None:
    """The ops of a body with what they compute from; None where one takes a value from outside."""
    block = op.regions[0].blocks[0]
    numbers: dict[ir.Value, int] = {argument: i for i, argument in enumerate(block.arguments)}
    found = []
    for each in block.operations:
        inner = each.operation
        operands = [numbers.get(operand) for operand in inner.operands]
        if None in operands or len(inner.regions):
            return None
        results = tuple(str(result.type) for result in inner.results)
        found.append((inner.name, tuple(operands), results, _attributes(inner)))
        for result in inner.results:
            numbers[result] = len(numbers)
    return tuple(found)
