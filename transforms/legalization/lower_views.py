"""Lower the ops of `linalg_ext` on views to `memref.subview`.

before:
    %c0 = arith.constant 0 : index
    %p = "linalg_ext.tile"(%a, %i, %c0) {sizes = array<i64: 4, 20>}
           : (memref<10x20xf32>, index, index) -> memref<?x20xf32, strided<[20, 1], offset: ?>>
after:
    %c0 = arith.constant 0 : index
    %o = affine.min affine_map<(d0) -> (d0 * 4, 10)>(%i)
    %n = affine.min affine_map<(d0) -> (4, -d0 + 10)>(%o)
    %z = arith.constant 0 : index
    %e = arith.cmpi sle, %n, %z : index
    %b = arith.select %e, %z, %o : index
    %p = memref.subview %a[%b, 0] [%n, 20] [1, 1]
           : memref<10x20xf32> to memref<?x20xf32, strided<[20, 1], offset: ?>>

A slice is a subview that drops dimensions; a tile ends where its view does. Of an intersection, a
union and a difference the numbers are those of the subset algebra, relative to the nearest view
that both operands are rectangles of. An empty view begins at index 0.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured import views as view_ops
from linalg_ext.structured.indices import Emitter
from linalg_ext.structured.sizes import SizeEmitter
from linalg_ext.structured.views import ViewReader, step_of, subview
from linalg_ext.transforms.ir_utils.walking import at_op, is_unused, operations

NAME = "linalg-ext-lower-views"


@module_pass(NAME, on=(*sorted(view_ops.VIEW_OPS), view_ops.RANGE))
def lower_views(module: ir.Operation) -> Report:
    """Lower slices, tiles and sets of views to subviews.

    Raises:
        LoweringError: two views are of different buffers, or their overlap cannot be told before
            the run.
    """
    report = Report(NAME)
    read, emitters = ViewReader(), _Emitters()
    for op in operations(module, view_ops.VIEW_OPS):
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        with at_op(op):
            for result in op.results:
                step = step_of(result, read)
                if step is not None:
                    view = subview(step, emitters.at(op))
                    # Views of this one share the numbers that it was made of.
                    read.steps[view] = step
                    result.replace_all_uses_with(_as(view, result.type))
        for result in op.results:
            read.forget(result)
        op.erase()
    for op in operations(module, [view_ops.RANGE]):
        report.matched[op.name] += 1
        if is_unused(op.results[0]):
            report.changed[op.name] += 1
            op.erase()
    return report


class _Emitters:
    """An emitter for each block: it has the values computed before, in the block or around it."""

    def __init__(self) -> None:
        self._of: dict[ir.Block, Emitter] = {}

    def at(self, op: ir.Operation) -> Emitter:
        """Return the one for ops before an op; ops are asked about in the order of the program."""
        if op.block not in self._of:
            self._of[op.block] = self._new(op.block.owner.operation)
        return self._of[op.block]

    def _new(self, around: ir.Operation) -> Emitter:
        while not around.has_trait(ir.IsIsolatedFromAboveTrait):
            if around.block in self._of:
                return self._of[around.block].inside()
            around = around.block.owner.operation
        return SizeEmitter()


def _as(view: ir.Value, type_: ir.Type) -> ir.Value:
    return view if view.type == type_ else memref.CastOp(type_, view).result
