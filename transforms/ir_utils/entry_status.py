"""The entry function that reports failures in a status, and how it is recognized."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, cf, ir
from linalg_ext.errors import LoweringError

from .arithmetic import constant
from .walking import functions

STATUS = "linalg_ext.status"
"""Unit attribute of the function whose last argument, a `memref<1xi64>`, takes the status."""

PART = "linalg_ext.part"
"""Unit attribute of a function that does a part of the entry's work, and last gives its status."""

STATUS_OF_PART = "linalg_ext.status_of_part"
"""Unit attribute of an assertion that the status of a part is good: if not, it is handed on."""

APART = "linalg_ext.apart"
"""Unit attribute of a private function whose arguments, those of them that are written, are apart:
no two of them overlap in any call."""

THREADS = "linalg_ext.threads"
"""Attribute of the entry that says for how many threads its loops are cut.

It is then given, where its status goes out, what has loops shared.
"""


def functions_with_status(module: ir.Operation) -> list[Any]:
    """The function that takes a status, and those that return that of a part of its work."""
    entry = entry_with_status(module)
    if entry is None:
        return []
    return [entry, *(op for op in functions(module) if PART in op.attributes)]


def entry_with_status(module: ir.Operation) -> Any | None:
    """The function that takes a status, or None.

    Raises:
        LoweringError: its last argument is not a `memref<1xi64>`.
    """
    for op in functions(module):
        if STATUS not in op.attributes:
            continue
        arguments = op.regions[0].blocks[0].arguments
        if not len(arguments) or str(arguments[len(arguments) - 1].type) != "memref<1xi64>":
            name = op.attributes["sym_name"]
            raise LoweringError(
                f"{name} has the attribute {STATUS} but takes no status",
                expected="memref<1xi64> as its last argument",
            )
        return op
    return None


def assert_good(status: Any, message: str) -> None:
    """Assert that the status of a part of the entry's work is good; if not, it is handed on."""
    is_good = arith.cmpi(arith.CmpIPredicate.eq, status, constant(status.type, 0))
    check = cf.AssertOp(is_good, message)
    check.operation.attributes[STATUS_OF_PART] = ir.UnitAttr.get()
