"""The loops of a reduction over windows, as a function on memrefs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ._memory import Memory
from ._window_plan import Pitch, WindowPlan
from ._writer import Index, Writer

Key = tuple[object, ...]


def window_function(name: str, plan: WindowPlan, operands: Sequence[str]) -> str:
    """A function that does a reduction over windows, as text.

    Args:
        name: of the function.
        plan: how.
        operands: the types of the operands of the body: memrefs, or scalars.
    """
    w = Writer()
    _Nest(w, plan, operands).write()
    signature = ", ".join(f"%A{place}: {type_}" for place, type_ in enumerate(operands))
    return f"func.func private @{name}({signature}) {{\n{w.text()}\nreturn\n}}"


@dataclass(frozen=True)
class _Operand:
    """A buffer as flat memory.

    Attributes:
        memory: the memory.
        base: where the element is that the loops so far lead to.
        strides: elements from one round of each loop to the next.
    """

    memory: Memory
    base: Index
    strides: Mapping[str, Index]

    def moved(self, loop: str, at: Index) -> _Operand:
        """The operand at a round of a loop."""
        w = self.memory.writer
        return replace(self, base=w.add(self.base, w.mul(at, self.strides.get(loop, 0))))


_Operands = Mapping[int, _Operand]


@dataclass(frozen=True)
class _Lanes:
    """The lanes of the vectors.

    Attributes:
        count: how many rounds of the loop over vectors are left; None where all lanes have one.
        at: the round of the loop over vectors.
    """

    count: Index | None
    at: Index = 0


class _Nest:
    """Writes the nest of one plan."""

    def __init__(self, w: Writer, plan: WindowPlan, types: Sequence[str]) -> None:
        self._w = w
        self._plan = plan
        self._problem = plan.problem
        self._types = types
        self._sizes: dict[str, Index] = {}

    def write(self) -> None:
        """Write the nest."""
        w, problem = self._w, self._problem
        operands = {place: self._flat(place) for place in problem.arguments}
        self._sizes |= {each.name: each.size for each in problem.loops if each.size is not None}
        self._scalars = {
            place: w.op(f"vector.broadcast %A{place} : {type_} to {self._vector(type_)}")
            for place, type_ in enumerate(self._types)
            if place not in problem.arguments
        }
        self._outer(self._plan.order, operands, {}, _Lanes(None))

    def _vector(self, element: str) -> str:
        return f"vector<{self._plan.lanes}x{element}>"

    def _flat(self, place: int) -> _Operand:
        """An argument as flat memory; what the run tells of its sizes is noted."""
        w, argument = self._w, self._problem.arguments[place]
        name, rank, element = f"%A{place}", len(argument.dimensions), argument.element
        parts = [f"{name}_base", f"{name}_offset"]
        parts += [f"{name}_sizes:{rank}", f"{name}_strides:{rank}"] if rank else []
        w.line(
            f"{', '.join(parts)} = memref.extract_strided_metadata {name} : {argument.type} -> "
            + ", ".join([f"memref<{element}>", *["index"] * (1 + 2 * rank)])
        )
        strides: dict[str, Index] = {}
        for axis, loop in enumerate(argument.dimensions):
            size, stride = argument.sizes[axis], argument.strides[axis]
            if size is not None or loop not in self._sizes:
                self._sizes[loop] = f"{name}_sizes#{axis}" if size is None else size
            strides[loop] = f"{name}_strides#{axis}" if stride is None else stride
        flat = f"memref<?x{element}, strided<[1], offset: ?>>"
        # More than any memory holds: nothing asks for the size.
        flattened = w.op(
            f"memref.reinterpret_cast {name}_base to offset: [{name}_offset], "
            f"sizes: [{w.value(1 << 62)}], strides: [1] : memref<{element}> to {flat}"
        )
        return _Operand(Memory(w, flattened, flat, element, self._plan.lanes), 0, strides)

    # The loops over results.

    def _outer(
        self, loops: Sequence[str], operands: _Operands, counts: dict[str, int], lanes: _Lanes
    ) -> None:
        """The loops that are left, around a tile of so many results along the others."""
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

    def _vectors(self, rest: Sequence[str], operands: _Operands, counts: dict[str, int]) -> None:
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
            self._outer(rest, moved, {**counts, name: vectors}, _Lanes(count, at))

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

    def _tile(self, operands: _Operands, counts: Mapping[str, int], lanes: _Lanes) -> None:
        problem, plan = self._problem, self._plan
        # An element meets all vectors before the next one is read.
        counts = dict(sorted(counts.items(), key=lambda each: each[0] == plan.vector))
        # A vector further on is so many rounds of its loop further on.
        steps = [plan.rounds if name == plan.vector else 1 for name in counts]
        tile = [
            {name: at * step for name, at, step in zip(counts, chosen, steps, strict=True)}
            for chosen in itertools.product(*(range(count) for count in counts.values()))
        ]
        masks: dict[Key, str] = {}
        reader = _Reader(self._w, plan, operands, lanes, masks)
        if problem.start is None:
            values = [reader.result(problem.output, at) for at in tile]
        else:
            element = problem.arguments[problem.output].element
            start = self._w.constant(f"dense<{problem.start}>", self._vector(element))
            values = [start] * len(tile)
        looped = [name for name in problem.reduced if name not in plan.unrolled]
        values = self._reduced(looped, operands, tile, values, lanes, masks)
        for at, value in zip(tile, values, strict=True):
            reader.store(problem.output, at, self._finished(reader, at, value))

    def _finished(self, reader: _Reader, at: Mapping[str, int], value: str) -> str:
        """What becomes of a result at the end."""
        finish = self._problem.finish
        if finish is None:
            return value
        given: list[str | None] = []
        for operand, place in enumerate(finish.places):
            if place is None:
                given.append(value)
            elif not finish.body.reads(operand):
                given.append(None)
            elif place in self._scalars:
                given.append(self._scalars[place])
            else:
                given.append(reader.result(place, at))
        return finish.body.write(self._w, given, self._plan.lanes)

    def _reduced(
        self,
        loops: Sequence[str],
        operands: _Operands,
        tile: Sequence[Mapping[str, int]],
        values: Sequence[str],
        lanes: _Lanes,
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
        reader = _Reader(w, self._plan, operands, lanes, masks)
        found = list(values)
        unrolled = self._plan.unrolled
        for chosen in itertools.product(*(range(problem.size(n) or 0) for n in unrolled)):
            tap = dict(zip(unrolled, chosen, strict=True))
            for number, result in enumerate(tile):
                given: list[str | None] = [None] * problem.body.operands
                for place in problem.inputs:
                    given[place] = reader.vector(place, {**result, **tap})
                for place, scalar in self._scalars.items():
                    if place < len(given):
                        given[place] = scalar
                given[problem.output] = found[number]
                found[number] = problem.body.write(w, given, self._plan.lanes)
        return found


class _Reader:
    """Loads vectors for a tile, each once, and stores its results."""

    def __init__(
        self,
        w: Writer,
        plan: WindowPlan,
        operands: _Operands,
        lanes: _Lanes,
        masks: dict[Key, str],
    ) -> None:
        self._w = w
        self._plan = plan
        self._operands = operands
        self._lanes = lanes
        self._masks = masks
        self._loaded: dict[Key, str] = {}

    def _place(self, operand: _Operand, at: Mapping[str, int]) -> Index:
        """Where an element of an operand is, so many rounds of some loops further on."""
        w = self._w
        return w.add(
            operand.base, *(w.mul(n, operand.strides.get(loop, 0)) for loop, n in at.items())
        )

    def vector(self, place: int, at: Mapping[str, int]) -> str:
        """A vector of an operand."""
        operand = self._operands[place]
        lane = at.get(self._plan.vector, 0)
        key: Key = place, *_key(operand.strides, at)
        if key not in self._loaded:
            where = self._place(operand, at)
            step = operand.strides.get(self._plan.vector, 0)
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
        self, operand: _Operand, at: Mapping[str, int], pitch: Pitch
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

    def _mask(self, lane: int, step: int = 1, first: int = 0) -> str | None:
        """The lanes of a vector that hold elements of results; None for all of them.

        Args:
            lane: how far the vector is from the first of the tile.
            step: elements from one lane's element to the next.
            first: what is read begins so many elements after that of the first lane.
        """
        count, w, plan = self._lanes.count, self._w, self._plan
        if count is None or (isinstance(count, int) and count - lane >= plan.rounds):
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
        if count is not None and not (isinstance(count, int) and count - lane >= rounds):
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
