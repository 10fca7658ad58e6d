"""Write `tm_tensor.sort`, which torch-mlir makes of sorts and of the first few, as our own sort.

before:
    %r = tm_tensor.sort dimension(0) outs(%x : tensor<9xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.cmpf ole, %a, %b : f32
      tm_tensor.yield %s : i1
    } -> tensor<9xf32>
after:
    %e = tensor.empty() : tensor<9xf32>
    %r = "linalg_ext.sort"(%x, %e) ({
    ^bb0(%a: f32, %b: f32):
      %s = arith.cmpf ole, %b, %a : f32
      %true = arith.constant true
      %n = arith.xori %s, %true : i1
      %is_number = arith.cmpf ord, %a, %a : f32
      %before = arith.andi %n, %is_number : i1
      "linalg_ext.yield"(%before) : (i1) -> ()
    }) {dimension = 0 : i64, is_stable = true, operandSegmentSizes =
        array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xf32>

Its body says whether one element may stand before another, ours whether it must: where the other
may not stand before it. A comparison of floats is false where one is no number: such come last,
or first where larger ones do, as PyTorch has them.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.dialects.linalg_ext import sort
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.tensor_loops import inlined
from linalg_ext.transforms.ir_utils.walking import lowering_pass

NAME = "linalg-ext-lower-exported-sort"

_OP = "tm_tensor.sort"

_ORDERS = arith.CmpFPredicate
_MUST_BE_A_NUMBER = {_ORDERS.OLE: 0, _ORDERS.OLT: 0, _ORDERS.OGE: 1, _ORDERS.OGT: 1}
"""By how floats are compared: which of the two must be a number to stand before the other."""


@lowering_pass(NAME, _OP)
def lower_exported_sort(op: Any) -> list[Any]:
    """Write tm_tensor.sort as linalg_ext.sort."""
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    return sort(*op.operands, dimension=axis, comparator=_must_precede(op))


def _must_precede(op: Any) -> Any:
    body = op.regions[0].blocks[0]
    guarded = _must_be_a_number(body)

    def comparator(*elements: Any) -> Any:
        swapped = [
            each for a, b in zip(elements[::2], elements[1::2], strict=True) for each in (b, a)
        ]
        (may_follow,) = inlined(body, swapped)
        precedes = arith.xori(may_follow, constant(may_follow.type, 1))
        if guarded is None:
            return precedes
        number = elements[guarded]
        return arith.andi(precedes, arith.cmpf(arith.CmpFPredicate.ORD, number, number))

    return comparator


def _must_be_a_number(body: Any) -> int | None:
    """Return which of two floats must be a number to precede the other; None if no floats compare.

    It is the first one where smaller ones come first, for then NaN comes last.
    """
    (value, *_) = list(body.operations)[-1].operation.operands
    if isinstance(value.owner, ir.Block) or value.owner.name != "arith.cmpf":
        return None
    if list(value.owner.operands) != list(body.arguments)[:2]:
        return None
    predicate = ir.IntegerAttr(value.owner.attributes["predicate"]).value
    return _MUST_BE_A_NUMBER.get(arith.CmpFPredicate(predicate))
