"""A module printed with structured ops in the spelling of the wish list."""

from __future__ import annotations

from linalg_ext.bindings import ir


def to_text(module: ir.Module) -> str:
    """Placeholder."""
    return str(module)
