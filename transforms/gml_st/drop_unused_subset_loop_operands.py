"""Drop inputs of `gml_st.loop` that its body does not use, and outputs that it yields unchanged.

before:
    %r, %s = "gml_st.loop"(%c0, %c8, %c4, %x, %z, %y, %z) ({
    ^bb0(%i: index, %x_: tensor<8xf32>, %u_: tensor<8xf32>,
         %y_: tensor<8xf32>, %z_: tensor<8xf32>):
      %a = tensor.extract_slice %x_[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %b = tensor.insert_slice %a into %y_[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
      "gml_st.yield"(%b, %z_) ({}) {operandSegmentSizes = array<i32:
          1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
        : (tensor<8xf32>, tensor<8xf32>) -> ()
    }) {iterator_types = ["sequential"], operandSegmentSizes = array<i32: 1, 1, 1,
          1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>}
      : (index, index, index, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<8xf32>, tensor<8xf32>)
after:
    %r = "gml_st.loop"(%c0, %c8, %c4, %x, %y) ({
    ^bb0(%i: index, %x_: tensor<8xf32>, %y_: tensor<8xf32>):
      %a = tensor.extract_slice %x_[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %b = tensor.insert_slice %a into %y_[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
      "gml_st.yield"(%b) ({}) {operandSegmentSizes = array<i32:
          1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8xf32>) -> ()
    }) {iterator_types = ["sequential"], operandSegmentSizes = array<i32: 1, 1, 1,
          1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.op_views import LoopView
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import is_unused, operations

from ._loops import rebuilt
from ._nest import rename

NAME = "linalg-ext-drop-unused-subset-loop-operands"


@module_pass(NAME, on="gml_st.loop")
def drop_unused_subset_loop_operands(module: ir.Operation) -> Report:
    """Drop unused inputs and unchanged outputs of a loop."""
    report = Report(NAME)
    for op in reversed(operations(module, {"gml_st.loop"})):
        report.matched[op.name] += 1
        view = LoopView.of(op)
        unchanged = _unchanged(view)
        used = [
            number for number, argument in enumerate(view.region_ins) if not is_unused(argument)
        ]
        if not unchanged and len(used) == len(view.ins):
            continue
        report.changed[op.name] += 1
        _drop(view, used, unchanged)
    return report


def _unchanged(view: LoopView) -> list[int]:
    """Return the outputs that are yielded as they came, by their positions."""
    end = view.terminator
    if end.sets:
        return []
    destinations = view.yield_destinations(end)
    return [
        view.region_outs.index(argument)
        for value, argument in zip(end.sources, destinations, strict=True)
        if value == argument
    ]


def _drop(view: LoopView, used: list[int], unchanged: list[int]) -> None:
    rename(
        [view.region_outs[number] for number in unchanged],
        [view.outs[number] for number in unchanged],
    )
    remaining = [number for number in range(len(view.outs)) if number not in unchanged]
    tensors = [
        number for number, out in enumerate(view.outs) if isinstance(out.type, ir.RankedTensorType)
    ]
    end = view.terminator
    if unchanged:
        values = [
            value for number, value in zip(tensors, end.sources, strict=True) if number in remaining
        ]
        with ir.InsertionPoint(end.op), end.op.location:
            gml_st.yield_(values)
        end.op.erase()
    new = rebuilt(
        view,
        ins=[(number, view.ins[number]) for number in used],
        outs=[(number, view.outs[number]) for number in remaining],
    )
    results = iter(new.results)
    for number, old in zip(tensors, view.op.results, strict=True):
        old.replace_all_uses_with(next(results) if number in remaining else view.outs[number])
    view.op.erase()
