"""Reductions along the innermost loop: the start of their vectors, and their final elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from linalg_ext.bindings import arith, ir, vector
from linalg_ext.transforms.ir_utils.arithmetic import constant

from ._arg_reductions import Choice, choice_of
from .combiners import Combiner, combiner_of, halves, joined, split

_BEFORE = -1
"""The position of what was found before the row began."""


class Reduction(Protocol):
    """The reduction of one nest: a vector for each of its outputs.

    Attributes:
        begins_with_old: whether the vectors begin with what the outputs hold.
    """

    @property
    def begins_with_old(self) -> bool: ...

    def start(self, types: Sequence[Any], old: Sequence[Any], lanes: int) -> list[Any]:
        """Return the vectors at the start of the loop.

        Args:
            types: of the elements of the outputs.
            old: these elements, where the vectors begin with them.
        """
        ...

    def narrowed(self, values: Sequence[Any], lanes: int) -> list[Any]:
        """The vectors reduced to `lanes` elements."""
        ...

    def finish(self, old: Sequence[Any], values: Sequence[Any], ivs: Sequence[Any]) -> list[Any]:
        """The new elements of the outputs.

        Args:
            old: the elements that they hold.
            values: the vectors.
            ivs: where the outer loops stand.
        """
        ...


@dataclass(frozen=True)
class Sums(Reduction):
    """Each output by itself, by an associative operation with a neutral element."""

    combiners: tuple[Combiner, ...]
    begins_with_old: bool = False

    def start(self, types: Sequence[Any], old: Sequence[Any], lanes: int) -> list[Any]:
        """Neutral elements: what the outputs hold is combined with the sum, not with a part."""
        return [
            combine.neutral(ir.VectorType.get([lanes], type_))
            for combine, type_ in zip(self.combiners, types, strict=True)
        ]

    def narrowed(self, values: Sequence[Any], lanes: int) -> list[Any]:
        """Halves combined with halves."""
        return [
            combine.all_of(value, lanes)
            for combine, value in zip(self.combiners, values, strict=True)
        ]

    def finish(self, old: Sequence[Any], values: Sequence[Any], ivs: Sequence[Any]) -> list[Any]:
        """Return the old elements of the outputs, combined with the reduced vectors."""
        found = self.narrowed(values, 1)
        return [
            combine(before, vector.extract(value, [], [0]))
            for combine, before, value in zip(self.combiners, old, found, strict=True)
        ]


@dataclass(frozen=True)
class FirstBest(Reduction):
    """The best element and where it is; the first of several that are equal.

    Attributes:
        choice: what is better.
        position_type: of the positions in the vectors, as narrow as the elements where the row is
            known to be short enough: vectors of both then have as many lanes.
    """

    choice: Choice
    position_type: Any
    begins_with_old: bool = True

    def start(self, types: Sequence[Any], old: Sequence[Any], lanes: int) -> list[Any]:
        """Return the old elements of the outputs in every lane, at a position before the row."""
        value = old[self.choice.value]
        values = vector.broadcast(ir.VectorType.get([lanes], value.type), value)
        before = constant(ir.VectorType.get([lanes], self.position_type), _BEFORE)
        return self._ordered(values, before)

    def chosen(self, new: Any, at: Any, old: Sequence[Any], registers: int) -> list[Any]:
        """The vectors after one more round.

        Args:
            new: the elements that are new.
            at: the position of the first of them.
            old: the vectors before.
            registers: the number of parts that they are split into: a comparison of parts as long
                as a register stays in registers.
        """
        lanes = new.type.shape[0]
        type_ = ir.VectorType.get([lanes], self.position_type)
        first = vector.broadcast(type_, arith.index_cast(self.position_type, at))
        steps = vector.step(ir.VectorType.get([lanes], ir.IndexType.get()))
        where = arith.addi(first, arith.index_cast(type_, steps))
        vectors = (new, where, old[self.choice.value], old[self.choice.position])
        parts = zip(*(split(each, registers) for each in vectors), strict=True)
        values, places = zip(*(self._better(*part) for part in parts), strict=True)
        return self._ordered(joined(values), joined(places))

    def _better(self, new: Any, where: Any, best: Any, place: Any) -> tuple[Any, Any]:
        take = self.choice.is_better(new, best)
        return arith.select(take, new, best), arith.select(take, where, place)

    def _ordered(self, value: Any, position: Any) -> list[Any]:
        """Value and position in the order of the outputs."""
        return [value, position] if self.choice.value == 0 else [position, value]

    def narrowed(self, values: Sequence[Any], lanes: int) -> list[Any]:
        """The better of two halves, and where both are equal the one found earlier."""
        values = list(values)
        while values[0].type.shape[0] > lanes:
            lows, highs = zip(*(halves(value) for value in values), strict=True)
            take = self._is_better(highs, lows)
            pairs = zip(lows, highs, strict=True)
            values = [arith.select(take, high, low) for low, high in pairs]
        return values

    def finish(self, old: Sequence[Any], values: Sequence[Any], ivs: Sequence[Any]) -> list[Any]:
        """Return the best element and its position; the old elements took part in the search."""
        found = [vector.extract(value, [], [0]) for value in self.narrowed(values, 1)]
        place, before = found[self.choice.position], old[self.choice.position]
        is_before = arith.cmpi(arith.CmpIPredicate.eq, place, constant(place.type, _BEFORE))
        in_row, start = _resized(place, before.type), self.choice.row_start(ivs)
        new = in_row if start is None else arith.addi(in_row, start)
        position = arith.select(is_before, before, new)
        return self._ordered(found[self.choice.value], position)

    def _is_better(self, one: Sequence[Any], other: Sequence[Any]) -> Any:
        choice = self.choice
        wins = choice.is_better(one[choice.value], other[choice.value])
        loses = choice.is_better(other[choice.value], one[choice.value])
        where, elsewhere = one[choice.position], other[choice.position]
        earlier = arith.cmpi(arith.CmpIPredicate.slt, where, elsewhere)
        # Where neither is better the earlier one is.
        return arith.ori(wins, arith.andi(earlier, arith.cmpi(arith.CmpIPredicate.eq, wins, loses)))


def _resized(place: Any, type_: Any) -> Any:
    """A position as an integer of another width."""
    if place.type == type_:
        return place
    resize = arith.extsi if type_.width > place.type.width else arith.trunci
    return resize(type_, place)


def reduction_of(
    outputs: Sequence[Any], yielded: Sequence[Any], inner: int, length: int | None
) -> Reduction | None:
    """Return the reduction of a body along loop `inner`; None where vectors cannot do it.

    Args:
        outputs: the arguments of the body for the old elements of the outputs.
        yielded: their new elements.
        inner: the loop.
        length: of it, if known.
    """
    combiners = [combiner_of(*each) for each in zip(outputs, yielded, strict=True)]
    known = tuple(each for each in combiners if each is not None)
    if len(known) == len(combiners):
        return Sums(known)
    choice = choice_of(outputs, yielded, inner)
    if choice is None:
        return None
    is_short = length is not None and length < 1 << 31
    is_narrow = is_short and choice.old.type.width <= 32
    return FirstBest(choice, ir.IntegerType.get_signless(32 if is_narrow else 64))
