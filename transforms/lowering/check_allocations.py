"""Assert that each allocation of the entry gave memory, which upstream does not check.

before:
    %a = memref.alloc(%n) : memref<?xf32>
after:
    %a = memref.alloc(%n) : memref<?xf32>
    %p = memref.extract_aligned_pointer_as_index %a : memref<?xf32> -> index
    %ok = arith.cmpi ne, %p, %c0 : index
    cf.assert %ok, "out of memory: an intermediate buffer could not be allocated"
"""

from __future__ import annotations

from linalg_ext.bindings import arith, cf, ir, memref
from linalg_ext.rewriting import Report, module_pass

from ._status import entry_with_status
from ._walk import operations

NAME = "linalg-ext-check-allocations"

OUT_OF_MEMORY = "out of memory: an intermediate buffer could not be allocated"
"""The message of the assertion, by which its status is known among the others."""


@module_pass(NAME)
def check_allocations(module: ir.Operation) -> Report:
    """Assert that each memref.alloc of the entry that takes a status gave memory."""
    report = Report(NAME)
    entry = entry_with_status(module)
    for allocation in operations(entry, {"memref.alloc"}) if entry is not None else ():
        report.matched[allocation.name] += 1
        report.changed[allocation.name] += 1
        with allocation.location, ir.InsertionPoint.after(allocation):
            pointer = memref.extract_aligned_pointer_as_index(allocation.results[0])
            null = arith.constant(ir.IndexType.get(), 0)
            given = arith.cmpi(arith.CmpIPredicate.ne, pointer, null)
            cf.AssertOp(given, OUT_OF_MEMORY)
    return report
