"""Conditions on positions in the body of a structured op, evaluated for all positions at once.

    %met = arith.cmpi sle, %k, %n : index
    %chosen = arith.select %met, %value, %otherwise : f32
    %next = arith.addf %before, %chosen : f32

The meaning of a condition is not derived from its form: it is computed for every position.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.symbolic.affine import AffineDim, AffineMap
from linalg_ext.transforms.ir_utils.generics import inside, loop_of
from linalg_ext.transforms.ir_utils.walking import producer

from .payload import combination_of

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
    """A step of a reduction that combines a value where conditions on the position hold.

    Attributes:
        combiner: the op that combines the result so far with the selected value.
        choice: the select.
    """

    combiner: Any
    choice: Any

    @property
    def conditions(self) -> list[Any]:
        """The conditions, all of which must hold."""
        return _conjuncts(self.choice.operands[0])

    @property
    def value(self) -> Any:
        """The value that is combined where the conditions hold."""
        return self.choice.operands[1]

    @property
    def otherwise(self) -> Any:
        """The value that is combined where the conditions do not hold."""
        return self.choice.operands[2]

    @property
    def is_neutral_elsewhere(self) -> bool:
        """True where the value that is combined otherwise is a neutral element."""
        op = producer(self.otherwise)
        constant = op.attributes["value"] if op is not None and "value" in op.attributes else None
        if not isinstance(constant, ir.FloatAttr | ir.IntegerAttr):
            return False
        return bool(constant.value == _NEUTRAL.get(self.combiner.name))


def conditional_step(op: Any) -> ConditionalStep | str:
    """Return the one step of a structured op with one result, or why it is not conditional."""
    body = op.regions[0].blocks[0]
    combination = combination_of(op)
    if combination is None:
        if sum(1 for _ in body.arguments[len(body.arguments) - 1].uses) > 1:
            return "the selected value depends on the result so far"
        return "the op reduces no value"
    combiner, chosen = combination
    choice = inside(chosen, body)
    if choice is None or choice.name != "arith.select":
        return "the body selects no value"
    if loops_of(choice.operands[1]):
        return "the selected value depends on its position"
    return ConditionalStep(combiner, choice)


def _conjuncts(condition: Any) -> list[Any]:
    """Return the conditions that all must hold for one to hold."""
    op = producer(condition)
    if op is None or op.name != "arith.andi":
        return [condition]
    return [part for operand in op.operands for part in _conjuncts(operand)]


def loops_of(value: Any) -> set[int]:
    """Return the loops whose positions a value depends on."""
    op = producer(value)
    if op is None:
        return set()
    if op.name == "linalg.index":
        return {loop_of(op)}
    return {loop for operand in op.operands for loop in loops_of(operand)}


def plain_sizes(op: Any, maps: Sequence[AffineMap]) -> dict[str, int] | str:
    """Return the size of each loop that indexes an operand alone; or which size is dynamic."""
    if not all(
        value.type.has_static_shape
        for value in op.operands
        if isinstance(value.type, ir.ShapedType)
    ):
        return "the sizes are not known"
    return {
        index.name: ir.ShapedType(value.type).get_dim_size(axis)
        for value, map_ in zip(op.operands, maps, strict=True)
        for axis, index in enumerate(map_.results)
        if isinstance(index, AffineDim)
    }


def is_plain(map_: AffineMap) -> bool:
    """Return whether each index of an operand is a loop."""
    return all(isinstance(index, AffineDim) for index in map_.results)


def positions_met(conditions: Iterable[Any], sizes: Mapping[int, int]) -> Any | str:
    """Return for all positions of some loops whether conditions hold, or why that is not known."""
    if np.prod(list(sizes.values()), dtype=np.float64) > _MOST_POSITIONS:
        return "the loops are too long to be checked point by point"
    positions = dict(zip(sizes, np.ix_(*map(np.arange, sizes.values())), strict=True))
    met = np.ones(tuple(sizes.values()), bool)
    for condition in conditions:
        holds = evaluate(condition, positions)
        if holds is None:
            return "a condition is more than sums and comparisons of positions"
        met = met & holds
    return met


def evaluate(value: Any, positions: Mapping[int, Any]) -> Any:
    """Return an integer or a truth value of a body for all positions of loops.

    It is computed in 64 bits. None is returned for a value that depends on more than positions, or
    whose op has no meaning here.
    """
    op = producer(value)
    if op is None:
        return None
    if op.name == "linalg.index":
        return positions.get(loop_of(op))
    if op.name == "arith.constant":
        constant = op.attributes["value"]
        return ir.IntegerAttr(constant).value if isinstance(constant, ir.IntegerAttr) else None
    operands = [evaluate(operand, positions) for operand in op.operands]
    if any(operand is None for operand in operands):
        return None
    if op.name in _CASTS:
        return operands[0]
    if op.name == "arith.cmpi":
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        return _COMPARISONS[predicate](*operands) if predicate < len(_COMPARISONS) else None
    function = _FUNCTIONS.get(op.name)
    return None if function is None else function(*operands)
