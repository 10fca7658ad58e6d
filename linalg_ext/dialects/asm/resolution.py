"""Each op that was spelled otherwise is replaced by the op that it means.

The ops of our own dialect have a readable form of their own:

    %r = linalg_ext.contract ins(%a, %b, %c : tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x5xf32>)
           outs(%o : tensor<2x5xf32>)
           indexing_maps = [affine_map<(i, l, j, k) -> (i, j)>, affine_map<(i, l, j, k) -> (j, k)>,
                            affine_map<(i, l, j, k) -> (k, l)>, affine_map<(i, l, j, k) -> (i, l)>]
           kind = "+*" compute_type = f64 -> tensor<2x5xf32>
    %s = linalg_ext.elementwise ins(%x : tensor<16xf32>, %y : tensor<16x64xf32>)
           outs(%o : tensor<16x64xf32>) kind = add broadcast_a = [1] -> tensor<16x64xf32>
"""

from __future__ import annotations

import re
from collections.abc import Callable

from linalg_ext.bindings import ir
from linalg_ext.definition.operand_maps import add_readings
from linalg_ext.definition.renaming import Renaming
from linalg_ext.dialects.asm.spelled import SpelledOp
from linalg_ext.dialects.asm.translation import Translation
from linalg_ext.dialects.asm.upstream_ops import SpelledValues, build_linalg_op
from linalg_ext.dialects.linalg_ext.structured_rules import check_extension_op
from linalg_ext.errors import ArgumentError, LinalgExtError, ShapeError, VerificationError
from linalg_ext.notations.mlir_text import Span
from linalg_ext.structured.extension import (
    COMPUTE_TYPE,
    ELEMENTWISE,
    KIND,
    SEGMENTS,
    extension_definition,
    segments,
)
from linalg_ext.structured.operands import ops_where, static_sizes

SPELLED = "linalg_ext.spelled"

_ASSIGNMENT = re.compile(r"\b(\w+)=(?=[\[(])")


def resolve(module: ir.Module, translation: Translation) -> None:
    """Replace every spelled op of a module.

    Args:
        module: parsed from `translation.text`; it is changed.
        translation: the text.

    Raises:
        VerificationError: an op has no meaning as it is written; points at it in the source.
    """
    for op in ops_where(module.operation, lambda op: op.name == SPELLED):
        spelled = _written(op, translation)
        try:
            with op.context, _location(op, spelled, translation), ir.InsertionPoint(op):
                _replace(op, spelled)
        except LinalgExtError as error:
            raise _located(error, spelled, translation) from None


def _written(op: ir.Operation, translation: Translation) -> SpelledOp:
    number = op.attributes.get("number", None)
    if isinstance(number, ir.IntegerAttr) and 0 <= number.value < len(translation.ops):
        return translation.ops[number.value]
    raise VerificationError(
        f"'{SPELLED}' op stands for an unresolved op, and is not one itself",
        where=str(op.location),
        hint="write the op that is meant",
    )


def _replace(op: ir.Operation, spelled: SpelledOp) -> None:
    values = SpelledValues.of(op, spelled)
    build: Callable[[SpelledValues], ir.Operation] = (
        build_own_op if spelled.name.startswith("linalg_ext.") else build_linalg_op
    )
    _check_result(op, values)
    new = build(values)
    if len(op.results):
        op.results[0].replace_all_uses_with(new.results[0])
    op.erase()


def _check_result(op: ir.Operation, values: SpelledValues) -> None:
    expected = values.output.type
    result_types = [result.type for result in op.results]
    if isinstance(expected, ir.RankedTensorType):
        if result_types != [expected]:
            fact = f"gives {result_types[0]}" if result_types else "does not state its results"
            raise ArgumentError(
                f"{values.name} {fact}", expected=f"the type of its destination: {expected}"
            )
    elif result_types:
        raise ArgumentError(
            f"{values.name} gives {result_types[0]}",
            expected=f"no result: it writes to its destination, of type {expected}",
        )


def _location(op: ir.Operation, spelled: SpelledOp, translation: Translation) -> ir.Location:
    location = op.location
    if location.typeid != ir.FileLineColLoc.static_typeid:
        return location
    return ir.Location.file(
        ir.FileLineColLoc(location).filename, *translation.source_place(spelled.start)
    )


def _located(
    error: LinalgExtError, spelled: SpelledOp, translation: Translation
) -> VerificationError:
    """An error about a spelled op, at the part of the text that it is about."""
    place = _place(error, spelled)
    hint = None if error.hint is None else _ASSIGNMENT.sub(r"\1 = ", error.hint)
    return VerificationError(
        error.what.replace("= is about", " is about"),
        where=translation.source.place(place.start, place.end),
        expected=error.expected,
        hint=hint,
    )


def _place(error: LinalgExtError, spelled: SpelledOp) -> Span:
    """The first clause or operand that a message names; else the name of the op."""
    for text in (error.what, error.hint or ""):
        for clause in spelled.clauses:
            if re.search(rf"\b{re.escape(clause.name)}\b", text):
                return clause.place
    for letter, operand in zip(
        "abcdefghijklmnopqrstuvwxyz", (*spelled.inputs, *spelled.outputs), strict=False
    ):
        if re.search(rf": {letter}\b|\bbut {letter}\b|operand {letter}\b", error.what, re.I):
            for clause in spelled.clauses:
                if clause.name.endswith(f"_{letter}"):
                    return clause.place
            return Span("", operand.name.start, operand.type.end)
    return Span("", spelled.start, spelled.start + len(spelled.name))


def build_own_op(values: SpelledValues) -> ir.Operation:
    """Build the op at the current insertion point.

    Raises:
        ArgumentError: it breaks one of its rules.
    """
    attributes = values.attributes
    for name, meaning in values.sugar.items():
        # The op has no word for the transpose of a matrix.
        is_matrix = meaning is True
        key = name.replace("transpose_", "permutation_") if is_matrix else name
        attributes[key] = ir.Attribute.parse("[1, 0]") if is_matrix else values.entries[name]
    kind = attributes.get(KIND)
    if values.name == ELEMENTWISE and isinstance(kind, ir.StringAttr) and kind.value.isidentifier():
        attributes[KIND] = _kind(kind)
    if values.compute_type is not None:
        attributes[COMPUTE_TYPE] = values.compute_type
    op = ir.Operation.create(
        values.name,
        results=[values.output.type],
        operands=[*values.inputs, values.output],
        attributes={**attributes, SEGMENTS: segments(len(values.inputs))},
    )
    try:
        check_extension_op(op)
    except ShapeError as error:
        raise _with_readings(error, op) from None
    except LinalgExtError:
        op.erase()
        raise
    return op


def _with_readings(error: ShapeError, op: ir.Operation) -> ArgumentError:
    """Add a hint to an error: the keywords that may be meant, by the operands' letters.

    The op is erased.
    """
    if error.hint is None and op.name == ELEMENTWISE:
        definition = extension_definition(op)
        operands = [*definition.inputs, *definition.outputs]
        shapes = {
            operand.name.lower(): static_sizes(value)
            for operand, value in zip(operands, op.operands, strict=True)
            if operand.kind.is_tensor
        }
        lower = Renaming(operands={operand.name: operand.name.lower() for operand in operands})
        add_readings(error, lower.definition(definition), shapes, {})
    op.erase()
    return error


def _kind(word: ir.StringAttr) -> ir.Attribute:
    try:
        return ir.Attribute.parse(f"#linalg.elementwise_kind<{word.value}>")
    except ir.MLIRError:
        return word  # the op's own rules tell its mistake
