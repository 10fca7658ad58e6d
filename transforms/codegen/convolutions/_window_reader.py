"""Loads and stores in loops over windows: vectors of operands, each loaded once for a tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linalg_ext.transforms.codegen.base.flat_memory import FlatOperand, Memory, Piece
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._window_plan import Pitch, WindowPlan

Key = tuple[object, ...]


Operands = Mapping[int, FlatOperand]


@dataclass(frozen=True)
class Lanes:
    """The lanes of the vectors.

    Attributes:
        count: how many rounds of the loop over vectors are left; None where all lanes have one.
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
        """A vector of an operand."""
        operand = self._operands[place]
        lane = at.get(self._plan.vector, 0)
        step = operand.strides.get(self._plan.vector, 0)
        # What is in the same place for another tap may need more of its lanes.
        lanes = None if step == 0 or self._is_whole(lane) else lane
        key: Key = place, lanes, *_key(operand.strides, at)
        if key not in self._loaded:
            where = operand.place(at)
            if step == 0:
                scalar = operand.memory.load(where)
                types = f"{operand.memory.element} to {operand.memory.vector}"
                self._loaded[key] = self._w.op(f"vector.broadcast {scalar} : {types}")
            elif self._plan.repeats is not None and step == 1:
                self._loaded[key] = self._repeated(operand.memory, where, lane)
            elif self._plan.repeats is not None or step == 1:
                self._loaded[key] = operand.memory.load_vector(where, self._mask(lane))
            else:
                self._loaded[key] = self._every(operand.memory, where, step, lane)
        return self._loaded[key]

    def result(self, place: int, at: Mapping[str, int]) -> str:
        """A vector of an operand that lies as the results do."""
        operand, pitch = self._operands[place], self._plan.pitch
        if pitch is None:
            return self.vector(place, at)
        if not {self._plan.vector, pitch.rows} & operand.strides.keys():
            return self.vector(place, at)
        return operand.memory.load_pieces(self._pieces(operand, at, pitch))

    def finish(self, at: Mapping[str, int], value: str, scalars: Sequence[str]) -> None:
        """Write a vector of results after what the epilogue makes of it.

        Args:
            at: how many rounds of some loops further on the results are.
            value: the vector.
            scalars: those of the epilogue, as vectors.
        """
        problem = self._plan.problem
        if problem.epilogue is not None:
            others = [self.result(place, at) for place in problem.finishing]
            given = [value, *others, *scalars]
            value = problem.epilogue.payload.write(self._w, given, self._plan.lanes)
        self.store(problem.output, at, value)

    def store(self, place: int, at: Mapping[str, int], value: str) -> None:
        """Write a vector of results."""
        operand, pitch = self._operands[place], self._plan.pitch
        if pitch is not None:
            operand.memory.store_pieces(value, self._pieces(operand, at, pitch))
            return
        lanes = self._mask(at.get(self._plan.vector, 0))
        operand.memory.store_vector(value, operand.place(at), lanes)

    def _pieces(self, operand: FlatOperand, at: Mapping[str, int], pitch: Pitch) -> list[Piece]:
        """The parts of a vector in the rows that it reaches into."""
        w, name = self._w, self._plan.vector
        lane = at.get(name, 0)
        base = operand.place({loop: n for loop, n in at.items() if loop != name})
        first = w.add(self._lanes.at, lane)
        row, column = w.div(first, pitch.period), w.rem(first, pitch.period)
        stride, step = operand.strides.get(pitch.rows, 0), operand.strides.get(name, 0)
        found: list[Piece] = []
        for piece, mask in enumerate(self._masks_of_rows(lane, column, pitch)):
            index = w.mul(w.sub(column, piece * pitch.period), step)
            found.append((w.add(base, w.mul(w.add(row, piece), stride), index), mask))
        return found

    def _masks_of_rows(self, lane: int, column: Index, pitch: Pitch) -> list[str]:
        """The lanes of a vector whose elements are results, for each row that it reaches into."""
        keys: list[Key] = [("row", lane, piece) for piece in range(pitch.pieces)]
        if keys[0] not in self._masks:
            inside, memory = self._mask(lane), self._memory
            found = memory.in_rows(column, pitch.period, pitch.valid, pitch.pieces)
            masks = [memory.both(mask, inside) for mask in found]
            self._masks |= dict(zip(keys, masks, strict=True))
        return [self._masks[key] for key in keys]

    def _is_whole(self, lane: int) -> bool:
        """Return whether all lanes of a vector are known to hold elements of results."""
        count = self._lanes.count
        return count is None or (isinstance(count, int) and count - lane >= self._plan.rounds)

    def _mask(self, lane: int, step: int = 1, first: int = 0) -> str | None:
        """The lanes of a vector that hold elements of results; None for all of them.

        Args:
            lane: how far the vector is from the first of the tile.
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
        """A vector of a few elements, each of them several times."""
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
        return w.op(f"vector.shuffle {loaded}, {loaded} {picks} : {few.vector}, {few.vector}")

    def _every(self, memory: Memory, where: Index, step: Index, lane: int) -> str:
        """A strided load: nothing after its last element is read."""
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
            value = w.op(
                f"vector.shuffle {value}, {other} {picks + rest} : {memory.vector}, {memory.vector}"
            )
            picks = list(range(len(picks)))
        return value


def _key(strides: Mapping[str, Index], at: Mapping[str, int]) -> Key:
    """The same for what lies in the same place."""
    known = 0
    moves: list[tuple[str, int]] = []
    for loop, number in at.items():
        stride = strides.get(loop, 0)
        if isinstance(stride, int):
            known += stride * number
        elif number:
            moves.append((loop, number))
    return known, *moves
