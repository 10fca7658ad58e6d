"""Drop the deallocations of a module that frees its buffers itself, and its prefetches.

before:
    memref.dealloc %a : memref<4xf32>
after:
    // nothing

Upstream's ownership-based deallocation owns all buffers or none: it refuses a module that frees
some already. It puts a deallocation of its own behind the last use of every buffer. It
refuses prefetches too, which have no other effect than on time.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations

NAME = "linalg-ext-drop-deallocations"

_DROPPED = frozenset({"memref.dealloc", "memref.prefetch", "affine.prefetch"})


@module_pass(NAME, on=_DROPPED)
def drop_deallocations(module: ir.Operation) -> Report:
    """Erase every memref.dealloc (deallocations are inserted later) and every prefetch."""
    report = Report(NAME)
    for op in operations(module, _DROPPED):
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        op.erase()
    return report
