"""Fold comparisons of positions in bodies that the lengths of the loops decide.

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
that is looked up, for example. One comparison for each row remains. Positions of `scf.for` and
`affine.for` are asked about too, and where a length is open, whether it is the one that the loop
runs to: a size of the same tensor, however it is spelled.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.ranges import (
    Range,
    ends_of,
    is_position,
    origin_of_number,
    range_of,
)
from linalg_ext.transforms.ir_utils.walking import operations, producer, replace_op

NAME = "linalg-ext-fold-position-checks"

_OP = "arith.cmpi"
_ORDERS: dict[int, Callable[[int, int], bool]] = {
    arith.CmpIPredicate.slt.value: operator.lt,
    arith.CmpIPredicate.sle.value: operator.le,
    arith.CmpIPredicate.sgt.value: operator.gt,
    arith.CmpIPredicate.sge.value: operator.ge,
}
_BELOW = (arith.CmpIPredicate.slt.value, arith.CmpIPredicate.sle.value)


@module_pass(NAME, on=_OP)
def fold_position_checks(module: ir.Operation) -> Report:
    """Replace comparisons of positions with constants that hold, or fail, in every round."""
    report = Report(NAME)
    for op in operations(module, {_OP}):
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        position, bound = op.operands
        if predicate not in _ORDERS or not is_position(position):
            continue
        report.matched[_OP] += 1
        answer = _answer(predicate, position, bound)
        if answer is None:
            continue
        with op.location, ir.InsertionPoint(op):
            replace_op(op, arith.constant(ir.IntegerType.get_signless(1), int(answer)))
        report.changed[_OP] += 1
    return report


def _answer(predicate: int, position: Any, bound: Any) -> bool | None:
    """Return the constant result of a comparison of a position; None where it is not known."""
    order = _ORDERS[predicate]
    positions = _rounds(position) if producer(position) is not None else range_of(position)
    least, greatest = range_of(bound)
    # An order that both ends agree on is that of all between them.
    if positions is not None and least == greatest:
        first, last = order(positions[0], least), order(positions[1], least)
        return first if first == last else None
    if predicate in _BELOW and origin_of_number(bound) in ends_of(position):
        return True
    return None


def _rounds(position: Any) -> Range | None:
    """Return the first and the last position of a structured op's loop; None if unknown."""
    sizes = [size for size in ends_of(position) if isinstance(size, int)]
    return (0, sizes[0] - 1) if sizes and sizes[0] > 0 else None
