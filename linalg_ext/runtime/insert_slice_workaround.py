"""Hide what is inserted with steps from patterns of upstream's that fold it wrongly.

Where a pattern cannot be left out by its name, `FoldInsertPadIntoFill` is kept from what it gets
wrong: an op that no pattern knows stands between.

    %r = tensor.insert_slice %p into %zeros[1] [5] [2]

is meanwhile

    %o = builtin.unrealized_conversion_cast %p, %p to tensor<5xf32>
    %r = tensor.insert_slice %o into %zeros[1] [5] [2]

whatever `%p` is: patterns may make a pad of it on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import builtin, ir

_INSERT = "tensor.insert_slice"
_CAST = "builtin.unrealized_conversion_cast"
_MARK = "linalg_ext.hidden"


def hide_spread_slices(root: ir.Operation) -> None:
    """Put an op that no pattern knows before each slice that is inserted with steps."""
    for insert in _ops(root, _INSERT):
        strides = ir.DenseI64ArrayAttr(insert.attributes["static_strides"])
        if all(stride == 1 for stride in strides):
            continue
        source = insert.operands[0]
        with insert.location, ir.InsertionPoint(insert):
            # Of one operand it would fold: it converts nothing.
            cast = builtin.UnrealizedConversionCastOp([source.type], [source, source])
        cast.operation.attributes[_MARK] = ir.UnitAttr.get(root.context)
        insert.operands[0] = cast.operation.results[0]


def reveal_spread_slices(root: ir.Operation) -> None:
    """Take out what `hide_spread_slices` put in."""
    for cast in _ops(root, _CAST):
        if _MARK in cast.attributes:
            cast.results[0].replace_all_uses_with(cast.operands[0])
            cast.erase()


def _ops(root: ir.Operation, name: str) -> Sequence[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found
