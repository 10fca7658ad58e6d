"""The nests of convolutions and poolings: the operands, and the loops of a reduction over windows.

Each vector of an operand is loaded once for a tile of results.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linalg_ext.transforms.codegen.base.flat_memory import FlatOperand, Memory, Piece
from linalg_ext.transforms.codegen.base.nest import Nest
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._window_plan import Pitch, WindowPlan, WindowProblem

Key = tuple[object, ...]

Operands = Mapping[int, FlatOperand]


def moved_operands(operands: Operands, loop: str, at: Index) -> dict[int, FlatOperand]:
    return {place: operand.moved(loop, at) for place, operand in operands.items()}


class OperandsNest(Nest):
    """Writes a nest on memrefs and scalars: `%A0`, `%A1` and so on."""

    def __init__(self, problem: WindowProblem, types: Sequence[str], lanes: int) -> None:
        super().__init__(lanes)
        self._problem = problem
        self._operands: dict[int, FlatOperand] = {}
        for place, type_ in enumerate(types):
            if place in problem.arguments:
                self._operands[place] = self._operand(f"A{place}", problem.arguments[place])
            else:
                self._scalar(f"A{place}", type_)
        self._sizes |= {loop.name: loop.size for loop in problem.loops if loop.size is not None}

    def _epilogue_scalars(self) -> list[str]:
        problem = self._problem
        if problem.epilogue is None:
            return []
        first = problem.body.inputs + len(problem.epilogue.arguments)
        names = [f"%A{first + at}" for at in range(len(problem.epilogue.scalars))]
        return problem.epilogue.broadcast_scalars(self._w, names, self._lanes)


class WindowNest(OperandsNest):
    def __init__(self, plan: WindowPlan, types: Sequence[str]) -> None:
        super().__init__(plan.problem, types, plan.lanes)
        self._plan = plan
        inputs = enumerate(types[: plan.problem.body.inputs])
        self._scalars = {
            place: self._w.broadcast(f"%A{place}", type_, self._vector(type_))
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
        """Write the loops around a tile of results."""
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
            moved = moved_operands(operands, name, at)
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
        """Write the loop over vectors: whole ones, then the remainder."""
        w, plan = self._w, self._plan
        name, size, step = plan.vector, self._sizes[plan.vector], plan.rounds * plan.vectors
        whole = w.sub(size, w.rem(size, step))

        def round_at(at: Index, vectors: int, count: Index | None) -> None:
            # Results of rows that are walked over as one lie in rows, unlike their windows.
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
        counts = dict(sorted(counts.items(), key=lambda item: item[0] == plan.vector))
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
        """Return the results of a tile after the remaining loops over a window."""
        w, problem = self._w, self._problem
        if loops:
            name, *rest = loops
            vector = self._vector(problem.arguments[problem.output].element)
            size = self._sizes[name]
            with w.carrying_loop(size, 1, values, vector) as (at, carried, next_, results):
                moved = moved_operands(operands, name, at)
                next_ += self._reduced(rest, moved, tile, carried, lanes, dict(masks))
            return results
        reader = Reader(w, self._plan, operands, lanes, masks)
        results, unrolled = list(values), self._plan.unrolled
        for steps in itertools.product(*(range(problem.size(n) or 0) for n in unrolled)):
            tap = dict(zip(unrolled, steps, strict=True))
            for number, result in enumerate(tile):
                inputs: list[str | None] = [None] * problem.body.inputs
                for place in problem.inputs:
                    inputs[place] = reader.vector(place, {**result, **tap})
                for place, scalar in self._scalars.items():
                    inputs[place] = scalar
                inputs[problem.output] = results[number]
                results[number] = problem.body.write(w, inputs, self._plan.lanes)
        return results


@dataclass(frozen=True)
class Lanes:
    """The lanes of the vectors.

    Attributes:
        count: the remaining rounds of the loop over vectors; None if they fill all lanes.
        at: the round of the loop over vectors.
    """

    count: Index | None
    at: Index = 0


class Reader:
    """Loads vectors for a tile, each once, and stores its results."""

    def __init__(
        self,
        w: Writer,
        plan: WindowPlan,
        operands: Operands,
        lanes: Lanes,
        masks: dict[Key, str],
    ) -> None:
        self._w = w
        self._plan = plan
        self._operands = operands
        self._lanes = lanes
        self._masks = masks
        self._memory = operands[plan.problem.output].memory
        self._loaded: dict[Key, str] = {}

    def vector(self, place: int, at: Mapping[str, int]) -> str:
        operand = self._operands[place]
        lane = at.get(self._plan.vector, 0)
        step = operand.strides.get(self._plan.vector, 0)
        # Another tap may read the same vector with more lanes.
        lanes = None if step == 0 or self._is_whole(lane) else lane
        key: Key = place, lanes, *_key(operand.strides, at)
        if key not in self._loaded:
            where = operand.index_at(at)
            if step == 0:
                scalar = operand.memory.load(where)
                memory = operand.memory
                self._loaded[key] = self._w.broadcast(scalar, memory.element, memory.vector)
            elif self._plan.repeats is not None and step == 1:
                self._loaded[key] = self._repeated(operand.memory, where, lane)
            elif self._plan.repeats is not None or step == 1:
                self._loaded[key] = operand.memory.load_vector(where, self._mask(lane))
            else:
                self._loaded[key] = self._every(operand.memory, where, step, lane)
        return self._loaded[key]

    def result(self, place: int, at: Mapping[str, int]) -> str:
        """Return a vector of an operand that lies as the results do."""
        operand, pitch = self._operands[place], self._plan.pitch
        if pitch is None:
            return self.vector(place, at)
        if not {self._plan.vector, pitch.rows} & operand.strides.keys():
            return self.vector(place, at)
        return operand.memory.load_pieces(self._pieces(operand, at, pitch))

    def finish(self, at: Mapping[str, int], value: str, scalars: Sequence[str]) -> None:
        """Write a vector of results after the epilogue, whose scalars are given as vectors."""
        problem = self._plan.problem
        if problem.epilogue is not None:
            operands = [self.result(place, at) for place in problem.finishing]
            inputs = [value, *operands, *scalars]
            value = problem.epilogue.payload.write(self._w, inputs, self._plan.lanes)
        self.store(problem.output, at, value)

    def store(self, place: int, at: Mapping[str, int], value: str) -> None:
        operand, pitch = self._operands[place], self._plan.pitch
        if pitch is not None:
            operand.memory.store_pieces(value, self._pieces(operand, at, pitch))
            return
        lanes = self._mask(at.get(self._plan.vector, 0))
        operand.memory.store_vector(value, operand.index_at(at), lanes)

    def _pieces(self, operand: FlatOperand, at: Mapping[str, int], pitch: Pitch) -> list[Piece]:
        """Return the parts of a vector in the rows that it reaches into."""
        w, name = self._w, self._plan.vector
        lane = at.get(name, 0)
        base = operand.index_at({loop: n for loop, n in at.items() if loop != name})
        first = w.add(self._lanes.at, lane)
        row, column = w.div(first, pitch.period), w.rem(first, pitch.period)
        stride, step = operand.strides.get(pitch.rows, 0), operand.strides.get(name, 0)
        pieces: list[Piece] = []
        for piece, mask in enumerate(self._masks_of_rows(lane, column, pitch)):
            index = w.mul(w.sub(column, piece * pitch.period), step)
            pieces.append((w.add(base, w.mul(w.add(row, piece), stride), index), mask))
        return pieces

    def _masks_of_rows(self, lane: int, column: Index, pitch: Pitch) -> list[str]:
        """Return the lanes of a vector that are results, for each row that it reaches into."""
        keys: list[Key] = [("row", lane, piece) for piece in range(pitch.pieces)]
        if keys[0] not in self._masks:
            inside, memory = self._mask(lane), self._memory
            row_masks = memory.in_rows(column, pitch.period, pitch.valid, pitch.pieces)
            masks = [memory.both(mask, inside) for mask in row_masks]
            self._masks |= dict(zip(keys, masks, strict=True))
        return [self._masks[key] for key in keys]

    def _is_whole(self, lane: int) -> bool:
        count = self._lanes.count
        return count is None or (isinstance(count, int) and count - lane >= self._plan.rounds)

    def _mask(self, lane: int, step: int = 1, first: int = 0) -> str | None:
        """The lanes of a vector that hold elements of results; None for all of them.

        Args:
            lane: the distance of the vector from the first of the tile.
            step: elements from one lane's element to the next.
            first: the offset of the read from that of the first lane, in elements.
        """
        count, w, plan = self._lanes.count, self._w, self._plan
        if count is None or self._is_whole(lane):
            return None
        key: Key = lane, step, first
        if key not in self._masks:
            left = w.sub(count, lane)
            reach = w.sub(w.add(w.mul(w.sub(left, 1), step), 1), first)
            if plan.repeats is not None:
                reach = w.mul(left, plan.repeats.count)
            self._masks[key] = self._memory.below(reach)
        return self._masks[key]

    def _repeated(self, memory: Memory, where: Index, lane: int) -> str:
        """Load a vector of a few elements, each of them several times."""
        w, plan = self._w, self._plan
        rounds, count = plan.rounds, self._lanes.count
        few = replace(memory, lanes=rounds)
        mask = None
        if count is not None and not self._is_whole(lane):
            key: Key = "few", lane
            if key not in self._masks:
                self._masks[key] = few.below(w.sub(count, lane))
            mask = self._masks[key]
        loaded = few.load_vector(where, mask)
        picks = [at * rounds // plan.lanes for at in range(plan.lanes)]
        return w.shuffle(loaded, loaded, picks, few.vector)

    def _every(self, memory: Memory, where: Index, step: Index, lane: int) -> str:
        """Load a vector of elements `step` apart: nothing after its last element is read."""
        w, lanes = self._w, self._plan.lanes
        if not isinstance(step, int):
            raise AssertionError("a plan steps over a known number of elements")
        last = (lanes - 1) * step + 1 - lanes
        first, *starts = [min(at * lanes, last) for at in range(step)]
        value = memory.load_vector(w.add(where, first), self._mask(lane, step, first))
        places = [at * step for at in range(lanes)]
        picks = [place for place in places if place < lanes]
        for start in starts:
            other = memory.load_vector(w.add(where, start), self._mask(lane, step, start))
            new = places[len(picks) :]
            picks += [lanes + place - start for place in new if place < start + lanes]
            rest = [0] * (lanes - len(picks))
            value = w.shuffle(value, other, picks + rest, memory.vector)
            picks = list(range(len(picks)))
        return value


def _key(strides: Mapping[str, Index], at: Mapping[str, int]) -> Key:
    """Return a key that is equal for vectors at one index."""
    known = 0
    moves: list[tuple[str, int]] = []
    for loop, number in at.items():
        stride = strides.get(loop, 0)
        if isinstance(stride, int):
            known += stride * number
        elif number:
            moves.append((loop, number))
    return known, *moves
