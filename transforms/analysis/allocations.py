"""What reaches the memory of an allocation, under its own name or another."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir

_KNOWN = ("memref.", "linalg.", "vector.", "affine.", "func.", "arith.", "amx.", "x86")
"""Before the names of ops that reach a buffer while they run, or give a view of it, and no more."""

_ENDS = (".yield", ".return", ".condition")
"""At the end of the names of ops that hand a buffer on to another region."""

_KEEP_ADDRESSES = frozenset(
    f"arith.{name}" for name in ("addi", "subi", "andi", "ori", "index_cast", "select")
)
"""Ops of which an address can be got back; of a remainder or of a comparison it cannot."""

_ADDRESS = "memref.extract_aligned_pointer_as_index"


def reaching(buffer: ir.Value, *, handed_over: bool = False) -> list[Any] | None:
    """The ops that reach the memory of an allocation; None where it may live on beyond them.

    It may where it is handed on to another block, freed under another name, or its address is
    taken by what is not known here.

    Args:
        buffer: what the allocation gave.
        handed_over: whether functions may be given it as a struct: those that share loops are.
    """
    found: list[Any] = []
    waiting = [buffer]
    while waiting:
        value = waiting.pop()
        is_address = not isinstance(value.type, ir.MemRefType)
        for use in value.uses:
            op = use.owner.operation
            found.append(op)
            if op.name == "memref.dealloc" and value == buffer:
                continue
            if handed_over and (is_address or _is_cast_to_struct(op)):
                continue
            if _loses(op, value, is_address=is_address):
                return None
            waiting += _other_names(op, is_address=is_address)
    return found


def _loses(op: Any, value: ir.Value, *, is_address: bool) -> bool:
    """Whether it cannot be told what becomes of the buffer."""
    if op.name.endswith(_ENDS) or op.name == "memref.dealloc":
        return True
    if is_address:
        return bool(op.name.startswith(("llvm.", "func.")))
    is_stored = op.name == "memref.store" and op.operands[0] == value
    is_carried = len(op.regions) and not op.name.startswith(("linalg.", "memref."))
    return is_stored or bool(is_carried) or not op.name.startswith(_KNOWN)


def _other_names(op: Any, *, is_address: bool) -> list[Any]:
    """The results by which the same memory can be reached."""
    if is_address:
        return list(op.results) if op.name in _KEEP_ADDRESSES else []
    return [
        result
        for result in op.results
        if op.name == _ADDRESS or isinstance(result.type, ir.MemRefType)
    ]


def _is_cast_to_struct(op: Any) -> bool:
    return bool(op.name == "builtin.unrealized_conversion_cast")
