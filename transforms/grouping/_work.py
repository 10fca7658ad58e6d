"""What an op does, as far as a cost asks: loops, what each axis of an operand goes by, operations.

Made once for each node of a graph (`_reading_work.py`), from its indexing maps and its body.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

FREE, LOOPS, CONTRACTION, WINDOW, MOVE = "free", "loops", "contraction", "window", "move"
"""Kinds of work: nothing at run time; element-wise work and reductions; products of matrices and
of tensors; convolutions and poolings; bytes that are moved by other means."""


@dataclass(frozen=True)
class Access:
    """How an op reads or writes a tensor.

    Attributes:
        position: which of the reads of its node, or which of its results.
        axes: for each axis of the tensor, the loops that its index is made of.
        element: bytes of an element.
        bytes: of the whole tensor.
        steps: for each axis, how many of its elements a step of its loops goes on, 2 where every
            other one is read; all 1 where none are said.
    """

    position: int
    axes: tuple[tuple[int, ...], ...]
    element: float
    bytes: float
    steps: tuple[float, ...] = ()

    @property
    def elements(self) -> float:
        """Of the whole tensor."""
        return self.bytes / self.element

    def touched(self, loops: Sequence[int]) -> float:
        """Bytes that loops of such sizes touch."""
        return min(self.bytes, self.element * math.prod(self.extents(loops)))

    def extents(self, loops: Sequence[int]) -> list[float]:
        """Elements along each axis that loops of such sizes go over."""
        steps = self.steps or (1.0,) * len(self.axes)
        return [step * _span(axis, loops) for step, axis in zip(steps, self.axes, strict=True)]


def steps_of(
    axes: Sequence[Sequence[int]], loops: Sequence[int], sizes: Sequence[int]
) -> tuple[float, ...]:
    """The `steps` of an access to a tensor of such sizes, which loops go over as a whole."""
    return tuple(
        size / max(1, _span(axis, loops)) if len(axis) > 1 else 1.0
        for axis, size in zip(axes, sizes, strict=True)
    )


def _span(axis: Sequence[int], loops: Sequence[int]) -> int:
    """How many values an index that is a sum of some loops takes, where all go on by 1."""
    return sum(loops[each] for each in axis) - len(axis) + 1


@dataclass(frozen=True)
class Work:
    """What an op does.

    Attributes:
        kind: `FREE`, `LOOPS`, `CONTRACTION`, `WINDOW` or `MOVE`.
        loops: the size of each.
        reduced: the loops that reduce.
        reads: of its inputs, and of a destination where what it holds is used.
        writes: of its results.
        operations: how many of each kind an iteration has: `multiply_add` (two operations in one),
            or a function that figures know.
        dtype: element type of the result.
        is_scalar: whether it is no loop over vectors.
        is_view: whether the result is the first operand under another shape.
        is_constant: whether the result is one value in every place, and reads nothing.
    """

    kind: str
    loops: tuple[int, ...] = ()
    reduced: frozenset[int] = frozenset()
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    operations: tuple[tuple[str, float], ...] = ()
    dtype: str = "f32"
    is_scalar: bool = False
    is_view: bool = False
    is_constant: bool = False

    @property
    def iterations(self) -> int:
        """Of all loops together."""
        return math.prod(self.loops)

    @property
    def is_product(self) -> bool:
        """Return whether it multiplies and adds: a contraction or a convolution."""
        return self.kind in (CONTRACTION, WINDOW) and "multiply_add" in dict(self.operations)

    @property
    def is_elementwise(self) -> bool:
        """Return whether each iteration gives one element, and nothing is reduced."""
        return self.kind == LOOPS and not self.reduced and not self.is_scalar

    def tiled(self, sizes: Mapping[int, int]) -> Work:
        """The same on a part of some loops."""
        loops = tuple(min(size, sizes.get(at, size)) or size for at, size in enumerate(self.loops))
        return self if loops == self.loops else replace(self, loops=loops)


NOTHING = Work(FREE)
"""The work of an op that leaves no code, or none to speak of."""
