"""Fold views that show all of their source.

before:
    %h = memref.subview %a[0, 0] [10, 8] [1, 1]
           : memref<10x20xf32> to memref<10x8xf32, strided<[20, 1]>>
    %r = "linalg_ext.intersection"(%a, %h)
           : (memref<10x20xf32>, memref<10x8xf32, strided<[20, 1]>>)
           -> memref<?x?xf32, strided<[?, ?], offset: ?>>
after:
    %h = memref.subview %a[0, 0] [10, 8] [1, 1]
           : memref<10x20xf32> to memref<10x8xf32, strided<[20, 1]>>
    %r = memref.cast %h : memref<10x8xf32, strided<[20, 1]>>
           to memref<?x?xf32, strided<[?, ?], offset: ?>>

A tile or slice of a whole view is that view; the intersection of a view with one that it holds is
the latter, and their union the former. Subviews of subviews are composed by upstream's
`fold-memref-alias-ops`, transposes of transposes by its canonicalization.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, memref
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured import views as view_ops
from linalg_ext.structured.views import ViewReader, placement, step_of


@rewrite("linalg-ext-fold-views", on=sorted(view_ops.VIEW_OPS - {view_ops.DIFFERENCE}))
def fold_views(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Replace a view that is all of an operand by the operand."""
    view_op = op.operation
    read = ViewReader()
    try:
        step = step_of(view_op.results[0], read)
        if step is None:
            return False
        views = [value for value in view_op.operands if isinstance(value.type, ir.MemRefType)]
        for view in views:
            other = placement(view, read, step.base)
            if (other.base, other.tile, other.dims) == (step.base, step.tile, step.dims):
                type_ = view_op.results[0].type
                same = view if view.type == type_ else memref.CastOp(type_, view).result
                rewriter.replace_op(op, [same])
                return True
    except ArgumentError as error:
        return MatchFailure(error.what)
    return False
