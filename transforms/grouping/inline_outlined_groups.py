"""Put groups that were outlined back in their place, and mark their ops.

before:
    %r = func.call @linalg_ext_group_0(%x, %e)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
after:
    %r = linalg.exp {linalg_ext.group = 0 : i64}
         ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>

Where the function is

    func.func private @linalg_ext_group_0(%a: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32>
        attributes {linalg_ext.group = 0 : i64, no_inline} {
      %s = linalg.exp ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
      return %s : tensor<4xf32>
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
from linalg_ext.structured.group import PRESERVED, UNIT
from linalg_ext.transforms.ir_utils.walking import functions, operations, select

from .inline_groups import inline_block
from .outline_groups import NO_INLINE

NAME = "linalg-ext-inline-outlined-groups"

_MARKS = (UNIT, PRESERVED)

OUTSIDE = -1
"""The mark of the ops that stand in no group."""


@module_pass(NAME, on="func.call")
def inline_outlined_groups(module: ir.Operation) -> Report:
    """Put the functions that were groups in the place of their calls."""
    report = Report(NAME)
    outlined = {
        ir.StringAttr(op.attributes["sym_name"]).value: op
        for op in functions(module)
        if UNIT in op.attributes
    }
    if not outlined:
        return report
    for call in operations(module, {"func.call"}):
        function = outlined.get(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
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
    for function in outlined.values():
        if len(function.regions[0].blocks) == 1:
            function.erase()
        else:
            del function.attributes[NO_INLINE]
    _mark(module, {UNIT: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), OUTSIDE)})
    return report


def _mark(root: Any, marks: Mapping[str, ir.Attribute]) -> None:
    for op in select(root, lambda op: op.name.startswith("linalg.") and len(op.regions) > 0):
        if UNIT not in op.attributes:
            for name, mark in marks.items():
                op.attributes[name] = mark
