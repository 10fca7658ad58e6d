"""The plan of a convolution that multiplies matrices, where its kernel stays in the cache.

The tile of results is that of the micro-kernel of `cache_blocking`: some vectors of one operand,
each of which meets some elements of the other. Nothing is packed. The windows are read where they
lie, again and again from L1; the kernel is small enough to come from L2.

Where a row of results is no multiple of a vector, rows are walked over as one, with the few
elements of the input between them: a row of the image is longer than one of results by its edges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from linalg_ext.transforms.codegen.base.machine import Machine

from ._window_plan import SHORTEST, Pitch, WindowPlan, lanes_of, vector_loop
from ._window_problem import Loop, WindowProblem

_MOST_OPS = 32
"""Multiplications that are written out, at most."""

_PUT_TOGETHER = 1.0
"""Cycles for each vector more of which a vector is made."""

_MOST_PIECES = 3

_EDGES = 1.25
"""A row of results with its edges is longer by at most so much."""


def make_product_plan(problem: WindowProblem, machine: Machine) -> WindowPlan | None:
    """The plan of a contraction over windows that reads its operands where they lie, if one pays.

    Args:
        problem: a contraction of two operands.
        machine: that it is made for.
    """
    problem = _along_memory(problem).collapsed()
    if any(loop.size is None for loop in problem.loops) or not _is_small(problem, machine):
        return None
    found = _pitched(problem, machine.vector_bytes // _bytes(problem))
    pitch = None
    if found is not None:
        problem, pitch = found
    vector = pitch_vector(problem, pitch) or vector_loop(problem)
    if vector is None or (problem.size(vector) or 0) < SHORTEST:
        return None
    lanes = lanes_of(problem, vector, machine)
    repeated = [name for name in problem.parallel if _is_repeated(problem, name, vector)]
    if not repeated:
        return None
    tiled = repeated[-1]
    step = max(problem.stride(place, vector) or 1 for place in problem.inputs)
    sizes = problem.size(tiled) or 1, problem.size(vector) or 1
    rows, vectors = _tile(*sizes, lanes, step, machine.vector_registers)
    rest = [name for name in problem.parallel if name not in (vector, tiled)]
    return WindowPlan(
        problem,
        vector,
        lanes,
        {tiled: rows},
        _unrolled(problem, rows * vectors),
        (*rest, vector, tiled),
        vectors,
        pitch,
    )


def _along_memory(problem: WindowProblem) -> WindowProblem:
    """The problem with its loops over a window in the order in which its elements lie in memory."""

    def distance(loop: Loop) -> int:
        strides = [problem.stride(place, loop.name) for place in sorted(problem.windows)]
        return -max((abs(stride or 0) for stride in strides), default=0)

    parallel = [loop for loop in problem.loops if loop.is_parallel]
    reduced = [loop for loop in problem.loops if not loop.is_parallel]
    return replace(problem, loops=(*parallel, *sorted(reduced, key=distance)))


def pitch_vector(problem: WindowProblem, pitch: Pitch | None) -> str | None:
    """The loop over vectors where rows are walked over as one."""
    if pitch is None:
        return None
    return next(n for n in reversed(problem.parallel) if problem.stride(problem.output, n) == 1)


def _bytes(problem: WindowProblem) -> int:
    return int(problem.arguments[problem.output].element[1:]) // 8


def _is_small(problem: WindowProblem, machine: Machine) -> bool:
    """Return whether the kernel, which each tile of results reads all over again, stays in L2."""
    kernels = [place for place in problem.inputs if place not in problem.windows]
    elements = sum(math.prod(size or 0 for size in problem.arguments[p].sizes) for p in kernels)
    return elements * _bytes(problem) <= machine.l2_bytes * 2 // 5


def _is_repeated(problem: WindowProblem, name: str, vector: str) -> bool:
    """Return whether a loop meets the same vectors in all of its rounds."""
    return name != vector and all(
        problem.stride(place, name) == 0
        for place in problem.inputs
        if problem.stride(place, vector) != 0
    )


def _pitched(problem: WindowProblem, lanes: int) -> tuple[WindowProblem, Pitch] | None:
    """The problem with the loops over rows and along them made one, where that fills vectors."""
    names = problem.parallel
    if len(names) < 2 or problem.stride(problem.output, names[-1]) != 1:
        return None
    rows, along = names[-2:]
    count, size = problem.size(rows) or 0, problem.size(along) or 0
    strides = {problem.stride(p, rows) for p in problem.inputs if problem.stride(p, along) == 1}
    others = {
        (problem.stride(p, along), problem.stride(p, rows))
        for p in problem.inputs
        if problem.stride(p, along) != 1
    }
    if len(strides) != 1 or others - {(0, 0)} or not size:
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


def _tile(rows: int, columns: int, lanes: int, step: int, registers: int) -> tuple[int, int]:
    """Return the rows and the vectors of the tile with the fewest cycles, edges included.

    Args:
        rows: in all.
        columns: in all.
        lanes: of a vector.
        step: elements from one lane's to the next: a vector is made of as many loaded vectors.
        registers: of the machine.
    """
    best: tuple[float, int, int] | None = None
    wide = -(-columns // lanes)
    for vectors in range(1, min(8, wide) + 1):
        for height in range(1, min(rows, registers) + 1):
            if height * vectors + vectors + step > registers - 2:
                break
            cycles = sum(
                many * across * _cycles(tall, broad, step)
                for tall, many in _parts(rows, height)
                for broad, across in _parts(wide, vectors)
            )
            if best is None or cycles < best[0]:
                best = cycles, height, vectors
    return best[1:] if best else (1, 1)


def _parts(size: int, step: int) -> Sequence[tuple[int, int]]:
    """The sizes of the parts of a loop, and how many of each there are."""
    whole, rest = divmod(size, step)
    return [(step, whole), *([(rest, 1)] if rest else [])]


def _cycles(rows: int, vectors: int, step: int) -> float:
    """For one element of the windows of a tile; see the model of `cache_blocking`.

    Elements of different rows often lie in one bank of L1, which gives one of them a cycle.
    """
    busiest = max(rows * vectors / 2, rows + vectors / 2, 4.0)
    return busiest + 0.1 * rows + 0.15 * vectors + _PUT_TOGETHER * vectors * (step - 1)


def _unrolled(problem: WindowProblem, results: int) -> tuple[str, ...]:
    """The innermost loops over a window that have few elements together."""
    found: list[str] = []
    written = results
    for name in reversed(problem.reduced):
        written *= problem.size(name) or 1
        if written > _MOST_OPS:
            break
        found.insert(0, name)
    return tuple(found)
