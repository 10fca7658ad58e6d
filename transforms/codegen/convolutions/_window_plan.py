"""A reduction over windows, and its plan: which loop is over vectors, and how large a tile is.

A tile is a few neighbouring results, in registers while all elements of their windows go by.
Neighbouring windows overlap: one load serves several of them. The tile and the unrolling take the
fewest instructions for a result, by counting them.

A convolution that multiplies matrices has a plan here where its kernel stays in the cache. The tile
of results is then that of the micro-kernel of contractions: some vectors of one operand, each of
which is multiplied by some elements of the other. Nothing is packed. The windows are read in place,
again and again from L1; the kernel is small enough to come from L2. If a row of results is not a
multiple of a vector, rows are walked over as one. Results for the few elements of the input between
them, by which a row of the image is longer, are computed, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linalg_ext.target.text import table
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.payload import Elementwise, Payload
from linalg_ext.transforms.codegen.base.problem import Argument, bits_of, size_text


@dataclass(frozen=True)
class Loop:
    """A loop of the iteration space; it is parallel if each of its rounds has its own results."""

    name: str
    size: int | None
    is_parallel: bool


@dataclass(frozen=True)
class WindowProblem:
    """A reduction over windows.

    Attributes:
        loops: of the op, in order.
        arguments: the buffers by their places, the result's with them: among the operands of the
            body, and after those among the operands of the epilogue.
        output: the place of the result.
        windows: the places of the buffers that are read through windows.
        body: the computation on each element of a window.
        start: the initial value of the results; None for the old elements.
        epilogue: the computation on each result at the end.
    """

    loops: tuple[Loop, ...]
    arguments: Mapping[int, Argument]
    output: int
    windows: frozenset[int]
    body: Payload
    start: str | None
    epilogue: Elementwise | None = None

    @property
    def element_bytes(self) -> int:
        return bits_of(self.arguments[self.output].element) // 8

    def stride(self, place: int, loop: str) -> int | None:
        """Return the stride of an operand along a loop; None if it is dynamic."""
        argument = self.arguments[place]
        if loop not in argument.dimensions:
            return 0
        return argument.strides[argument.dimensions.index(loop)]

    def size(self, loop: str) -> int | None:
        return next(candidate.size for candidate in self.loops if candidate.name == loop)

    @property
    def inputs(self) -> list[int]:
        """The buffers that the body reads, but for the result."""
        count = self.body.inputs
        return [p for p in self.arguments if p != self.output and p < count and self.body.reads(p)]

    @property
    def finishing(self) -> list[int]:
        """The buffers that the epilogue reads."""
        count = 0 if self.epilogue is None else len(self.epilogue.arguments)
        return list(range(self.body.inputs, self.body.inputs + count))

    @property
    def parallel(self) -> list[str]:
        """The loops over results, in the order of their memory, without those of one round."""
        loops = [loop for loop in self.loops if loop.is_parallel and loop.size != 1]
        strides = {loop.name: self.stride(self.output, loop.name) for loop in loops}
        far = 1 << 62
        return sorted(strides, key=lambda n: -far if strides[n] is None else -abs(strides[n] or 0))

    @property
    def reduced(self) -> list[str]:
        """The loops over the elements of a window."""
        return [loop.name for loop in self.loops if not loop.is_parallel]

    def collapsed(self) -> WindowProblem:
        """Return the problem with consecutive loops over a window as one, if memory allows it."""
        loops: list[Loop] = []
        for loop in reversed(self.loops):
            inner = loops[0] if loops else None
            if inner is not None and self._is_even(loop, inner):
                size = (loop.size or 0) * (inner.size or 0)
                loops[0] = replace(inner, size=size)
            else:
                loops.insert(0, loop)
        return replace(self, loops=tuple(loops))

    def _is_even(self, outer: Loop, inner: Loop) -> bool:
        """Return whether a step of the outer loop over a window is all steps of the inner one."""
        if outer.is_parallel or inner.is_parallel or None in (outer.size, inner.size):
            return False
        for place in self.arguments:
            stride, step = self.stride(place, outer.name), self.stride(place, inner.name)
            if stride is None or step is None or stride != step * (inner.size or 0):
                return False
        return True


MOST_STEP = 4
"""The largest stride at which a vector is put together from contiguous vectors."""

SHORTEST = 4
"""The least number of elements that are computed as a vector."""

_MOST_TAPS = 27
"""Elements of a window that are written out; further dimensions of a window are loops."""

_MOST_OPS = 128
"""Times that the body is written out for a tile."""

_MOST_COUNT = 8

_SPARE = 6
"""Registers for parts of vectors, and for the compiler."""

_HEAVY = ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf", "arith.divf")
"""Ops that take several instructions, for NaN and the sign of zero."""


@dataclass(frozen=True)
class Pitch:
    """Rows of results that are walked over as one, with the elements between them in the input.

    Results of the elements between are not stored.

    Attributes:
        rows: the loop over rows; the one over vectors goes on across the ends of rows.
        period: elements from one row to the next.
        valid: how many of them are results.
        pieces: in how many rows a vector may lie.
    """

    rows: str
    period: int
    valid: int
    pieces: int


@dataclass(frozen=True)
class Repeats:
    """A short loop inside of that over vectors, all of whose rounds are in one vector.

    The results of each channel lie side by side; they all come of one element of the input.

    Attributes:
        loop: the short loop.
        count: its rounds.
    """

    loop: str
    count: int


@dataclass(frozen=True)
class WindowPlan:
    """The plan of a reduction over windows. Its `repr` is a table.

    Attributes:
        problem: the reduction.
        vector: the loop over vectors.
        lanes: elements of a vector.
        tile: how many results of each other loop are computed at once.
        unrolled: loops over a window that are written out.
        order: the loops over results, from the outside in.
        vectors: how many vectors are computed at once.
        pitch: how the elements of the vectors lie in rows; None where they are one row.
        repeats: the short loop inside a vector, if there is one.
    """

    problem: WindowProblem
    vector: str
    lanes: int
    tile: Mapping[str, int]
    unrolled: tuple[str, ...]
    order: tuple[str, ...]
    vectors: int = 1
    pitch: Pitch | None = None
    repeats: Repeats | None = None

    @property
    def rounds(self) -> int:
        """The number of iterations of its loop that a vector covers."""
        return self.lanes if self.repeats is None else self.lanes // self.repeats.count

    def __repr__(self) -> str:
        problem = self.problem
        element = problem.arguments[problem.output].element

        def named(kind: bool) -> str:
            loops = [loop for loop in problem.loops if loop.is_parallel == kind]
            return " ".join(f"{loop.name}:{size_text(loop.size)}" for loop in loops)

        tile = " x ".join(f"{count} {name}" for name, count in self.tile.items() if count > 1)
        rows = [
            ("windows", element),
            ("results", named(True)),
            ("window", named(False)),
            ("vectors", f"{self.vectors} of {self.lanes} {self.vector}"),
            *([("each", f"{self.repeats.count} {self.repeats.loop}")] if self.repeats else []),
            *([("rows", f"{self.pitch.valid} of every {self.pitch.period}")] if self.pitch else []),
            ("tile", tile or "1"),
            ("unrolled", " ".join(self.unrolled) or "nothing"),
            ("result", "starts from the destination" if problem.start is None
                       else f"starts from {problem.start}"),
            *([("epilogue", problem.epilogue.payload.summary)] if problem.epilogue else []),
        ]  # fmt: skip
        return table(rows)


def make_window_plan(problem: WindowProblem, machine: Machine) -> WindowPlan | str:
    vector, repeats = repeating(problem, machine) or (vector_loop(problem), None)
    if vector is None:
        return "the result and the windows have no loop along memory in common"
    lanes = lanes_of(problem, vector, machine, repeats.count if repeats else 1)
    unrolled = _unrolled(problem, 1, _MOST_TAPS)
    order = [name for name in problem.parallel if repeats is None or name != repeats.loop]
    costs = [
        (_cost(problem, tile, vector, unrolled), tile) for tile in _tiles(problem, order, vector)
    ]
    most_live = machine.vector_registers - _SPARE
    fitting = (
        tile
        for cost, tile in sorted(costs, key=lambda pair: pair[0])
        if cost < math.inf and _live(problem, tile, unrolled) <= most_live
    )
    tile = next(fitting, {})
    return WindowPlan(problem, vector, lanes, tile, unrolled, tuple(order), repeats=repeats)


def lanes_of(problem: WindowProblem, vector: str, machine: Machine, repeats: int = 1) -> int:
    """Return the lanes of a vector along a loop; each iteration fills `repeats` of them."""
    lanes = _most_lanes(problem, machine)
    size = problem.size(vector)
    return lanes if size is None else min(lanes, 1 << (size * repeats - 1).bit_length())


def _most_lanes(problem: WindowProblem, machine: Machine) -> int:
    bits = max(problem.body.bits, *(bits_of(a.element) for a in problem.arguments.values()))
    return 8 * machine.vector_bytes // bits


def repeating(problem: WindowProblem, machine: Machine) -> tuple[str, Repeats] | None:
    """Return the loop over vectors and a short loop inside it, if neither does alone."""
    names = problem.parallel
    if len(names) < 2 or problem.stride(problem.output, names[-1]) != 1:
        return None
    outer, inner = names[-2:]
    count = problem.size(inner) or 0
    if not 1 < count < _most_lanes(problem, machine) or count & (count - 1):
        return None
    together, alike, same = (count, 1), (1, 0), (0, 0)
    for place in (*problem.inputs, *problem.finishing, problem.output):
        steps = problem.stride(place, outer), problem.stride(place, inner)
        if steps not in (together, alike, same) or (place == problem.output and steps != together):
            return None
    size = problem.size(outer)
    if size is not None and size < 2:
        return None
    return outer, Repeats(inner, count)


def vector_loop(problem: WindowProblem) -> str | None:
    """Return the loop along which operands are contiguous, or constant; None if absent."""
    worths: dict[str, float] = {}
    for name in problem.parallel:
        size = problem.size(name)
        if problem.stride(problem.output, name) != 1 or (size is not None and size < SHORTEST):
            continue
        steps = [problem.stride(place, name) for place in (*problem.inputs, *problem.finishing)]
        if all(step is not None and 0 <= step <= MOST_STEP for step in steps):
            worths[name] = min(size or 64, 64) / max(1, *(step or 1 for step in steps))
    return max(worths, key=lambda name: worths[name], default=None)


def _unrolled(problem: WindowProblem, written: int, most: int) -> tuple[str, ...]:
    """The innermost loops over a window that are written out, at most `most` times in all.

    `written` is how often the body is written out for one element of a window.
    """
    loops: list[str] = []
    for name in reversed(problem.reduced):
        size = problem.size(name)
        if size is None or written * size > most:
            break
        written *= size
        loops.insert(0, name)
    return tuple(loops)


def _tiles(problem: WindowProblem, order: Sequence[str], vector: str) -> Iterator[dict[str, int]]:
    """Yield the tiles to choose from, along the one or two innermost loops."""
    names = [name for name in order if name != vector][-2:]
    counts = [range(1, min(_MOST_COUNT, problem.size(name) or _MOST_COUNT) + 1) for name in names]
    for chosen in itertools.product(*counts):
        yield dict(zip(names, chosen, strict=True))


def _cost(
    problem: WindowProblem,
    tile: Mapping[str, int],
    vector: str,
    unrolled: Sequence[str],
) -> float:
    """Return the instructions for a vector of results; infinity if the tile is too large."""
    results = math.prod(tile.values())
    sizes = {name: problem.size(name) or 1 for name in unrolled}
    taps = math.prod(sizes.values())
    if results * max(1, taps) > _MOST_OPS:
        return math.inf
    loads = 0.0
    for place in problem.inputs:
        step = min(problem.stride(place, vector) or 1, MOST_STEP)
        loads += (2 * step - 1) * _distinct(problem, place, {**tile, **sizes})
    work = sum(5 if step.name in _HEAVY else 1 for step in problem.body.steps)
    edges = 1.0
    for name, count in tile.items():
        size = problem.size(name)
        if count > 1 and (size is None or size % count):
            edges *= 1.08  # the code once more, for the remainder
    # Few results at a time wait for one another.
    waiting = max(0, 6 - results) * 0.1 * taps
    return edges * (loads + results * (taps * work + 1) + waiting) / results


def _distinct(problem: WindowProblem, place: int, counts: Mapping[str, int]) -> int:
    """Return the number of different vectors of an operand that some iterations of loops read."""
    spread, apart = {0}, 1
    for name, count in counts.items():
        stride = problem.stride(place, name)
        if stride is None:
            apart *= count
        else:
            spread = {old + stride * at for old in spread for at in range(count)}
    return apart * len(spread)


def _live(problem: WindowProblem, tile: Mapping[str, int], unrolled: Sequence[str]) -> int:
    """Return the most vectors that are live at once, each from its first use to its last."""
    results = list(itertools.product(*(range(count) for count in tile.values())))
    sizes = [problem.size(name) or 1 for name in unrolled]
    begin: dict[tuple[int, ...], int] = {}
    end: dict[tuple[int, ...], int] = {}
    names = (*unrolled, *tile)
    now = 0
    for tap in itertools.product(*map(range, sizes)):
        for result in results:
            for place in problem.inputs:
                # An open stride is taken for a large one: no sum of others makes it up.
                known, *rest = place, 0
                for name, at in zip(names, (*tap, *result), strict=True):
                    stride = problem.stride(place, name)
                    rest.append(at * (1 << 40) if stride is None else 0)
                    rest[0] += at * stride if stride is not None else 0
                key = (known, *rest)
                begin.setdefault(key, now)
                end[key] = now
            now += 1
    changes = [0] * (now + 1)
    for key, first in begin.items():
        changes[first] += 1
        changes[end[key] + 1] -= 1
    return len(results) + max(itertools.accumulate(changes))


_MOST_PRODUCTS = 32
"""Multiplications that are written out, at most."""

_PUT_TOGETHER = 1.0
"""Cycles for each vector more of which a vector is made."""

_MOST_PIECES = 3

_EDGES = 1.25
"""A row of results with its edges is longer by at most so much."""


def make_product_plan(problem: WindowProblem, machine: Machine) -> WindowPlan | None:
    """Return the plan of a contraction that reads its operands in place; None if none pays."""
    problem = _along_memory(problem).collapsed()
    if any(loop.size is None for loop in problem.loops) or not _is_small(problem, machine):
        return None
    pitched = _pitched(problem, machine.vector_bytes // problem.element_bytes)
    problem, pitch = pitched or (problem, None)
    vector = vector_loop(problem)
    if pitch is not None:
        contiguous = (
            n for n in reversed(problem.parallel) if problem.stride(problem.output, n) == 1
        )
        vector = next(contiguous)
    if vector is None or (problem.size(vector) or 0) < SHORTEST:
        return None
    lanes = lanes_of(problem, vector, machine)
    repeated = [name for name in problem.parallel if _is_repeated(problem, name, vector)]
    if not repeated:
        return None
    tiled = repeated[-1]
    step = max(problem.stride(place, vector) or 1 for place in problem.inputs)
    sizes = problem.size(tiled) or 1, problem.size(vector) or 1
    rows, vectors = _tile(*sizes, lanes, step, machine)
    rest = [name for name in problem.parallel if name not in (vector, tiled)]
    return WindowPlan(
        problem,
        vector,
        lanes,
        {tiled: rows},
        _unrolled(problem, rows * vectors, _MOST_PRODUCTS),
        (*rest, vector, tiled),
        vectors,
        pitch,
    )


def _along_memory(problem: WindowProblem) -> WindowProblem:
    """Return the problem with its loops over a window in the order of memory."""

    def distance(loop: Loop) -> int:
        strides = [problem.stride(place, loop.name) for place in sorted(problem.windows)]
        return -max((abs(stride or 0) for stride in strides), default=0)

    parallel = [loop for loop in problem.loops if loop.is_parallel]
    reduced = [loop for loop in problem.loops if not loop.is_parallel]
    return replace(problem, loops=(*parallel, *sorted(reduced, key=distance)))


def _is_small(problem: WindowProblem, machine: Machine) -> bool:
    """Return whether the kernel, which each tile of results reads again, stays in L2."""
    kernels = [place for place in problem.inputs if place not in problem.windows]
    elements = sum(math.prod(size or 0 for size in problem.arguments[p].sizes) for p in kernels)
    return elements * problem.element_bytes <= machine.l2_bytes * 2 // 5


def _is_repeated(problem: WindowProblem, name: str, vector: str) -> bool:
    """Return whether all rounds of a loop read the same vectors."""
    return name != vector and all(
        problem.stride(place, name) == 0
        for place in problem.inputs
        if problem.stride(place, vector) != 0
    )


def _pitched(problem: WindowProblem, lanes: int) -> tuple[WindowProblem, Pitch] | None:
    """Return the problem with the loops over rows and along them as one, if that fills vectors."""
    names = problem.parallel
    if len(names) < 2 or problem.stride(problem.output, names[-1]) != 1:
        return None
    rows, along = names[-2:]
    count, size = problem.size(rows) or 0, problem.size(along) or 0
    strides = {problem.stride(p, rows) for p in problem.inputs if problem.stride(p, along) == 1}
    other_steps = {
        (problem.stride(p, along), problem.stride(p, rows))
        for p in problem.inputs
        if problem.stride(p, along) != 1
    }
    if len(strides) != 1 or other_steps - {(0, 0)} or not size:
        return None
    for place in problem.finishing:
        steps = problem.stride(place, along), problem.stride(place, rows)
        if steps[0] != 1 and steps != (0, 0):
            return None
    (period,) = strides
    if period is None or not size <= period <= size * _EDGES:
        return None
    pieces = 1 + -(-(lanes - 1) // period)
    as_rows = -(-size // lanes) * lanes / size
    if pieces > _MOST_PIECES or as_rows <= period / size * 1.02:
        return None
    total = (count - 1) * period + size
    loops = [
        Loop(along, total, is_parallel=True) if loop.name == along else loop
        for loop in problem.loops
        if loop.name != rows
    ]
    return replace(problem, loops=tuple(loops)), Pitch(rows, period, size, pieces)


def _tile(rows: int, columns: int, lanes: int, step: int, machine: Machine) -> tuple[int, int]:
    """Return the rows and the vectors of the tile with the fewest cycles, edges included.

    `step` is the elements from one lane's to the next: a vector is made of as many loaded vectors.
    """
    wide = -(-columns // lanes)

    def cycles(tile: tuple[int, int]) -> float:
        return sum(
            many * across * _cycles(tall, broad, step, machine)
            for tall, many in _parts(rows, tile[0])
            for broad, across in _parts(wide, tile[1])
        )

    tiles = (
        (height, vectors)
        for vectors in range(1, min(8, wide) + 1)
        for height in range(1, min(rows, machine.vector_registers) + 1)
        if height * vectors + vectors + step <= machine.vector_registers - 2
    )
    return min(tiles, key=cycles, default=(1, 1))


def _parts(size: int, step: int) -> Sequence[tuple[int, int]]:
    """Return the sizes of the parts of a loop, and the number of parts of each size."""
    whole, rest = divmod(size, step)
    return [(step, whole), *([(rest, 1)] if rest else [])]


def _cycles(rows: int, vectors: int, step: int, machine: Machine) -> float:
    """Return the cycles for one element of the windows of a tile: see `cycles_of_a_step`.

    Elements of different rows often lie in one bank of L1, which gives one of them a cycle.
    """
    busy = max(rows * vectors / machine.fma_units, float(machine.fma_latency))
    busiest = max(busy, rows + vectors / 2)
    return busiest + 0.1 * rows + 0.15 * vectors + _PUT_TOGETHER * vectors * (step - 1)
