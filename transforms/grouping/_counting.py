"""The costs of the nests that a group becomes: arithmetic, memory level by level, beginnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linalg_ext.target import Figures, Level, Target
from linalg_ext.target.performance import BESIDE_FUNCTIONS
from linalg_ext.target.performance import FUNCTIONS as ALL_FUNCTIONS

from ._graph import ARGUMENTS, Value
from ._nests import Members, Nest
from ._rates import arithmetic, is_contiguous, is_of_matrices
from ._work import CONTRACTION, FREE, WINDOW, Access, Work
from .cost import Cost

Parts = dict[str, float]
"""Values by name."""

_CROWDING = frozenset(set(ALL_FUNCTIONS) - {"simple", "divide"})
"""The functions that crowd a nest: several of them wait for each other."""


@dataclass(frozen=True)
class Counting:
    """The cost of the nests of one group on one core.

    Attributes:
        target, figures: the machine.
        members: the group.
        around: bytes that a call of the whole function touches, besides what it makes for itself.
        tiles: how many times all of it is done, each time for one tile.
    """

    target: Target
    figures: Figures
    members: Members
    around: float
    tiles: int

    def of(self, nests: Sequence[Nest]) -> Cost:
        """The cost of all nests together."""
        near: set[int] = set()
        costs = []
        for nest in nests:
            near = near if nest.shares_rows else set()
            costs.append(self._of_nest(nest, near))
            near = near | set(nest.ops)
        cost = Cost.sum(costs)
        if self.tiles == 1:
            return cost
        return Cost.of(
            [(name, seconds * self.tiles) for name, seconds in cost.parts],
            [(name, count * self.tiles) for name, count in cost.work],
        )

    def _of_nest(self, nest: Nest, near: set[int]) -> Cost:
        """The cost of one nest; `near` are ops whose results are in the nearest cache."""
        computing, moving, work = Parts(), Parts(), Parts()
        for node in nest.ops:
            done = self.members.work[node]
            rounds = nest.rounds[node]
            for kind, seconds, count in arithmetic(done, rounds, self.target, self.figures):
                _add(computing, kind, seconds)
                _add(work, kind, count)
        self._crowd(computing)
        for level, moved in self._reads(nest, near):
            _add(moving, level.name, moved / level.read)
            _add(work, f"bytes of {level.name}", moved)
        for level, moved in self._writes(nest):
            _add(moving, level.name, moved / level.write)
            _add(work, f"bytes of {level.name}", moved)
        for level, moved in self._packed(nest):
            _add(moving, level.name, moved / level.write)
            _add(work, f"bytes of {level.name}", moved)
        together = _in_turn if self.members.work[nest.main].is_product else _overlapped
        return Cost.of([*together(computing, moving), *self._beginnings(nest)], work.items())

    def _crowd(self, computing: Parts) -> None:
        """Functions wait for each other where a nest has several; what is simple fills the gaps."""
        functions = _CROWDING & computing.keys()
        if functions and "simple" in computing:
            computing["simple"] *= BESIDE_FUNCTIONS
        if len(functions) > 1:
            for kind in functions:
                computing[kind] *= self.figures.crowding

    def _reads(self, nest: Nest, near: set[int]) -> Iterator[tuple[Level, float]]:
        """From which level how many bytes come, each tensor once."""
        members, seen = self.members, set[Value]()
        for node in nest.ops:
            loops = members.work[node].loops
            for access, value in members.reads(node):
                if value in seen or value.node in nest.ops or members.is_for_free(value):
                    continue
                seen.add(value)
                yield from self._reading(value, access, loops, near)

    def _writes(self, nest: Nest) -> Iterator[tuple[Level, float]]:
        """To which level how many bytes go: into memory that earlier calls have faulted in."""
        members, node = self.members, nest.ops[-1]
        last = members.work[node]
        for access in last.writes:
            moved = access.touched(last.loops)
            if node not in members.outputs and (nest.gives_rows or self.tiles > 1):
                level = self.figures.levels[0] if nest.gives_rows else self._nearest_for(moved)
                yield level, moved
                continue
            yield self._nearest_for(access.bytes), moved

    def _packed(self, nest: Nest) -> Iterator[tuple[Level, float]]:
        """To which level how many bytes of operands go that a product of matrices packs."""
        work = self.members.work[nest.main]
        if work.kind == CONTRACTION and is_of_matrices(work):
            # Packed operands share the caches with the result.
            touched = [each.touched(work.loops) for each in (*work.reads, *work.writes)]
            level = self.figures.level_of(sum(touched) + sum(touched[:2]))
            for access, moved in zip(work.reads, touched[:2], strict=False):
                # What all tiles read whole is packed before them.
                yield level, moved / self.tiles if moved == access.bytes else moved

    def _reading(
        self, value: Value, access: Access, loops: Sequence[int], near: set[int]
    ) -> Iterator[tuple[Level, float]]:
        moved = access.touched(loops)
        if value.node in near:
            yield self.figures.levels[0], moved
            return
        if value.node in self.members.inside:
            yield self._nearest_for(moved), moved
            return
        outside = self.around if self._is_given(value) else 2 * access.bytes
        # A tile finds what every tile reads where the tile before has left it.
        first = min(moved, access.bytes / self.tiles)
        yield self.figures.level_of(outside), first
        if moved > first:
            yield self._nearest_for(moved), moved - first

    def _nearest_for(self, moved: float) -> Level:
        """Return the level that holds a value after as many bytes as its own were written since."""
        return self.figures.level_of(2 * moved)

    def _is_given(self, value: Value) -> bool:
        """Return whether a value is there before the call: an argument, or a constant."""
        if value.node == ARGUMENTS:
            return True
        return self.members.state.node(value.node).work.kind == FREE

    def _beginnings(self, nest: Nest) -> list[tuple[str, float]]:
        begin = 0.0 if nest.shares_rows else self.figures.nest
        starts = _innermost_starts(self.members.work[nest.main])
        return [("nests", begin), ("loops", starts * self.figures.loop)]


def _innermost_starts(work: Work) -> float:
    """Return the number of times that an innermost loop begins; 0 for contractions and windows.

    The rate of contractions contains these starts already.
    """
    if work.kind in (CONTRACTION, WINDOW) or not work.iterations:
        return 0.0
    return 1.0 if is_contiguous(work) else work.iterations / work.loops[-1]


def _in_turn(computing: Parts, moving: Parts) -> list[tuple[str, float]]:
    """Arithmetic, and then memory: operands are packed, and tiles of the result written, apart."""
    return [*computing.items(), *moving.items()]


def _overlapped(computing: Parts, moving: Parts) -> list[tuple[str, float]]:
    """The longer of arithmetic and memory: what memory takes beyond arithmetic, by level."""
    arithmetic_time, memory_time = sum(computing.values()), sum(moving.values())
    waiting = max(0.0, memory_time - arithmetic_time)
    part = waiting / memory_time if memory_time else 0.0
    return [*computing.items(), *((name, part * each) for name, each in moving.items() if part)]


def _add(into: Parts, name: str, value: float) -> None:
    into[name] = into.get(name, 0.0) + value
