"""The common part of the rewrites of structured ops: reading one, and replacing one."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, RecognitionError
from linalg_ext.rewriting import MatchFailure, Rewriter
from linalg_ext.structured.contraction_form import Contraction, contraction_of
from linalg_ext.structured.extension import carry_over
from linalg_ext.structured.recognition import RecognizedOp, recognize

LIBRARY_CALL = MatchFailure("the op names the library function that it calls")


def read(op: ir.Operation) -> RecognizedOp | MatchFailure:
    """A structured op as a definition, or why it is not one."""
    if "library_call" in op.attributes:
        return LIBRARY_CALL
    try:
        return recognize(op)
    except RecognitionError as error:
        return MatchFailure(error.reason)
    except ArgumentError as error:
        return MatchFailure(error.what)


def read_product(op: ir.Operation) -> tuple[RecognizedOp, Contraction] | MatchFailure:
    """A structured op as a sum of products of two operands, or why it is not one."""
    recognized = read(op)
    if isinstance(recognized, MatchFailure):
        return recognized
    contraction = contraction_of(recognized)
    if contraction is None:
        return MatchFailure(
            "the op is not a sum of products of two operands, cast to the type of the result"
        )
    return recognized, contraction


def put_in_place(op: ir.Operation, new: ir.Operation, rewriter: Rewriter) -> bool:
    """Replace a structured op by one that was built for it, which gets its discardable attributes.

    True, as a pattern answers.
    """
    carry_over(op, new)
    if len(op.results):
        rewriter.replace_op(op, new)
    else:
        rewriter.erase_op(op)  # it wrote to memrefs and has no results to replace
    return True
