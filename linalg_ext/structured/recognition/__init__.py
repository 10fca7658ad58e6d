"""Structured ops of live IR as definitions: the way back. Contractions, found in definitions."""

from linalg_ext.structured.recognition.definitions import RecognizedOp, definition_of, recognize

__all__ = ["RecognizedOp", "definition_of", "recognize"]
