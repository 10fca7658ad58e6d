"""Documentation of an op for `help()` and editors: its call, meaning, operands and results."""

from __future__ import annotations

import inspect
import textwrap

from linalg_ext.definition.functions import Function
from linalg_ext.definition.model import OpDefinition, Operand, OperandKind

ON_ARRAYS: tuple[tuple[str, str], ...] = (
    ("out", "the array that the result is written to; a tuple of several results."),
    ("init", "the start of an accumulation; by default the neutral element."),
    ("dtype", "the element type of the result; by default NumPy's `result_type` of the inputs."),
    ("compute_type", "the element type to compute in; by default that of the result."),
    (
        "threads",
        "the number of threads that may work on the call; by default `lx.threads.current()`.",
    ),
)
"""Keywords of every op on arrays besides its own operands; None by default."""


def help_text(definition: OpDefinition, signature: inspect.Signature) -> str:
    """The documentation of an op, in the sections of NumPy's.

    Args:
        definition: of the op.
        signature: of a call on arrays.
    """
    inputs = [f"{each.name} : {_kind(each, definition)}" for each in definition.inputs]
    attributes = [f"{each.name} : {_attribute(each)}" for each in definition.attributes]
    common = [f"{name} : optional\n    {text}" for name, text in ON_ARRAYS]
    results = [f"{each.name} : {_kind(each, definition)}" for each in definition.outputs]
    parts = [
        f"{definition.name}{signature}",
        definition.doc,
        _section("Parameters", [*inputs, *attributes, *common]),
        _section("Returns", results),
        "The call on values of MLIR builds IR (`outs=[...]` are its destinations); under `lx.jit` "
        "it is recorded.",
    ]
    return "\n\n".join(
        textwrap.fill(part, 88) if "\n" not in part and " " in part else part
        for part in parts
        if part
    )


def _section(title: str, entries: list[str]) -> str:
    return "\n".join([title, "-" * len(title), *entries]) if entries else ""


def _kind(operand: Operand, definition: OpDefinition) -> str:
    if operand.kind is OperandKind.SCALAR:
        return f"scalar of {operand.type_var}"
    if definition.is_rank_polymorphic and operand.rank == 0:
        return f"array of {operand.type_var}, of any shape"
    sizes = ", ".join(map(str, operand.shape)) + ("," if operand.rank == 1 else "")
    return f"array of {operand.type_var}, shape ({sizes})"


def _attribute(operand: Operand) -> str:
    default = operand.default.name if isinstance(operand.default, Function) else operand.default
    return "required" if default is None else f"optional, {default!r} by default"
