"""Where an op of live IR stands, for errors."""

from __future__ import annotations

from linalg_ext.bindings import ir


def place_of(op: ir.Operation) -> str:
    """The location of an op, and its line of IR without its regions."""
    # In a scope of its own: else MLIR numbers the values of the whole function for one line.
    text = op.get_asm(use_local_scope=True, skip_regions=True, large_elements_limit=16).strip()
    place = str(op.location).removeprefix("loc(").removesuffix(")")
    return f"{place}:   {text}"
