"""Conditions on positions in the body of a structured op, evaluated for a whole grid at once.

    %met = arith.cmpi sle, %k, %n : index
    %chosen = arith.select %met, %value, %otherwise : f32
    %next = arith.addf %before, %chosen : f32

The meaning of a condition is not derived from its form: it is computed for every position.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.transforms.ir_utils.generics import inside
from linalg_ext.transforms.ir_utils.walking import producer

Grid = Mapping[int, np.ndarray[Any, Any]]
"""For loops of an iteration space their positions, shaped so that they broadcast."""

_MOST_POSITIONS = 1 << 22

_COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
)
"""By the number of the predicate of `arith.cmpi`, those of signed integers."""

_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.remsi": np.fmod,
}
_CASTS = ("arith.index_cast", "arith.extsi")

_NEUTRAL = {"arith.addf": 0, "arith.addi": 0, "arith.mulf": 1, "arith.muli": 1}
"""The neutral element of each combiner: it leaves the other operand unchanged."""


@dataclass(frozen=True)
class ConditionalStep:
    """A step of a reduction that takes a value where conditions on the position hold.

    Attributes:
        combiner: the op that combines what was there before with what is chosen.
        choice: the select.
    """

    combiner: Any
    choice: Any

    @property
    def conditions(self) -> list[Any]:
        """The conditions, all of which must hold."""
        return conjuncts(self.choice.operands[0])

    @property
    def value(self) -> Any:
        """The value that is taken where the conditions hold."""
        return self.choice.operands[1]

    @property
    def otherwise(self) -> Any:
        """The value that is taken where the conditions do not hold."""
        return self.choice.operands[2]

    @property
    def is_neutral_elsewhere(self) -> bool:
        """Return whether what is taken where they do not hold is known to change nothing."""
        other = producer(self.otherwise)
        if other is None or other.name != "arith.constant":
            return False
        constant = other.attributes["value"]
        if not isinstance(constant, ir.FloatAttr | ir.IntegerAttr):
            return False
        return bool(constant.value == _NEUTRAL.get(self.combiner.name))


def conditional_step(op: Any) -> ConditionalStep | str:
    """The one step of a structured op with one result; or why it is no such step."""
    body = op.regions[0].blocks[0]
    before = body.arguments[len(body.arguments) - 1]
    combiner = inside(body.operations[len(body.operations) - 1].operation.operands[0], body)
    operands = [] if combiner is None else list(combiner.operands)
    if combiner is None or len(operands) != 2 or operands.count(before) != 1:
        return "the op reduces no value"
    if sum(1 for _ in before.uses) != 1:
        return "the selected value depends on the result so far"
    (chosen,) = (value for value in operands if value != before)
    choice = inside(chosen, body)
    if choice is None or choice.name != "arith.select":
        return "the body selects no value"
    if loops_of(choice.operands[1]):
        return "the selected value depends on its position"
    return ConditionalStep(combiner, choice)


def conjuncts(condition: Any) -> list[Any]:
    """The conditions that all must hold for one to hold."""
    op = producer(condition)
    if op is None or op.name != "arith.andi":
        return [condition]
    return [part for operand in op.operands for part in conjuncts(operand)]


def loops_of(value: Any) -> set[int]:
    """The loops whose positions a value depends on."""
    op = producer(value)
    if op is None:
        return set()
    if op.name == "linalg.index":
        return {_loop(op)}
    return {loop for operand in op.operands for loop in loops_of(operand)}


def grid(sizes: Mapping[int, int]) -> Grid | None:
    """All positions of some loops; None where they are too many to look at."""
    if np.prod(list(sizes.values()), dtype=np.float64) > _MOST_POSITIONS:
        return None
    return dict(zip(sizes, np.ix_(*map(np.arange, sizes.values())), strict=True))


def evaluated(value: Any, positions: Grid) -> Any:
    """An integer or a truth value of a body for each position of a grid; None if it is neither.

    It is computed in 64 bits: a value that does not depend on positions alone, or that is computed
    by an op that has no meaning here, is not known.
    """
    op = producer(value)
    if op is None:
        return None
    if op.name == "linalg.index":
        return positions.get(_loop(op))
    if op.name == "arith.constant":
        constant = op.attributes["value"]
        return ir.IntegerAttr(constant).value if isinstance(constant, ir.IntegerAttr) else None
    operands = [evaluated(operand, positions) for operand in op.operands]
    if any(operand is None for operand in operands):
        return None
    if op.name in _CASTS:
        return operands[0]
    if op.name == "arith.cmpi":
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        return _COMPARISONS[predicate](*operands) if predicate < len(_COMPARISONS) else None
    function = _FUNCTIONS.get(op.name)
    return None if function is None else function(*operands)


def _loop(op: Any) -> int:
    number: int = ir.IntegerAttr(op.attributes["dim"]).value
    return number
