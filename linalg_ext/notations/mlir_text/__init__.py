"""MLIR's text as text: its tokens, and changes to it that remember where each part came from."""

from __future__ import annotations

from linalg_ext.notations.mlir_text.edits import Edit, EditedText, apply_edits
from linalg_ext.notations.mlir_text.lexer import CodeFilter, Reader, Span, Token, flat

__all__ = [
    "CodeFilter",
    "Edit",
    "EditedText",
    "Reader",
    "Span",
    "Token",
    "apply_edits",
    "flat",
]
