"""How the innermost loop reduces: what its vectors start from, and how they end as one element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from linalg_ext.bindings import arith, ir, vector

from ._choices import Choice, choice_of
from ._combiners import Combiner, combiner_of, halves


class Reduction(Protocol):
    """The reduction of one nest: a vector for each of its outputs.

    Attributes:
        begins_with_old: whether the vectors begin with what the outputs hold.
    """

    @property
    def begins_with_old(self) -> bool: ...

    def start(self, types: Sequence[Any], old: Sequence[Any], lanes: int) -> list[Any]:
        """What the vectors hold at first.

        Args:
            types: of the elements of the outputs.
            old: these elements, where the vectors begin with them.
        """
        ...

    def narrowed(self, values: Sequence[Any], lanes: int) -> list[Any]:
        """The vectors reduced to `lanes` elements."""
        ...

    def finish(self, old: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """The new elements of the outputs."""
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

    def finish(self, old: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """What the outputs held, combined with what was found."""
        found = self.narrowed(values, 1)
        return [
            combine(before, vector.extract(value, [], [0]))
            for combine, before, value in zip(self.combiners, old, found, strict=True)
        ]


@dataclass(frozen=True)
class FirstBest(Reduction):
    """The best element and where it is; the first of several that are equal."""

    choice: Choice
    begins_with_old: bool = True

    def start(self, types: Sequence[Any], old: Sequence[Any], lanes: int) -> list[Any]:
        """What the outputs hold, in every lane: only what is better takes its place."""
        return [vector.broadcast(ir.VectorType.get([lanes], each.type), each) for each in old]

    def narrowed(self, values: Sequence[Any], lanes: int) -> list[Any]:
        """The better of two halves, and where both are equal the one found earlier."""
        values = list(values)
        while values[0].type.shape[0] > lanes:
            lows, highs = zip(*(halves(value) for value in values), strict=True)
            take = self._is_better(highs, lows)
            pairs = zip(lows, highs, strict=True)
            values = [arith.select(take, high, low) for low, high in pairs]
        return values

    def finish(self, old: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """What was found: the old elements were among it."""
        return [vector.extract(value, [], [0]) for value in self.narrowed(values, 1)]

    def _is_better(self, one: Sequence[Any], other: Sequence[Any]) -> Any:
        choice = self.choice
        wins = choice.is_better(one[choice.value], other[choice.value])
        loses = choice.is_better(other[choice.value], one[choice.value])
        where, elsewhere = one[choice.position], other[choice.position]
        earlier = arith.cmpi(arith.CmpIPredicate.slt, where, elsewhere)
        # Where neither is better the earlier one is.
        return arith.ori(wins, arith.andi(earlier, arith.cmpi(arith.CmpIPredicate.eq, wins, loses)))


def reduction_of(outputs: Sequence[Any], yielded: Sequence[Any], inner: int) -> Reduction | None:
    """How a body reduces along loop `inner`; None where vectors cannot do it.

    Args:
        outputs: the arguments of the body for the old elements of the outputs.
        yielded: their new elements.
    """
    combiners = [combiner_of(*each) for each in zip(outputs, yielded, strict=True)]
    known = tuple(each for each in combiners if each is not None)
    if len(known) == len(combiners):
        return Sums(known)
    choice = choice_of(outputs, yielded, inner)
    return None if choice is None else FirstBest(choice)
