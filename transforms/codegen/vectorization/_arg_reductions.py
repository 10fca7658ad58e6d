"""Reductions that keep the best element and where it was, such as argmax.

The body of such a reduction selects, on one condition, the new element or the old one, and its
position or the old one; the element may be the maximum or the minimum, too, where the condition
says the same. The condition compares the two elements alone, strictly: of equal ones the
first stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.transforms.ir_utils.walking import producer

from ._positions import at_start, parts_of, steps_of

_LOGIC = ("arith.andi", "arith.ori", "arith.xori")
_COMPARED = {
    arith.CmpFPredicate.OGT: (False, False, True, False, False, False),
    arith.CmpFPredicate.OLT: (True, False, False, False, False, False),
    arith.CmpFPredicate.UNE: (True, False, True, True, True, True),
    arith.CmpFPredicate.UNO: (False, False, False, True, True, True),
}
"""The outcome of each comparison for `a < b`, `a == b`, `a > b`, `a` NaN, `b` NaN and both NaN."""

_SELF = {
    arith.CmpFPredicate.UNE: (False, True),
    arith.CmpFPredicate.UNO: (False, True),
    arith.CmpFPredicate.OGT: (False, False),
    arith.CmpFPredicate.OLT: (False, False),
}
"""The same of a value and itself: where it is a number, where it is NaN."""

_NAN_WINS: Mapping[tuple[bool, ...], Any] = {
    (False, False, True, True, False, False): arith.CmpFPredicate.UGT,
    (True, False, False, True, False, False): arith.CmpFPredicate.ULT,
}
"""The comparison for each condition by which the first NaN is best.

It agrees with the condition where the old element is a number.
"""
_STRICT = {
    "arith.cmpf": {
        ir_predicate.value
        for ir_predicate in (
            arith.CmpFPredicate.OGT,
            arith.CmpFPredicate.OLT,
            arith.CmpFPredicate.UNE,
            arith.CmpFPredicate.UNO,
        )
    },
    "arith.cmpi": {
        ir_predicate.value
        for ir_predicate in (
            arith.CmpIPredicate.slt,
            arith.CmpIPredicate.sgt,
            arith.CmpIPredicate.ult,
            arith.CmpIPredicate.ugt,
        )
    },
}
_EXTREMA = {
    "arith.maxsi": (arith.CmpIPredicate.sgt, arith.CmpIPredicate.slt),
    "arith.minsi": (arith.CmpIPredicate.slt, arith.CmpIPredicate.sgt),
    "arith.maxui": (arith.CmpIPredicate.ugt, arith.CmpIPredicate.ult),
    "arith.minui": (arith.CmpIPredicate.ult, arith.CmpIPredicate.ugt),
}
"""To replace the old element: how the new one compares with it, and it with the new one."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A condition on a new element and the best so far.

    Attributes:
        condition: the value of the body that says whether the new one is better.
        new: the new element in the body.
        old: the best so far in the body.
        value: which output the element is.
        position: which output its position is.
        where: the position of the new element in the body; in the row it may begin beyond 0.
        places: all that the body computes of positions, the old one too.
    """

    condition: Any
    new: Any
    old: Any
    value: int
    position: int
    where: Any
    places: tuple[Any, ...] = ()

    def row_start(self, ivs: Sequence[Any]) -> Any | None:
        """The position of the first element of a row; None where it is 0 in every row.

        Args:
            ivs: where the outer loops stand.
        """
        body = self.condition.owner.operation.block
        parts = parts_of(self.where, body)
        if all(each.owner.name in ("linalg.index", "arith.index_cast") for each in parts):
            return None
        return at_start(self.where, ivs, body)

    @cached_property
    def predicate(self) -> Any | None:
        """The comparison that says the same of floats where `old` is a number, and it must be one.

        None if absent.
        """
        if not isinstance(self.old.type, ir.FloatType):
            return None
        return _NAN_WINS.get(tuple(_holds(self.condition, self.new, case) for case in range(6)))

    def is_better(self, new: Any, old: Any) -> Any:
        """The condition of vectors of elements."""
        if self.predicate is None:
            return _evaluated(self.condition, {self.new: new, self.old: old})
        is_number = arith.cmpf(arith.CmpFPredicate.ORD, old, old)
        return arith.andi(arith.cmpf(self.predicate, new, old), is_number)


def choice_of(outputs: Sequence[Any], yielded: Sequence[Any], inner: int) -> Choice | None:
    """The choice that a body makes; None where it does something else.

    Args:
        outputs: the arguments of the body for the old elements of the outputs.
        yielded: their new elements.
        inner: the loop that reduces.
    """
    if len(outputs) != 2:
        return None
    for value, position in ((0, 1), (1, 0)):
        moved = producer(yielded[position])
        if moved is None or moved.name != "arith.select":
            continue
        condition, where, elsewhere = moved.operands
        new = _chosen(yielded[value], condition, outputs[value])
        if new is None or elsewhere != outputs[position] or _uses(elsewhere) != 1:
            continue
        body = outputs[value].owner
        if steps_of(where, inner, body) == 1 and _compares(condition, new, outputs[value]):
            places = (elsewhere, yielded[position], *parts_of(where, body))
            return Choice(condition, new, outputs[value], value, position, where, places)
    return None


def _chosen(value: Any, condition: Any, old: Any) -> Any | None:
    """The element that takes the place of `old` where the condition holds; None where none does."""
    op = producer(value)
    if op is None:
        return None
    if op.name == "arith.select":
        chosen, new, kept = op.operands
        return new if chosen == condition and kept == old else None
    if op.name not in _EXTREMA or old not in list(op.operands):
        return None
    (new,) = [each for each in op.operands if each != old] or [None]
    compared = producer(condition)
    if new is None or compared is None or compared.name != "arith.cmpi":
        return None
    forwards, backwards = (each.value for each in _EXTREMA[op.name])
    predicate = ir.IntegerAttr(compared.attributes["predicate"]).value
    wanted = [new, old] if predicate == forwards else [old, new]
    is_same = predicate in (forwards, backwards) and list(compared.operands) == wanted
    return new if is_same else None


def _compares(condition: Any, new: Any, old: Any) -> bool:
    """Return whether a condition depends on nothing but how two elements compare, strictly."""
    op = producer(condition)
    if op is None:
        return False
    if op.name == "arith.constant":
        return True
    if op.name in _LOGIC:
        return all(_compares(each, new, old) for each in op.operands)
    if op.name not in _STRICT or any(each not in (new, old) for each in op.operands):
        return False
    return ir.IntegerAttr(op.attributes["predicate"]).value in _STRICT[op.name]


def _holds(condition: Any, new: Any, case: int) -> bool:
    """Return whether a condition on floats holds in one of the cases of `_COMPARED`."""
    op = condition.owner.operation
    if op.name == "arith.constant":
        return bool(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name in _LOGIC:
        one, other = (_holds(each, new, case) for each in op.operands)
        return {"andi": one & other, "ori": one | other, "xori": one ^ other}[op.name[6:]]
    predicate = arith.CmpFPredicate(ir.IntegerAttr(op.attributes["predicate"]).value)
    left, right = op.operands
    if left == right:
        is_nan = case == 5 or case == (3 if left == new else 4)
        return _SELF[predicate][is_nan]
    mirrored = (2, 1, 0, 4, 3, 5)
    return _COMPARED[predicate][case if left == new else mirrored[case]]


def _evaluated(value: Any, known: dict[Any, Any]) -> Any:
    """A condition of the body on vectors."""
    if value in known:
        return known[value]
    op = value.owner.operation
    (vector_type, *_) = (each.type for each in known.values())
    type_ = ir.VectorType.get(vector_type.shape, value.type)
    if op.name == "arith.constant":
        attribute = ir.DenseElementsAttr.get_splat(type_, op.attributes["value"])
        made = ir.Operation.create(op.name, results=[type_], attributes={"value": attribute})
    else:
        attributes = {name: op.attributes[name] for name in op.attributes}
        operands = [_evaluated(each, known) for each in op.operands]
        made = ir.Operation.create(
            op.name, results=[type_], operands=operands, attributes=attributes
        )
    return made.results[0]


def _uses(value: Any) -> int:
    return sum(1 for _ in value.uses)
