"""Choose where each allocation is: large ones in huge pages, small ones on the stack.

before:
    %a = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
    memref.store %v, %a[%i] : memref<8xf32>
    memref.dealloc %a : memref<8xf32>
after:
    %a = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
    memref.store %v, %a[%i] : memref<8xf32>

Each is done as the pass of its name says: `linalg-ext-advise-huge-pages` and
`linalg-ext-move-small-buffers-to-stack`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass

from .advise_huge_pages import advise_huge_pages
from .move_small_buffers_to_stack import move_small_buffers_to_stack

NAME = "linalg-ext-place-buffers"


@module_pass(NAME, on="memref.alloc")
def place_buffers(module: ir.Operation) -> Report:
    """Advise huge pages for large allocations, and move small ones to the stack."""
    report = Report(NAME)
    for part in (advise_huge_pages, move_small_buffers_to_stack):
        report.merge(part.apply(module))
    return report
