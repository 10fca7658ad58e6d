"""Each op that was spelled otherwise is replaced by the op that it means."""

from __future__ import annotations

import re
from collections.abc import Callable

from linalg_ext.asm.own_ops import build_own_op
from linalg_ext.asm.parsed_operands import SpelledValues
from linalg_ext.asm.upstream_ops import build_linalg_op
from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, LinalgExtError, VerificationError
from linalg_ext.notations.mlir_text import Span

from .spelled import SpelledOp, Translation

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
    for op in _found(module.operation):
        spelled = _written(op, translation)
        try:
            with op.context, _location(op, spelled, translation), ir.InsertionPoint(op):
                _replace(op, spelled)
        except LinalgExtError as error:
            raise _located(error, spelled, translation) from None


def _found(root: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == SPELLED:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


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
    found = [result.type for result in op.results]
    if isinstance(expected, ir.RankedTensorType):
        if found != [expected]:
            said = f"gives {found[0]}" if found else "does not say what it gives"
            raise ArgumentError(
                f"{values.name} {said}", expected=f"the type of its destination: {expected}"
            )
    elif found:
        raise ArgumentError(
            f"{values.name} gives {found[0]}",
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
