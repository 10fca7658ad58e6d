"""The place of an op of live IR, for errors."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.structured.utils.maps import is_valid


def place_of(op: ir.Operation) -> str:
    """The location of an op, and its line of IR without its regions."""
    place = str(op.location).removeprefix("loc(").removesuffix(")")
    return f"{place}:   {line_of(op, large=16).strip()}"


def line_of(op: ir.Operation, *, large: int) -> str:
    """The text of an op without its regions.

    Before MLIR prints one op it verifies all of the function around it, the rules of this library
    in Python too. For one line it does to verify the op.

    Args:
        op: the op.
        large: constants of more elements, or resources of more characters, are elided.
    """
    text: str = op.get_asm(
        use_local_scope=True,
        skip_regions=True,
        large_elements_limit=large,
        large_resource_limit=large,
        assume_verified=is_valid(op),
    )
    return text
