"""The plan of a reduction over windows: which loop is over vectors, and how large a tile is.

A tile is a few neighbouring results, in registers while all elements of their windows go by.
Neighbouring windows overlap: what is read for one is there for the other. Tile and unrolling are
those that need the fewest instructions for a result, by counting them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from linalg_ext.target.text import table
from linalg_ext.transforms.codegen.base.machine import Machine

from ._window_problem import WindowProblem

MOST_STEP = 4
"""The largest stride at which a vector is put together from contiguous vectors."""

SHORTEST = 4
"""Fewer elements than these are no vector."""

_MOST_TAPS = 27
"""Elements of a window that are written out; further dimensions of a window are loops."""

_MOST_OPS = 128
"""Times that the body is written out for a tile."""

_MOST_COUNT = 8

_SPARE = 6
"""Registers for what vectors are put together from, and for what the compiler moves about."""

_HEAVY = ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf", "arith.divf")
"""Ops that take several instructions, for NaN and the sign of zero."""


@dataclass(frozen=True)
class Pitch:
    """Rows of results that are walked over as one, with what lies between them in the input.

    What is computed of the elements between is not stored.

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
        problem: what is computed.
        vector: the loop over vectors.
        lanes: elements of a vector.
        tile: how many results of each other loop are computed at once.
        unrolled: loops over a window that are written out.
        order: the loops over results, from the outside in.
        vectors: how many vectors are computed at once.
        pitch: how the elements of the vectors lie in rows; None where they are one row.
        repeats: what else is in a vector.
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
            loops = [each for each in problem.loops if each.is_parallel == kind]
            return " ".join(f"{e.name}:{'?' if e.size is None else e.size}" for e in loops)

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
            ("result", "starts from what is there" if problem.start is None
                       else f"starts from {problem.start}"),
            *([("epilogue", problem.epilogue.payload.summary)] if problem.epilogue else []),
        ]  # fmt: skip
        return table(rows)


def make_window_plan(problem: WindowProblem, machine: Machine) -> WindowPlan | str:
    """The plan of a reduction over windows, or why there is none."""
    vector, repeats = vector_loop(problem), None
    if (found := repeating(problem, machine)) is not None:
        vector, repeats = found
    if vector is None:
        return "the result and the windows have no loop along memory in common"
    lanes = lanes_of(problem, vector, machine, repeats.count if repeats else 1)
    unrolled = _unrolled(problem)
    order = [name for name in problem.parallel if repeats is None or name != repeats.loop]
    tiles = [
        (_cost(problem, tile, vector, unrolled), tile) for tile in _tiles(problem, order, vector)
    ]
    for cost, tile in sorted(tiles, key=lambda each: each[0]):
        if cost < math.inf and _live(problem, tile, unrolled) <= machine.vector_registers - _SPARE:
            break
    else:
        tile = {}
    return WindowPlan(problem, vector, lanes, tile, unrolled, tuple(order), repeats=repeats)


def lanes_of(problem: WindowProblem, vector: str, machine: Machine, each: int = 1) -> int:
    """Return the number of lanes of a vector along a loop; each iteration fills `each` of them."""
    lanes = _most_lanes(problem, machine)
    size = problem.size(vector)
    return lanes if size is None else min(lanes, 1 << (size * each - 1).bit_length())


def _most_lanes(problem: WindowProblem, machine: Machine) -> int:
    bits = max(problem.body.bits, *(_bits(a.element) for a in problem.arguments.values()))
    return 8 * machine.vector_bytes // bits


def repeating(problem: WindowProblem, machine: Machine) -> tuple[str, Repeats] | None:
    """The loop over vectors, and a short one inside it, where neither is one alone."""
    names = problem.parallel
    if len(names) < 2 or problem.stride(problem.output, names[-1]) != 1:
        return None
    outer, inner = names[-2:]
    count = problem.size(inner) or 0
    if not 1 < count < _most_lanes(problem, machine) or count & (count - 1):
        return None
    together, alike, same = (count, 1), (1, 0), (0, 0)
    for place in (*problem.inputs, *problem.finishing, problem.output):
        found = problem.stride(place, outer), problem.stride(place, inner)
        if found not in (together, alike, same) or (place == problem.output and found != together):
            return None
    size = problem.size(outer)
    if size is not None and size < 2:
        return None
    return outer, Repeats(inner, count)


def vector_loop(problem: WindowProblem) -> str | None:
    """The loop whose elements make a vector: all operands have them side by side, or all in one."""
    best: tuple[float, str] | None = None
    for name in problem.parallel:
        size = problem.size(name)
        if problem.stride(problem.output, name) != 1 or (size is not None and size < SHORTEST):
            continue
        places = (*problem.inputs, *problem.finishing)
        steps = [problem.stride(place, name) for place in places]
        if any(step is None or not 0 <= step <= MOST_STEP for step in steps):
            continue
        worth = min(size or 64, 64) / max(1, *(step or 1 for step in steps))
        if best is None or worth > best[0]:
            best = worth, name
    return best[1] if best else None


def _unrolled(problem: WindowProblem) -> tuple[str, ...]:
    """The innermost loops over a window that have few elements together."""
    found: list[str] = []
    taps = 1
    for name in reversed(problem.reduced):
        size = problem.size(name)
        if size is None or taps * size > _MOST_TAPS:
            break
        taps *= size
        found.insert(0, name)
    return tuple(found)


def _tiles(problem: WindowProblem, order: Sequence[str], vector: str) -> Iterator[dict[str, int]]:
    """The tiles to choose from: along one loop or two, the next ones in memory."""
    names = [name for name in order if name != vector][-2:]
    counts = []
    for name in names:
        size = problem.size(name)
        counts.append(range(1, min(_MOST_COUNT, size if size else _MOST_COUNT) + 1))
    for chosen in itertools.product(*counts):
        yield dict(zip(names, chosen, strict=True))


def _cost(
    problem: WindowProblem,
    tile: Mapping[str, int],
    vector: str,
    unrolled: Sequence[str],
) -> float:
    """Instructions for a vector of results; infinity where the tile is too large."""
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
            edges *= 1.08  # the code once more, for what is left
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


def _bits(element: str) -> int:
    return int(element.lstrip("bfi"))
