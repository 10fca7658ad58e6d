"""Write `stablehlo.while`, `stablehlo.case` and `stablehlo.if` as loops and branches of scf.

before:
    %r = stablehlo.while(%i = %n) : tensor<i32>
    cond {
      %0 = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    } do {
      %1 = stablehlo.add %i, %i : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }
after:
    %n0 = tensor.extract %n[] : tensor<i32>
    %r0 = scf.while (%i0 = %n0) : (i32) -> i32 {
      %i1 = tensor.from_elements %i0 : tensor<i32>
      %0 = stablehlo.compare LT, %i1, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %more = tensor.extract %0[] : tensor<i1>
      scf.condition(%more) %i0 : i32
    } do {
    ^bb0(%i2: i32):
      %i3 = tensor.from_elements %i2 : tensor<i32>
      %1 = stablehlo.add %i3, %i3 : tensor<i32>
      %next = tensor.extract %1[] : tensor<i32>
      scf.yield %next : i32
    }
    %r = tensor.from_elements %r0 : tensor<i32>

What has no dimensions is carried as a scalar. An index of `stablehlo.case` that names no branch
takes the last one. What goes through `stablehlo.optimization_barrier` comes out as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, scf
from linalg_ext.rewriting import Report, module_pass

from ._stablehlo import body, lower_each, plain, plain_types

NAME = "linalg-ext-lower-stablehlo-control"


@module_pass(NAME, on="stablehlo.while")
def lower_stablehlo_control(module: ir.Operation) -> Report:
    """Write loops and branches of StableHLO as those of scf."""
    return lower_each(NAME, module, _LOWERINGS)


def _loop(op: Any) -> list[Any]:
    types = plain_types([result.type for result in op.results])
    loop = scf.WhileOp(types, [plain(value) for value in op.operands])
    condition, step = (region.blocks[0] for region in op.regions)
    before = loop.before.blocks.append(*types)
    with ir.InsertionPoint(before):
        (goes_on,) = body(condition, before.arguments)
        scf.ConditionOp(goes_on, before.arguments)
    after = loop.after.blocks.append(*types)
    with ir.InsertionPoint(after):
        scf.YieldOp(body(step, after.arguments))
    return list(loop.results)


def _case(op: Any) -> list[Any]:
    chosen = plain(op.operands[0])
    return _branches(op, chosen, [region.blocks[0] for region in op.regions], 0)


def _branches(op: Any, chosen: Any, blocks: Sequence[Any], number: int) -> list[Any]:
    first, *others = blocks
    if not others:
        return body(first, [])
    is_first = arith.cmpi(arith.CmpIPredicate.eq, chosen, arith.constant(chosen.type, number))
    branch: Any = scf.IfOp(is_first, _result_types(op), has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp(body(first, []))
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp(_branches(op, chosen, others, number + 1))
    return list(branch.results)


def _if(op: Any) -> list[Any]:
    branch: Any = scf.IfOp(plain(op.operands[0]), _result_types(op), has_else=True)
    blocks = (branch.then_block, branch.else_block)
    for block, region in zip(blocks, op.regions, strict=True):
        with ir.InsertionPoint(block):
            scf.YieldOp(body(region.blocks[0], []))
    return list(branch.results)


def _barrier(op: Any) -> list[Any]:
    return [plain(value) for value in op.operands]


def _result_types(op: Any) -> list[Any]:
    return plain_types([result.type for result in op.results])


_LOWERINGS = {
    "stablehlo.while": _loop,
    "stablehlo.case": _case,
    "stablehlo.if": _if,
    "stablehlo.optimization_barrier": _barrier,
}
