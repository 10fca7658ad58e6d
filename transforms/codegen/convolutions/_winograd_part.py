"""The base class of the parts of a Winograd nest, and the layout of its scratch memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linalg_ext.transforms.codegen.base.flat_memory import Memory
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._winograd_plan import WinogradPlan
from ._winograd_transforms import RESULTS

_LINE = 16
"""Elements of a line of a cache."""


@dataclass(frozen=True)
class Block:
    """Some rows and columns of tiles.

    Attributes:
        row, column: of the first one.
        height, width: how many there are.
    """

    row: Index
    column: Index
    height: Index
    width: Index


@dataclass(frozen=True)
class Points:
    """A matrix for each of the 16 points, in scratch memory.

    Attributes:
        memory: all of them.
        plane: elements from one matrix to the next.
        pitch: elements from one row to the next.
    """

    memory: Memory
    plane: int
    pitch: int


def shape_of_inputs(plan: WinogradPlan) -> tuple[int, int]:
    """The rows of the matrix of inputs for a point, and their pitch."""
    channels = plan.convolution.size(plan.convolution.channels)
    return _shape(plan, channels, _spread(channels + plan.tile.lanes))


def shape_of_sums(plan: WinogradPlan) -> tuple[int, int]:
    """The rows of the matrix of sums for a point, and their pitch."""
    filters = plan.strips * plan.strip
    return _shape(plan, filters, _spread(filters))


def _shape(plan: WinogradPlan, channels: int, pitch: int) -> tuple[int, int]:
    """Rows of channels whose tiles lie side by side, or of tiles whose channels do."""
    tiles = -(-plan.block // plan.step) * plan.step
    if plan.convolution.lanes == "columns":
        return channels, _spread(tiles + plan.tile.lanes)
    return tiles, pitch


def plane_of(rows: int, pitch: int) -> int:
    """Elements from the matrix of one point to that of the next."""
    return _spread(rows * pitch)


def _spread(size: int) -> int:
    """A distance of `size` elements or more, an odd number of lines: it meets all sets of L1."""
    return (-(-size // _LINE) | 1) * _LINE


class Part:
    """Writes a part of the nest of a plan."""

    def __init__(self, w: Writer, plan: WinogradPlan) -> None:
        self._w = w
        self._plan = plan
        self._conv = plan.convolution
        self._lanes = plan.tile.lanes
        self._vector = f"vector<{self._lanes}xf32>"
        self._channels = self._conv.size(self._conv.channels)
        self._results = self._conv.size(self._conv.results)

    def _along_columns(self, block: Block, write: Callable[[Index, bool], None]) -> None:
        """Vectors of tiles along a row of a block: the first of each, and whether it is whole."""
        w, lanes = self._w, self._lanes
        inside = self._conv.size(self._conv.columns) // RESULTS
        whole = w.max(w.min(block.width, w.sub(inside, block.column)), 0)
        self._along(block.width, w.sub(whole, w.rem(whole, lanes)), write)

    def _along_channels(self, count: Index, write: Callable[[Index, bool], None]) -> None:
        """Vectors of channels: `write` is given the first of each, and whether it is whole."""
        self._along(count, self._w.sub(count, self._w.rem(count, self._lanes)), write)

    def _along(self, count: Index, whole: Index, write: Callable[[Index, bool], None]) -> None:
        w = self._w
        if whole != 0:
            with w.loop(0, whole, self._lanes) as at:
                write(at, True)
        if whole != count:
            with w.loop(whole, count, self._lanes) as at:
                write(at, False)
