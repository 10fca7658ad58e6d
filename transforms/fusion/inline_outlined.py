"""Put the ops of groups, and of layers that are alike, back in the place of the calls.

before:
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = func.call @linalg_ext_layer_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %b = func.call @linalg_ext_layer_0(%a) : (tensor<4xf32>) -> tensor<4xf32>
      return %b : tensor<4xf32>
    }
    func.func private @linalg_ext_layer_0(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {linalg_ext.layer, no_inline} {
      %r = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
after:
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
      %b = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
      return %b : tensor<4xf32>
    }

Buffers are then chosen for all ops together: there is no copy between layers. The ops of a group
are marked on the way.

before:
    func.func @f(%x: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
      %r = func.call @linalg_ext_group_0(%x, %e)
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    func.func private @linalg_ext_group_0(%a: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32>
        attributes {linalg_ext.group = 0 : i64, no_inline} {
      %s = linalg.exp ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
      return %s : tensor<4xf32>
    }
after:
    func.func @f(%x: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
      %r = linalg.exp {linalg_ext.group = 0 : i64}
           ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }

The passes that fuse ops on buffers do not fuse ops with different marks. The ops outside all
groups are marked too, as one group. Those of a group that says `preserve` have a second mark,
`linalg_ext.preserved`: they are not fused with ops without marks either, such as the copies that
slices become.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.structured.group import PRESERVED, UNIT
from linalg_ext.transforms.grouping.inline_groups import inline_block
from linalg_ext.transforms.ir_utils.walking import callee_of, functions, name_of, operations, select
from linalg_ext.transforms.legalization.outline_repeated_layers import LAYER, NO_INLINE

NAME = "linalg-ext-inline-outlined"

_MARKS = (UNIT, PRESERVED)

OUTSIDE = -1
"""The mark of the ops that stand in no group."""


@module_pass(NAME, on="func.call")
def inline_outlined(module: ir.Operation) -> Report:
    """Inline the functions that groups and repeated layers were made."""
    report = Report(NAME)
    groups = {name_of(op): op for op in functions(module) if UNIT in op.attributes}
    if groups:
        _inline_groups(module, groups, report)
    layers = [function for function in functions(module) if LAYER in function.attributes]
    for function in layers:
        report.changed[function.name] += 1
        for name in (LAYER, NO_INLINE):
            del function.attributes[name]
    if layers:
        pass_manager(module.name, module.context, "inline").run(module)
    return report


def _inline_groups(module: Any, groups: Mapping[str, Any], report: Report) -> None:
    """Put functions that were groups in the place of their calls, and mark their ops."""
    for call in operations(module, {"func.call"}):
        function = groups.get(callee_of(call))
        if function is None:
            continue
        report.matched[call.name] += 1
        if len(function.regions[0].blocks) != 1:
            report.leave(call.name, "the group has branches: it stays a function")
            continue
        report.changed[call.name] += 1
        marks = {name: function.attributes[name] for name in _MARKS if name in function.attributes}
        _mark(function, marks)
        inline_block(function.regions[0].blocks[0], call, list(call.operands))
    for function in groups.values():
        if len(function.regions[0].blocks) == 1:
            function.erase()
        else:
            del function.attributes[NO_INLINE]
    _mark(module, {UNIT: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), OUTSIDE)})


def _mark(root: Any, marks: Mapping[str, ir.Attribute]) -> None:
    for op in select(root, lambda op: op.name.startswith("linalg.") and len(op.regions) > 0):
        if UNIT not in op.attributes:
            for name, mark in marks.items():
                op.attributes[name] = mark
