"""Ops of linalg, as they are spelled, become the op that says what they mean.

The op of that name where it takes the operands as they are given; else one that carries its maps
(`linalg.matmul` with `indexing_maps`, `linalg.elementwise`, `linalg.contract`, ours), else
`linalg.generic`.
"""

from __future__ import annotations

from dataclasses import replace

from linalg_ext.asm.legacy_ops import TRANSPOSED
from linalg_ext.asm.parsed_operands import SpelledValues
from linalg_ext.asm.semantics import Meaning, meaning_of
from linalg_ext.bindings import ir
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.operand_maps import add_readings
from linalg_ext.definition.renaming import Renaming
from linalg_ext.errors import ShapeError
from linalg_ext.notations.operand_keywords import (
    Said,
    inverses_named,
    take_operand_maps,
    with_operand_maps,
)
from linalg_ext.structured.extension import CAST, COMPUTE_TYPE, KIND, LETTERS, MAPS
from linalg_ext.structured.op_builders import build, build_mapped
from linalg_ext.structured.operands import BoundOp, bind, static_sizes

_CATEGORIES = ("linalg.elementwise", "linalg.contract")


def build_linalg_op(values: SpelledValues) -> ir.Operation:
    """Build the op at the current insertion point.

    Raises:
        ArgumentError: what is said of it does not fit its operands, or there is no such op.
    """
    meaning = meaning_of(values)
    said = take_operand_maps(meaning.definition, dict(values.sugar))
    meaning, said = _lettered(meaning, said)
    bound = _bound(meaning.definition, said, values, meaning.attributes)
    op = _built(values.name, bound, is_mapped=bool(said) or meaning.is_mapped)
    if CAST in op.attributes and CAST not in values.said:
        del op.attributes[CAST]  # it is the default: the op stays as it is written
    if values.compute_type is not None:
        op.attributes[COMPUTE_TYPE] = values.compute_type
    # The very attributes of the text, defaults too, where the op is the one that is named there.
    for name in values.attributes:
        if name in meaning.notes or (op.name == values.name and name not in (MAPS, KIND)):
            op.attributes[name] = values.attributes[name]
    return op


def _lettered(meaning: Meaning, said: Said) -> tuple[Meaning, Said]:
    """Operands named a, b, c, ...: messages are about what the text says."""
    definition = meaning.definition
    names = [operand.name for operand in (*definition.inputs, *definition.outputs)]
    letters = dict(zip(names, (*LETTERS, "z"), strict=False))
    renamed = Renaming(operands=letters).definition(definition)
    return (
        replace(meaning, definition=renamed),
        {letters[name]: things for name, things in said.items()},
    )


def _bound(
    definition: OpDefinition, said: Said, values: SpelledValues, attributes: CallAttributes
) -> BoundOp:
    operands = (*definition.inputs, *definition.outputs)
    shapes = {
        operand.name: static_sizes(value)
        for operand, value in zip(operands, (*values.inputs, values.output), strict=False)
        if operand.kind.is_tensor and isinstance(value.type, (ir.RankedTensorType, ir.MemRefType))
    }
    ranks = {name: len(shape) for name, shape in shapes.items()}
    mapped = definition
    try:
        with inverses_named(definition, said, shapes, attributes.symbols):
            mapped = with_operand_maps(definition, said, ranks)
            return bind(mapped, values.inputs, [values.output], attributes)
    except ShapeError as error:
        if error.hint is None:
            raise add_readings(error, mapped, shapes, attributes.symbols) from None
        raise


def _built(name: str, bound: BoundOp, *, is_mapped: bool) -> ir.Operation:
    short = name.removeprefix("linalg.")
    if short in TRANSPOSED:
        named = replace(bound.definition, name=TRANSPOSED[short])
        bound, is_mapped = replace(bound, definition=named), True
    if name in _CATEGORIES and (category := build_mapped(bound)) is not None:
        return category
    built = build(
        bound, mapped=is_mapped or not bound.inputs[0].context.is_registered_operation(name)
    )
    if isinstance(built, ir.Operation):
        return built
    value = built if isinstance(built, ir.Value) else built[0]
    return ir.OpResult(value).owner.operation
