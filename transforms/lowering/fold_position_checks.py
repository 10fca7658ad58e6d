"""Answer what bodies ask about their own position, where the lengths of their loops tell it.

before:
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %within = arith.cmpi slt, %i, %c9 : index
      cf.assert %within, "out of bounds"
      linalg.yield %a : f32
    } -> tensor<9xf32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %within = arith.constant true
      cf.assert %within, "out of bounds"
      linalg.yield %a : f32
    } -> tensor<9xf32>

A check of every index of a read asks this of each index that is a position: of the column in a row
that is looked up, for example. What is left of it then is one question for a row.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.rewriting import Report, module_pass

from ._generic import extents_of, loop_of
from ._walk import operations, producer, replace_op

NAME = "linalg-ext-fold-position-checks"

_OP = "linalg.generic"
_ORDERS: dict[int, Callable[[int, int], bool]] = {
    arith.CmpIPredicate.slt.value: operator.lt,
    arith.CmpIPredicate.sle.value: operator.le,
    arith.CmpIPredicate.sgt.value: operator.gt,
    arith.CmpIPredicate.sge.value: operator.ge,
}


@module_pass(NAME, on=_OP)
def fold_position_checks(module: ir.Operation) -> Report:
    """Replace comparisons of positions with constants that hold, or fail, in every round."""
    report = Report(NAME)
    for op in operations(module, {_OP}):
        positions = operations(op, {"linalg.index"})
        if not positions:
            continue
        report.matched[_OP] += 1
        extents = extents_of(op)
        known = [_fold(each, extents) for each in operations(op, {"arith.cmpi"})]
        report.changed[_OP] += any(known)
    return report


def _fold(comparison: Any, extents: dict[int, int | None]) -> bool:
    order = _ORDERS.get(ir.IntegerAttr(comparison.attributes["predicate"]).value)
    position, bound = (producer(operand) for operand in comparison.operands)
    if order is None or position is None or position.name != "linalg.index":
        return False
    rounds = extents.get(loop_of(position))
    if not rounds or bound is None or bound.name != "arith.constant":
        return False
    limit = ir.IntegerAttr(bound.attributes["value"]).value
    # An order that both ends agree on is that of all between them.
    first, last = order(0, limit), order(rounds - 1, limit)
    if first != last:
        return False
    with comparison.location, ir.InsertionPoint(comparison):
        replace_op(comparison, arith.constant(ir.IntegerType.get_signless(1), int(first)))
    return True
