"""The loops of a reduction over windows, as a function on memrefs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ._memory import Memory
from ._window_plan import WindowPlan
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
        count: how many results are left from the first lane on; None where all lanes have one.
    """

    count: Index | None


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
        self._scalars = {
            place: w.op(f"vector.broadcast %A{place} : {type_} to {self._vector(type_)}")
            for place, type_ in enumerate(self._types)
            if place not in problem.arguments and problem.body.reads(place)
        }
        self._outer(problem.parallel, operands, {}, _Lanes(None))

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
        w = self._w
        name, *rest = loops
        size = self._sizes[name]
        is_vector = name == self._plan.vector
        step = self._plan.lanes if is_vector else self._plan.tile.get(name, 1)
        whole = w.sub(size, w.rem(size, step))

        def round_at(at: Index, count: int, lanes: _Lanes) -> None:
            moved = {place: operand.moved(name, at) for place, operand in operands.items()}
            self._outer(rest, moved, counts if is_vector else {**counts, name: count}, lanes)

        if whole != 0:
            with w.loop(0, whole, step) as at:
                round_at(at, step, lanes)
        if whole == size:
            return
        if is_vector:
            with w.loop(whole, size, step) as at:
                round_at(at, step, _Lanes(w.sub(size, at)))
        elif isinstance(whole, int) and isinstance(size, int):
            round_at(whole, size - whole, lanes)
        else:
            with w.loop(whole, size) as at:
                round_at(at, 1, lanes)

    # A tile.

    def _tile(self, operands: _Operands, counts: Mapping[str, int], lanes: _Lanes) -> None:
        problem = self._problem
        tile = [
            dict(zip(counts, chosen, strict=True))
            for chosen in itertools.product(*(range(count) for count in counts.values()))
        ]
        masks: dict[Index, str] = {}
        reader = _Reader(self._w, self._plan, operands, lanes, masks)
        if problem.start is None:
            values = [reader.vector(problem.output, at) for at in tile]
        else:
            element = problem.arguments[problem.output].element
            start = self._w.constant(f"dense<{problem.start}>", self._vector(element))
            values = [start] * len(tile)
        looped = [name for name in problem.reduced if name not in self._plan.unrolled]
        values = self._reduced(looped, operands, tile, values, lanes, masks)
        output = operands[problem.output]
        for at, value in zip(tile, values, strict=True):
            where, mask = reader.place(output, at), reader.mask(1, 0)
            output.memory.store_vector(value, where, mask)

    def _reduced(
        self,
        loops: Sequence[str],
        operands: _Operands,
        tile: Sequence[Mapping[str, int]],
        values: Sequence[str],
        lanes: _Lanes,
        masks: dict[Index, str],
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
                    given[place] = scalar
                given[problem.output] = found[number]
                found[number] = problem.body.write(w, given, self._plan.lanes)
        return found


class _Reader:
    """Loads vectors for a tile, each once."""

    def __init__(
        self,
        w: Writer,
        plan: WindowPlan,
        operands: _Operands,
        lanes: _Lanes,
        masks: dict[Index, str],
    ) -> None:
        self._w = w
        self._plan = plan
        self._operands = operands
        self._lanes = lanes
        self._masks: dict[Any, str] = masks
        self._loaded: dict[Key, str] = {}

    def place(self, operand: _Operand, at: Mapping[str, int]) -> Index:
        """Where an element of an operand is, so many rounds of some loops further on."""
        w = self._w
        return w.add(
            operand.base, *(w.mul(n, operand.strides.get(loop, 0)) for loop, n in at.items())
        )

    def vector(self, place: int, at: Mapping[str, int]) -> str:
        """A vector of an operand."""
        operand = self._operands[place]
        key: Key = place, *_key(operand.strides, at)
        if key not in self._loaded:
            where = self.place(operand, at)
            step = operand.strides.get(self._plan.vector, 0)
            if step == 0:
                scalar = operand.memory.load(where)
                types = f"{operand.memory.element} to {operand.memory.vector}"
                self._loaded[key] = self._w.op(f"vector.broadcast {scalar} : {types}")
            elif step == 1:
                self._loaded[key] = operand.memory.load_vector(where, self.mask(1, 0))
            else:
                self._loaded[key] = self._every(operand.memory, where, step)
        return self._loaded[key]

    def mask(self, step: int, first: int) -> str | None:
        """The lanes of a vector that hold elements of results; None for all of them.

        Args:
            step: elements from one lane's element to the next.
            first: the vector begins so many elements after that of the first lane.
        """
        count, w, lanes = self._lanes.count, self._w, self._plan.lanes
        if count is None:
            return None
        if (step, first) not in self._masks:
            reach = w.sub(w.add(w.mul(w.sub(count, 1), step), 1), first)
            reach = w.min(w.max(reach, 0), lanes)
            self._masks[step, first] = w.op(
                f"vector.create_mask {w.value(reach)} : vector<{lanes}xi1>"
            )
        return self._masks[step, first]

    def _every(self, memory: Memory, where: Index, step: Index) -> str:
        """A vector of every so-manieth element: nothing after the last of them is read."""
        w, lanes = self._w, self._plan.lanes
        if not isinstance(step, int):
            raise AssertionError("a plan steps over a known number of elements")
        last = (lanes - 1) * step + 1 - lanes
        first, *starts = [min(at * lanes, last) for at in range(step)]
        value = memory.load_vector(w.add(where, first), self.mask(step, first))
        places = [at * step for at in range(lanes)]
        picks = [place for place in places if place < lanes]
        for start in starts:
            other = memory.load_vector(w.add(where, start), self.mask(step, start))
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
