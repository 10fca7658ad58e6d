"""The loops of a reduction over windows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from linalg_ext.transforms.codegen.base.writer import Index

from ._nest import OperandsNest
from ._window_plan import WindowPlan
from ._window_reader import Key, Lanes, Operands, Reader


class WindowNest(OperandsNest):
    """Writes the nest of one plan."""

    def __init__(self, plan: WindowPlan, types: Sequence[str]) -> None:
        super().__init__(plan.problem, types, plan.lanes)
        self._plan = plan
        inputs = enumerate(types[: plan.problem.body.inputs])
        self._scalars = {
            place: self._w.op(f"vector.broadcast %A{place} : {type_} to {self._vector(type_)}")
            for place, type_ in inputs
            if place not in plan.problem.arguments
        }
        self._of_epilogue = self._epilogue_scalars()

    def _write(self) -> None:
        self._outer(self._plan.order, self._operands, {}, Lanes(None))

    def _vector(self, element: str) -> str:
        return f"vector<{self._plan.lanes}x{element}>"

    # The loops over results.

    def _outer(
        self, loops: Sequence[str], operands: Operands, counts: dict[str, int], lanes: Lanes
    ) -> None:
        """The loops around a tile of results along the other loops."""
        if not loops:
            self._tile(operands, counts, lanes)
            return
        name, *rest = loops
        if name == self._plan.vector:
            self._vectors(rest, operands, counts)
            return
        w = self._w
        size, step = self._sizes[name], self._plan.tile.get(name, 1)
        whole = w.sub(size, w.rem(size, step))

        def round_at(at: Index, count: int) -> None:
            moved = {place: operand.moved(name, at) for place, operand in operands.items()}
            self._outer(rest, moved, {**counts, name: count}, lanes)

        if whole != 0:
            with w.loop(0, whole, step) as at:
                round_at(at, step)
        if whole == size:
            return
        if isinstance(whole, int) and isinstance(size, int):
            round_at(whole, size - whole)
        else:
            with w.loop(whole, size) as at:
                round_at(at, 1)

    def _vectors(self, rest: Sequence[str], operands: Operands, counts: dict[str, int]) -> None:
        """The loop over vectors: whole ones, then what is left."""
        w, plan = self._w, self._plan
        name, size, step = plan.vector, self._sizes[plan.vector], plan.rounds * plan.vectors
        whole = w.sub(size, w.rem(size, step))

        def round_at(at: Index, vectors: int, count: Index | None) -> None:
            # Where rows are walked over as one, results lie elsewhere than what they come of.
            stay = [*self._problem.finishing, self._problem.output] if plan.pitch else []
            moved = {
                place: operand if place in stay else operand.moved(name, at)
                for place, operand in operands.items()
            }
            self._outer(rest, moved, {**counts, name: vectors}, Lanes(count, at))

        if whole != 0:
            with w.loop(0, whole, step) as at:
                round_at(at, plan.vectors, None)
        if whole == size:
            return
        if isinstance(whole, int) and isinstance(size, int):
            round_at(whole, -(-(size - whole) // plan.rounds), size - whole)
        else:
            with w.loop(whole, size, plan.rounds) as at:
                round_at(at, 1, w.sub(size, at))

    # A tile.

    def _tile(self, operands: Operands, counts: Mapping[str, int], lanes: Lanes) -> None:
        problem, plan = self._problem, self._plan
        # An element meets all vectors before the next one is read.
        counts = dict(sorted(counts.items(), key=lambda each: each[0] == plan.vector))
        # The next vector is `plan.rounds` rounds of its loop further on.
        steps = [plan.rounds if name == plan.vector else 1 for name in counts]
        tile = [
            {name: at * step for name, at, step in zip(counts, chosen, steps, strict=True)}
            for chosen in itertools.product(*(range(count) for count in counts.values()))
        ]
        masks: dict[Key, str] = {}
        reader = Reader(self._w, plan, operands, lanes, masks)
        if problem.start is None:
            values = [reader.result(problem.output, at) for at in tile]
        else:
            element = problem.arguments[problem.output].element
            start = self._w.constant(f"dense<{problem.start}>", self._vector(element))
            values = [start] * len(tile)
        looped = [name for name in problem.reduced if name not in plan.unrolled]
        values = self._reduced(looped, operands, tile, values, lanes, masks)
        for at, value in zip(tile, values, strict=True):
            reader.finish(at, value, self._of_epilogue)

    def _reduced(
        self,
        loops: Sequence[str],
        operands: Operands,
        tile: Sequence[Mapping[str, int]],
        values: Sequence[str],
        lanes: Lanes,
        masks: dict[Key, str],
    ) -> list[str]:
        """The results of a tile after the loops over a window that are left."""
        w, problem = self._w, self._problem
        if loops:
            name, *rest = loops
            vector = self._vector(problem.arguments[problem.output].element)
            size = self._sizes[name]
            with w.carrying_loop(size, 1, values, vector) as (at, carried, next_, results):
                moved = {place: operand.moved(name, at) for place, operand in operands.items()}
                next_ += self._reduced(rest, moved, tile, carried, lanes, dict(masks))
            return results
        reader = Reader(w, self._plan, operands, lanes, masks)
        found = list(values)
        unrolled = self._plan.unrolled
        for chosen in itertools.product(*(range(problem.size(n) or 0) for n in unrolled)):
            tap = dict(zip(unrolled, chosen, strict=True))
            for number, result in enumerate(tile):
                given: list[str | None] = [None] * problem.body.inputs
                for place in problem.inputs:
                    given[place] = reader.vector(place, {**result, **tap})
                for place, scalar in self._scalars.items():
                    given[place] = scalar
                given[problem.output] = found[number]
                found[number] = problem.body.write(w, given, self._plan.lanes)
        return found
