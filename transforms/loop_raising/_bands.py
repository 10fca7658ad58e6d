"""Bands: perfect nests of `scf.for` that run a number of times that none of them changes.

Between two loops may stand what computes, and what reads elements that the nest does not write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.rewriting import MatchFailure
from linalg_ext.structured.indices import IndexReader
from linalg_ext.symbolic.integers import Number, ceildiv, maximum

from ._accesses import Memory, is_load, is_pure
from ._indices import along, counts_in_indices

FOR = "scf.for"


@dataclass(frozen=True)
class Level:
    """One loop of a band: `lower + step * k`, for k from 0 to below `count`."""

    loop: ir.Operation
    lower: Number
    step: int
    count: Number


@dataclass(frozen=True)
class Band:
    """A perfect nest.

    Attributes:
        levels: its loops, the outermost first.
        ops: what one iteration does, in order, those between the loops first.
    """

    levels: tuple[Level, ...]
    ops: tuple[ir.Operation, ...]

    @property
    def outermost(self) -> ir.Operation:
        """The loop that all others are in."""
        return self.levels[0].loop


def band_of(loop: ir.Operation, read: IndexReader) -> Band | MatchFailure:
    """The band that begins with a loop, or why there is none."""
    loops: list[ir.Operation] = []
    ops: list[ir.Operation] = []
    inner: ir.Operation | None = loop
    while inner is not None:
        loops.append(inner)
        if len(inner.results):
            return MatchFailure(
                "the loop carries values: linalg-ext-accumulate-in-memory puts sums in memory"
            )
        *body, _ = [each.operation for each in inner.regions[0].blocks[0].operations]
        inner = next((each for each in body if each.name == FOR), None)
        between = [each for each in body if inner is None or each != inner]
        if inner is not None and not all(_may_repeat(each, inner) for each in between):
            return MatchFailure(
                "the nest is not perfect: linalg-ext-distribute-loops makes several nests"
            )
        ops += between
    levels: list[Level] = []
    for each in loops:
        level = _level(each, read)
        if isinstance(level, MatchFailure):
            return level
        if not (_is_fixed(level.lower, loops, read) and _is_fixed(level.count, loops, read)):
            return MatchFailure("a loop inside begins or ends where one around it says")
        levels.append(level)
    return Band(tuple(levels), tuple(ops))


def _may_repeat(op: ir.Operation, loop: ir.Operation) -> bool:
    """Return whether an op before or after a loop may be done in each of its iterations."""
    return is_pure(op) or (is_load(op) and not Memory().may_overwrite(loop, op))


@dataclass(frozen=True)
class Linear:
    """A number as a sum of multiples of induction variables, the outermost first, and a rest."""

    factors: tuple[int, ...]
    rest: Number


def linear(number: Number, loops: Sequence[ir.Operation], read: IndexReader) -> Linear | None:
    """A number as a nest sees it; None where it is not linear, or the nest computes the rest."""
    factors: list[int] = []
    rest = number
    for loop in reversed(loops):
        seen = along(rest, loop, read)
        if seen is None:
            return None
        factors.insert(0, seen.factor)
        rest = seen.rest
    return Linear(tuple(factors), rest)


def _level(loop: ir.Operation, read: IndexReader) -> Level | MatchFailure:
    if not counts_in_indices(loop):
        return MatchFailure("the loop counts in integers, or without signs")
    lower, upper, step = (read(value) for value in list(loop.operands)[:3])
    if not isinstance(step, int) or step < 1:
        return MatchFailure("the step is not known")
    return Level(loop, lower, step, ceildiv(maximum(upper - lower, 0), step))


def _is_fixed(number: Number, loops: Sequence[ir.Operation], read: IndexReader) -> bool:
    """Return whether a number is the same in all iterations."""
    seen = linear(number, loops, read)
    return seen is not None and not any(seen.factors)
