"""Fold casts into loops over subsets: the body sees the sizes that were known before the cast.

before:
    %v = tensor.cast %x : tensor<8xf32> to tensor<?xf32>
    %w = tensor.cast %y : tensor<8xf32> to tensor<?xf32>
    %z = "gml_st.for"(%c0, %c8, %c4, %w) ({
    ^bb0(%i: index, %y_: tensor<?xf32>):
      %t = "gml_st.tile"(%y_, %i) {static_offsets = array<i64: -9223372036854775808>,
              static_sizes = array<i64: 4>, static_strides = array<i64: 1>,
              operandSegmentSizes = array<i32: 1, 1, 0, 0>}
            : (tensor<?xf32>, index) -> !gml_st.subset<"4xf32">
      %a = "gml_st.materialize"(%y_, %t)
            : (tensor<?xf32>, !gml_st.subset<"4xf32">) -> tensor<4xf32>
      "gml_st.set_yield"(%a, %y_, %t) ({}) {operandSegmentSizes = array<i32:
          1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (tensor<4xf32>, tensor<?xf32>, !gml_st.subset<"4xf32">) -> ()
    }) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index, tensor<?xf32>) -> tensor<?xf32>
    %r = tensor.cast %z : tensor<?xf32> to tensor<8xf32>
after:
    %v = tensor.cast %x : tensor<8xf32> to tensor<?xf32>
    %w = tensor.cast %y : tensor<8xf32> to tensor<?xf32>
    %z = "gml_st.for"(%c0, %c8, %c4, %y) ({
    ^bb0(%i: index, %y_: tensor<8xf32>):
      %t = "gml_st.tile"(%y_, %i) {static_offsets = array<i64: -9223372036854775808>,
              static_sizes = array<i64: 4>, static_strides = array<i64: 1>,
              operandSegmentSizes = array<i32: 1, 1, 0, 0>}
            : (tensor<8xf32>, index) -> !gml_st.subset<"4xf32">
      %a = "gml_st.materialize"(%y_, %t)
            : (tensor<8xf32>, !gml_st.subset<"4xf32">) -> tensor<4xf32>
      "gml_st.set_yield"(%a, %y_, %t) ({}) {operandSegmentSizes = array<i32:
          1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (tensor<4xf32>, tensor<8xf32>, !gml_st.subset<"4xf32">) -> ()
    }) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index, tensor<8xf32>) -> tensor<8xf32>
    %c = tensor.cast %z : tensor<8xf32> to tensor<?xf32>
    %r = tensor.cast %c : tensor<?xf32> to tensor<8xf32>

Inputs and outputs of `gml_st.loop` and outputs of `gml_st.for`, tensors and memrefs. Their other
uses in the body, and the result, are cast there: upstream's canonicalization takes such casts
further.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.ir.op_views import LoopView
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.operands import producer
from linalg_ext.transforms.ir_utils.walking import operations

from ._loops import cast, rebuilt

NAME = "linalg-ext-fold-casts-into-subset-loops"

_CASTS = ("tensor.cast", "memref.cast")


@module_pass(NAME, on=("gml_st.loop", "gml_st.for"))
def fold_casts_into_subset_loops(module: ir.Operation) -> Report:
    """Give a loop the operand of a cast, if its type has more static sizes."""
    report = Report(NAME)
    for op in reversed(operations(module, {"gml_st.loop", "gml_st.for"})):
        report.matched[op.name] += 1
        view = LoopView.of(op)
        ins, outs = _uncast(view.ins, view.region_ins), _uncast(view.outs, view.region_outs)
        if ins == list(view.ins) and outs == list(view.outs):
            continue
        report.changed[op.name] += 1
        _fold(view, ins, outs)
    return report


def _uncast(values: Sequence[ir.Value], arguments: Sequence[ir.Value]) -> list[ir.Value]:
    return [_before_cast(*pair) for pair in zip(values, arguments, strict=True)]


def _before_cast(value: ir.Value, argument: ir.Value) -> ir.Value:
    """Return the operand of a cast to a less static type; of any other value the value itself."""
    op = producer(value)
    if op is None or op.name not in _CASTS:
        return value
    before = op.operands[0]
    # The set of all of a tensor is of its type: it would be another set.
    if any(use.owner.operation.name == "gml_st.full" for use in argument.uses):
        return value
    return before if _says_more(before.type, value.type) else value


def _says_more(type_: ir.Type, other: ir.Type) -> bool:
    if not isinstance(type_, ir.RankedTensorType | ir.MemRefType):
        return False  # of no rank
    shaped, also = ir.ShapedType(type_), ir.ShapedType(other)
    fewer = all(
        also.is_dynamic_dim(dim) or not shaped.is_dynamic_dim(dim) for dim in range(shaped.rank)
    )
    if not fewer or not isinstance(type_, ir.MemRefType):
        return fewer
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    strides, offset = type_.get_strides_and_offset()
    other_strides, other_offset = ir.MemRefType(other).get_strides_and_offset()
    pairs = zip([*strides, offset], [*other_strides, other_offset], strict=True)
    return all(known_other == gap or own != gap for own, known_other in pairs)


def _fold(view: LoopView, ins: list[ir.Value], outs: list[ir.Value]) -> None:
    if view.op.name == "gml_st.loop" and not view.terminator.sets:
        _cast_whole_values(view, outs)
    new = rebuilt(view, ins=list(enumerate(ins)), outs=list(enumerate(outs)))
    with ir.InsertionPoint(view.op), view.op.location:
        for old, result in zip(view.op.results, new.results, strict=True):
            old.replace_all_uses_with(cast(result, old.type))
    view.op.erase()


def _cast_whole_values(view: LoopView, outs: Sequence[ir.Value]) -> None:
    """Cast the whole tensors that a body yields to the types of its outputs."""
    end = view.terminator
    types = {arg: out.type for arg, out in zip(view.region_outs, outs, strict=True)}
    with ir.InsertionPoint(end.op), end.op.location:
        for number, argument in enumerate(view.yield_destinations(end)):
            end.op.operands[number] = cast(end.sources[number], types[argument])
