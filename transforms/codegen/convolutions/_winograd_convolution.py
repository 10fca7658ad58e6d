"""Convolutions that Winograd's F(2x2, 3x3) is for: windows of 3 x 3 that slide one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from linalg_ext.transforms.codegen.base.payload import Payload

from ._window_problem import Loop, WindowProblem
from ._winograd_transforms import RESULTS, TAPS

Lanes = Literal["columns", "channels"]
"""The dimension that is contiguous in memory, and so along the lanes of vectors."""


@dataclass(frozen=True)
class Convolution:
    """A 3 x 3 convolution of stride 1: the loop of each of its dimensions.

    Attributes:
        problem: the convolution.
        window: the place of the input.
        filters: the place of the filters.
        batch: loops over images.
        rows: the loop over rows of results.
        columns: the loop over their columns.
        results: the loop over channels of results, one for each filter.
        channels: the loop over channels of the input.
        taps: the loops over rows and columns of a filter.
        lanes: what vectors run along.
    """

    problem: WindowProblem
    window: int
    filters: int
    batch: tuple[str, ...]
    rows: str
    columns: str
    results: str
    channels: str
    taps: tuple[str, str]
    lanes: Lanes

    def size(self, loop: str) -> int:
        """The rounds of a loop that is not one over images."""
        return self.problem.size(loop) or 0

    def tiles(self, loop: str) -> int:
        """Return the number of tiles along rows or columns."""
        return -(-self.size(loop) // RESULTS)

    @property
    def has_filters_in_lanes(self) -> bool:
        """True where filters are contiguous, element by element, as the results of channels are."""
        return self.lanes == "channels" and self.problem.stride(self.filters, self.results) == 1

    @property
    def vector(self) -> str:
        """The loop over results that vectors run along."""
        return self.columns if self.lanes == "columns" else self.results


def find_convolution(problem: WindowProblem) -> Convolution | None:
    """The dimensions of a problem, if it is a 3 x 3 convolution of f32 with a stride of 1.

    Args:
        problem: a contraction of two operands.
    """
    if {argument.element for argument in problem.arguments.values()} != {"f32"}:
        return None
    if any(loop.size == 0 for loop in problem.loops):
        return None
    if [step.name for step in problem.body.steps] != ["vector.fma"] or len(problem.inputs) != 2:
        return None
    window, filters = sorted(problem.inputs, key=lambda place: place not in problem.windows)
    if filters in problem.windows or window not in problem.windows:
        return None
    inside = {p: set(problem.arguments[p].dimensions) for p in (window, filters, problem.output)}
    images = inside[window] & inside[problem.output] - inside[filters]
    results = inside[filters] & inside[problem.output] - inside[window]
    summed = inside[window] & inside[filters] - inside[problem.output]
    if set.union(*inside.values()) != images | results | summed or len(results) != 1:
        return None
    slid = sorted(_slid(problem, window, images, summed))
    if len(slid) != 2:
        return None
    (_, columns, tap_x), (_, rows, tap_y) = slid
    channels = summed - {tap_x, tap_y}
    if len({rows, columns, tap_x, tap_y}) < 4 or len(channels) != 1:
        return None
    (result,), (channel,) = results, channels
    batch = tuple(loop.name for loop in problem.loops if loop.name in images - {rows, columns})
    names = (rows, columns, result, channel)
    if any(problem.size(name) is None for name in names):
        return None
    if any(problem.stride(p, n) is None for p in problem.arguments for n in (*names, tap_x, tap_y)):
        return None
    for lanes, vectors in (("columns", (columns, columns)), ("channels", (channel, result))):
        given, made = vectors
        steps = {problem.stride(place, made) for place in problem.finishing}
        beside = problem.stride(window, given), problem.stride(problem.output, made)
        if beside == (1, 1) and steps <= {0, 1}:
            return Convolution(
                problem, window, filters, batch, rows, columns, result, channel, (tap_y, tap_x),
                "columns" if lanes == "columns" else "channels",
            )  # fmt: skip
    return None


def _slid(
    problem: WindowProblem, window: int, images: set[str], summed: set[str]
) -> Iterator[tuple[int, str, str]]:
    """The loops along which a window of 3 slides one by one: its stride, and both loops."""
    for over, tap in itertools.product(sorted(images), sorted(summed)):
        stride = problem.stride(window, over)
        if stride and problem.stride(window, tap) == stride and problem.size(tap) == TAPS:
            yield stride, over, tap


def sized_convolution(
    images: int | None, channels: int, results: int, rows: int, columns: int
) -> Convolution:
    """A convolution of given sizes whose channels come first, before its operands are in memory."""
    names = ("images", "results", "rows", "columns", "channels", "down", "along")
    sizes = (images, results, rows, columns, channels, TAPS, TAPS)
    loops = tuple(
        Loop(name, size, is_parallel=place < 4)
        for place, (name, size) in enumerate(zip(names, sizes, strict=True))
    )
    problem = WindowProblem(loops, {}, 2, frozenset({0}), Payload(3, (), 2), None)
    image, result, row, column, channel, *taps = names
    return Convolution(
        problem, 0, 1, (image,), row, column, result, channel, (taps[0], taps[1]), "columns"
    )
