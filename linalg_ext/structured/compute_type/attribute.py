"""The compute type of an op on live IR: the attribute `linalg_ext.compute_type`.

    %r = linalg.matmul {linalg_ext.compute_type = f32}
           ins(%a, %b : tensor<16x64xbf16>, tensor<64x32xf32>) outs(%c : tensor<16x32xi8>)
           -> tensor<16x32xi8>

Any structured op may carry it. What it means is said in `definition.compute_type`; it is a
discardable attribute, which upstream neither checks nor lowers: `Module.verify` checks it, and the
pass `linalg-ext-materialize-compute-type` turns it into plain linalg.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.definition.compute_type import ComputeForm, in_compute_type
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.types import family
from linalg_ext.errors import (
    ArgumentError,
    DefinitionError,
    DTypeError,
    RecognitionError,
    VerificationError,
)
from linalg_ext.ir.diagnostics import Diagnostic
from linalg_ext.runtime.dtypes import mlir_text
from linalg_ext.structured.extension.attributes import COMPUTE_TYPE
from linalg_ext.structured.recognition import RecognizedOp, recognize

NAME = COMPUTE_TYPE
"""The attribute; its value is a type: `f32`."""

_EXPECTED = "a float, integer or complex type, such as f32 or i32"


def as_compute_type(value: Any, op_name: str = "") -> ir.Type:
    """A compute type from what a caller gives for one, in the current context.

    Args:
        value: an IR type, its spelling in MLIR, or a dtype. Where a text is both, it is MLIR's:
            `"i8"` has 8 bits, as in the attribute.
        op_name: what it is given for, to name in the error.

    Raises:
        DTypeError: it is none of these, or no float, integer or complex type.
    """
    subject = f"{op_name}: " if op_name else ""
    if isinstance(value, ir.Type):
        element = value
    else:
        spelling = value if isinstance(value, str) and family(value) else None
        try:
            element = ir.Type.parse(spelling or mlir_text(np.dtype(value)))
        except (TypeError, ir.MLIRError) as error:
            raise DTypeError(
                f"{subject}{value!r} is no compute type", expected=_EXPECTED, notes=[str(error)]
            ) from None
    if not _is_scalar(element):
        raise DTypeError(f"{subject}{element} is no compute type", expected=_EXPECTED)
    return element


def compute_type_of(op: ir.Operation | ir.OpView) -> ir.Type | None:
    """The compute type that an op carries; None where it carries none.

    Raises:
        VerificationError: the attribute is of another kind, or its type is no scalar one.
    """
    attributes = op.operation.attributes
    if NAME not in attributes:
        return None
    attribute = attributes[NAME]
    if not isinstance(attribute, ir.TypeAttr):
        raise _broken(op, f"{NAME} is {attribute}", expected=f"a type: {NAME} = f32")
    element = attribute.value
    if not _is_scalar(element):
        raise _broken(op, f"{NAME} is {element}", expected=_EXPECTED)
    return element


def set_compute_type(op: ir.Operation | ir.OpView, value: Any) -> None:
    """Have an op compute in a type; see `as_compute_type` for what names one. None takes it away.

    Raises:
        DTypeError: it is no compute type, or one that cannot hold the operation.
        ArgumentError: this is no structured op.
    """
    operation = op.operation
    if value is None:
        clear_compute_type(operation)
        return
    with operation.context:
        element = as_compute_type(value)
    _check_form(operation, element)
    with operation.context:
        operation.attributes[NAME] = ir.TypeAttr.get(element)


def clear_compute_type(op: ir.Operation | ir.OpView) -> None:
    """Take the compute type of an op away."""
    attributes = op.operation.attributes
    if NAME in attributes:
        del attributes[NAME]


def form_of(
    op: ir.Operation | ir.OpView, recognized: RecognizedOp, element: ir.Type
) -> ComputeForm:
    """Return the form of an op in a compute type; ops that are alike share one.

    Args:
        op: a structured op.
        recognized: the result of `recognize` for the op.
        element: the compute type.

    Raises:
        DTypeError: the compute type cannot hold the operation.
    """
    attributes = op.operation.attributes
    # Told so, even where its operands are of one type and no cast shows it.
    unsigned = "cast" in attributes and "cast_unsigned" in str(attributes["cast"])
    types = tuple(recognized.types.items())
    return _derived(recognized.definition, types, str(element), unsigned)


@functools.lru_cache(maxsize=4096)
def _derived(
    definition: OpDefinition, types: tuple[tuple[str, str], ...], compute: str, unsigned: bool
) -> ComputeForm:
    return in_compute_type(definition, dict(types), compute, unsigned=unsigned)


def check_compute_type(
    op: ir.Operation | ir.OpView, *, text: str = "", filename: str = "-"
) -> None:
    """Check the compute type of one op, if it carries one.

    Args:
        op: any op.
        text: what it was parsed from, to show the line of an error.
        filename: what errors call that text.

    Raises:
        VerificationError: the attribute is of the wrong kind, stands on an op that computes
            nothing, or names a type that cannot hold the operation; names the place.
    """
    try:
        _check(op)
    except VerificationError as error:
        if text:
            error.where = Diagnostic.at(op.operation.location, error.what).pointed(text, filename)
        raise


def check_compute_types(
    root: ir.Operation | ir.OpView, *, text: str = "", filename: str = "-"
) -> None:
    """Check the compute types of all ops that `root` holds, itself included.

    Args:
        root: an op, a module's for example.
        text: what it was parsed from, to show the line of an error.
        filename: what errors call that text.

    Raises:
        VerificationError: as of `check_compute_type`, for the first that is wrong.
    """
    for op in ops_with_compute_type(root):
        check_compute_type(op, text=text, filename=filename)


def ops_with_compute_type(root: ir.Operation | ir.OpView) -> list[ir.Operation]:
    """The ops that carry one, of those that `root` holds and itself, in the order of the text."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if NAME in op.attributes:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    root.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _check(op: ir.Operation | ir.OpView) -> None:
    element = compute_type_of(op)
    if element is None:
        return
    try:
        _check_form(op.operation, element)
    except ArgumentError as error:
        what, expected = error.what, error.expected
        if not isinstance(error, DTypeError):
            what = f"carries {NAME}, but has no body that computes one element"
            expected = "the attribute on a structured op, such as linalg.matmul or linalg.generic"
        raise _broken(op, what, expected=expected, hint=error.hint) from None


def _check_form(op: ir.Operation, element: ir.Type) -> None:
    """Raise where a compute type cannot hold an op; one that no definition says may do anything."""
    with contextlib.suppress(RecognitionError, DefinitionError):
        form_of(op, recognize(op), element)


def _is_scalar(element: ir.Type) -> bool:
    if isinstance(element, ir.IntegerType) and not element.is_signless:
        return False
    return family(str(element)) not in (None, "index")


def _broken(
    op: ir.Operation | ir.OpView, what: str, *, expected: str | None, hint: str | None = None
) -> VerificationError:
    message = f"'{op.operation.name}' op {what}"
    place = Diagnostic.at(op.operation.location, message)
    head = str(op.operation).splitlines()[0].strip()
    return VerificationError(
        message, where=f"{place.place('-')}:   {head}", expected=expected, hint=hint
    )
