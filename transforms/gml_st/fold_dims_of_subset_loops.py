"""Fold sizes of results of loops over subsets, and of block arguments in their bodies.

before:
    %y = "gml_st.parallel"(%c0, %c8, %c4) ({
    ^bb0(%i: index):
      %t = "gml_st.tile"(%x, %i) {static_offsets = array<i64: -9223372036854775808>,
              static_sizes = array<i64: 4>, static_strides = array<i64: 1>,
              operandSegmentSizes = array<i32: 1, 1, 0, 0>}
            : (tensor<?xf32>, index) -> !gml_st.subset<"4xf32">
      %a = "gml_st.materialize"(%x, %t)
            : (tensor<?xf32>, !gml_st.subset<"4xf32">) -> tensor<4xf32>
      "gml_st.set_yield"(%a, %x, %t) ({}) {operandSegmentSizes = array<i32:
          1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (tensor<4xf32>, tensor<?xf32>, !gml_st.subset<"4xf32">) -> ()
    }) {operandSegmentSizes = array<i32: 1, 1, 1>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index) -> tensor<?xf32>
    %r = tensor.dim %y, %c0 : tensor<?xf32>
after:
    %y = "gml_st.parallel"(%c0, %c8, %c4) ({
    ^bb0(%i: index):
      %t = "gml_st.tile"(%x, %i) {static_offsets = array<i64: -9223372036854775808>,
              static_sizes = array<i64: 4>, static_strides = array<i64: 1>,
              operandSegmentSizes = array<i32: 1, 1, 0, 0>}
            : (tensor<?xf32>, index) -> !gml_st.subset<"4xf32">
      %a = "gml_st.materialize"(%x, %t)
            : (tensor<?xf32>, !gml_st.subset<"4xf32">) -> tensor<4xf32>
      "gml_st.set_yield"(%a, %x, %t) ({}) {operandSegmentSizes = array<i32:
          1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (tensor<4xf32>, tensor<?xf32>, !gml_st.subset<"4xf32">) -> ()
    }) {operandSegmentSizes = array<i32: 1, 1, 1>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index) -> tensor<?xf32>
    %r = tensor.dim %x, %c0 : tensor<?xf32>

A value that is yielded to a set leaves the sizes of the output as they are. A `gml_st.loop` that
yields whole tensors may change them: there it must be seen that the tensor is the output with
something inserted.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, memref, tensor
from linalg_ext.dialects.gml_st.ir.op_views import LOOPS, LoopView
from linalg_ext.rewriting import Rewriter, rewrite
from linalg_ext.structured.operands import producer

NAME = "linalg-ext-fold-dims-of-subset-loops"


@rewrite(NAME, on=("tensor.dim", "memref.dim"))
def fold_dims_of_subset_loops(op: ir.OpView, rewriter: Rewriter) -> bool:
    """Replace the size of a result or argument of a loop by that of the loop's operand."""
    source, dim = op.operation.operands
    operand = _operand_of_equal_sizes(source)
    if operand is None:
        return False
    kind = memref.DimOp if isinstance(operand.type, ir.MemRefType) else tensor.DimOp
    rewriter.replace_op(op, kind(operand, dim).result)
    return True


def _operand_of_equal_sizes(value: ir.Value) -> ir.Value | None:
    """Return the operand of a loop with the same sizes as a value; None where it is unknown."""
    if isinstance(value, ir.BlockArgument):
        owner = value.owner.owner
        if not isinstance(owner, ir.Operation | ir.OpView) or owner.operation.name not in LOOPS:
            return None
        return _operand_of_argument(LoopView.of(owner.operation), value)
    op = producer(value)
    if op is None or op.name not in LOOPS:
        return None
    view = LoopView.of(op)
    outs = view.destinations
    tensors = [
        number for number, out in enumerate(outs) if isinstance(out.type, ir.RankedTensorType)
    ]
    number = tensors[ir.OpResult(value).result_number]
    return outs[number] if _keeps_sizes(view, number) else None


def _operand_of_argument(view: LoopView, value: ir.Value) -> ir.Value | None:
    if value in view.region_ins:
        return view.ins[view.region_ins.index(value)]
    if value not in view.region_outs:
        return None
    number = view.region_outs.index(value)
    return view.outs[number] if _keeps_sizes(view, number) else None


def _keeps_sizes(view: LoopView, number: int) -> bool:
    """Return whether an output has the same sizes after each iteration."""
    if view.op.name != "gml_st.loop":
        return True
    end, argument = view.terminator, view.region_outs[number]
    if end.sets or isinstance(argument.type, ir.MemRefType):
        return True
    value = end.sources[view.yield_destinations(end).index(argument)]
    # Each of these gives its destination with something in it.
    while (op := producer(value)) is not None and op.name in _INTO:
        value = op.operands[_INTO[op.name]]
    return value == argument


_INTO = {"tensor.insert_slice": 1, "tensor.insert": 1}
