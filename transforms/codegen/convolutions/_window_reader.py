"""What the loops over windows read and write: vectors of operands, each read once for a tile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from linalg_ext.transforms.codegen.base.flat_memory import Memory
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._window_plan import Pitch, WindowPlan

Key = tuple[object, ...]


@dataclass(frozen=True)
class Operand:
    """A buffer as flat memory.

    Attributes:
        memory: the memory.
        base: where the element is that the loops so far lead to.
        strides: elements from one round of each loop to the next.
    """

    memory: Memory
    base: Index
    strides: Mapping[str, Index]

    def moved(self, loop: str, at: Index) -> Operand:
        """The operand at a round of a loop."""
        w = self.memory.writer
        return replace(self, base=w.add(self.base, w.mul(at, self.strides.get(loop, 0))))


Operands = Mapping[int, Operand]


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
        self._loaded: dict[Key, str] = {}

    def _place(self, operand: Operand, at: Mapping[str, int]) -> Index:
        """Where an element of an operand is, so many rounds of some loops further on."""
        w = self._w
        return w.add(
            operand.base, *(w.mul(n, operand.strides.get(loop, 0)) for loop, n in at.items())
        )

    def vector(self, place: int, at: Mapping[str, int]) -> str:
        """A vector of an operand."""
        operand = self._operands[place]
        lane = at.get(self._plan.vector, 0)
        step = operand.strides.get(self._plan.vector, 0)
        # What is in the same place for another tap may need more of its lanes.
        lanes = None if step == 0 or self._is_whole(lane) else lane
        key: Key = place, lanes, *_key(operand.strides, at)
        if key not in self._loaded:
            where = self._place(operand, at)
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
        value: str | None = None
        for where, mask in self._pieces(operand, at, pitch):
            value = operand.memory.load_vector(where, mask, value)
        if value is None:
            raise AssertionError("a vector lies somewhere")
        return value

    def store(self, place: int, at: Mapping[str, int], value: str) -> None:
        """Write a vector of results."""
        operand, pitch = self._operands[place], self._plan.pitch
        if pitch is not None:
            for where, mask in self._pieces(operand, at, pitch):
                operand.memory.store_vector(value, where, mask)
            return
        lanes = self._mask(at.get(self._plan.vector, 0))
        operand.memory.store_vector(value, self._place(operand, at), lanes)

    def _pieces(
        self, operand: Operand, at: Mapping[str, int], pitch: Pitch
    ) -> Iterator[tuple[Index, str]]:
        """Where the part of a vector in each row is: the address of lane 0, and the lanes."""
        w, name = self._w, self._plan.vector
        lane = at.get(name, 0)
        others = {loop: n for loop, n in at.items() if loop != name}
        base = self._place(operand, others)
        first = w.add(self._lanes.at, lane)
        row, column = w.div(first, pitch.period), w.rem(first, pitch.period)
        stride, step = operand.strides.get(pitch.rows, 0), operand.strides.get(name, 0)
        for piece in range(pitch.pieces):
            skipped = piece * pitch.period
            index = w.mul(w.sub(column, skipped), step)
            where = w.add(base, w.mul(w.add(row, piece), stride), index)
            yield where, self._mask_of_row(lane, column, skipped, pitch.valid)

    def _mask_of_row(self, lane: int, column: Index, skipped: int, valid: int) -> str:
        """The lanes of a vector whose elements are results of one of the rows that it is in."""
        w, mask = self._w, f"vector<{self._plan.lanes}xi1>"
        key: Key = "row", lane, skipped
        if key not in self._masks:
            start = w.sub(skipped, column)
            found = self._below(w.add(start, valid))
            if skipped:
                ones = w.constant("dense<true>", mask)
                before = w.op(f"arith.xori {self._below(start)}, {ones} : {mask}")
                found = w.op(f"arith.andi {found}, {before} : {mask}")
            inside = self._mask(lane)
            if inside is not None:
                found = w.op(f"arith.andi {found}, {inside} : {mask}")
            self._masks[key] = found
        return self._masks[key]

    def _is_whole(self, lane: int) -> bool:
        """Whether all lanes of a vector hold elements of results."""
        count = self._lanes.count
        return count is None or (isinstance(count, int) and count - lane >= self._plan.rounds)

    def _mask(self, lane: int, step: int = 1, first: int = 0) -> str | None:
        """The lanes of a vector that hold elements of results; None for all of them.

        Args:
            lane: how far the vector is from the first of the tile.
            step: elements from one lane's element to the next.
            first: what is read begins so many elements after that of the first lane.
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
            self._masks[key] = self._below(reach)
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
                left = w.min(w.max(w.sub(count, lane), 0), rounds)
                self._masks[key] = w.op(f"vector.create_mask {w.value(left)} : {few.mask}")
            mask = self._masks[key]
        loaded = few.load_vector(where, mask)
        picks = [at * rounds // plan.lanes for at in range(plan.lanes)]
        return w.op(f"vector.shuffle {loaded}, {loaded} {picks} : {few.vector}, {few.vector}")

    def _below(self, count: Index) -> str:
        """A mask of the first lanes, as many as there are of them."""
        w, lanes = self._w, self._plan.lanes
        clamped = w.min(w.max(count, 0), lanes)
        return w.op(f"vector.create_mask {w.value(clamped)} : vector<{lanes}xi1>")

    def _every(self, memory: Memory, where: Index, step: Index, lane: int) -> str:
        """A vector of every so-manieth element: nothing after the last of them is read."""
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
