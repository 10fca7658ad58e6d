"""Drop the deallocations of a module that frees its buffers itself.

before:
    memref.dealloc %a : memref<4xf32>
after:
    (nothing)

Upstream's ownership-based deallocation owns all buffers or none: it refuses a module that frees
some already. It puts a deallocation of its own behind the last use of every buffer.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from .walk import operations


def drop_deallocations(module: ir.Module) -> int:
    """Erase every `memref.dealloc` of `module`; their number."""
    deallocations = operations(module, {"memref.dealloc"})
    for op in deallocations:
        op.erase()
    return len(deallocations)
