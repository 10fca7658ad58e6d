"""Ops that some version of MLIR's linalg spells, and this one perhaps does not."""

from __future__ import annotations

import functools

from linalg_ext.bindings import ir
from linalg_ext.gml_st import asm
from linalg_ext.ir.context import new_context
from linalg_ext.notations.source_text import SourceText

from . import groups
from .spelled import Translation, translate

TRANSPOSED = {
    "matmul_transpose_a": "matmul",
    "matmul_transpose_b": "matmul",
    "batch_matmul_transpose_a": "batch_matmul",
    "batch_matmul_transpose_b": "batch_matmul",
}
"""Variants that upstream removed in 2025, and the op whose maps say them."""

_ELEMENTWISE = (
    "abs add ceil copy div div_unsigned elemwise_binary elemwise_unary erf exp floor log max min "
    "mul negf powf reciprocal round rsqrt select sqrt square sub tanh"
)
"""Element-wise ops that upstream removed in 2025 and 2026, or may."""


def translated(text: str, filename: str) -> Translation:
    """A text as the parser at hand reads it: structured ops, and those of `gml_st`, groups.

    Raises:
        ParseError: a mistake in an op that is spelled otherwise; points at it.
    """
    source = SourceText(text, filename)
    own = [*asm.changes(source), *groups.changes(source)]
    return translate(text, filename, _unknown(), own)


def is_linalg_op(name: str, context: ir.Context) -> bool:
    """Return whether an op is one of linalg, in this version of it or in another."""
    return name in _ONCE or context.is_registered_operation(name)


_ONCE = frozenset(f"linalg.{name}" for name in (*TRANSPOSED, *_ELEMENTWISE.split()))


@functools.cache
def _unknown() -> frozenset[str]:
    """Return the legacy ops that are not registered in this build of MLIR."""
    context = new_context()
    return frozenset(name for name in _ONCE if not context.is_registered_operation(name))
