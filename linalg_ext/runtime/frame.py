"""The argument block of one native call, laid out once for each kernel.

The execution engine's packed calling convention takes one pointer to a table of pointers, one for
each argument, each to the argument's value; the value of a memref is, in the C interface, a pointer
to its descriptor. A `FrameLayout` puts table, pointers, descriptors and scalars into one block:

    table[0..n)   cells[0..n)   descriptors and scalars ...

Blocks are reused, never shared: a call takes one from the pool, or makes one, and puts it back, so
calls may overlap in any number of threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from linalg_ext.runtime.descriptors import word_count

WORD = 8
SCALAR_WORDS = 2
"""Room for one scalar: complex<f64> is the widest."""

Frame = ctypes.Array[ctypes.c_int64]


class FrameLayout:
    """Where each argument of a packed call lies, in words.

    Attributes:
        slots: for each argument the word at which its descriptor, or its scalar, starts.
        results: for each memref that the function returns, the word of its descriptor.
    """

    def __init__(self, arguments: Sequence[int | None], results: Sequence[int]) -> None:
        """Lay out the call.

        Args:
            arguments: for each argument the rank of a memref, or None for a scalar.
            results: the rank of each memref that the function returns.
        """
        # All results come back through one struct, passed by pointer ahead of the arguments.
        pointers = len(arguments) + bool(results)
        position = 2 * pointers
        self.results: list[int] = []
        for rank in results:
            self.results.append(position)
            position += word_count(rank)
        self.slots: list[int] = []
        for argument in arguments:
            self.slots.append(position)
            position += SCALAR_WORDS if argument is None else word_count(argument)
        self._size = position
        self._scalars = [argument is None for argument in arguments]
        self._template: dict[int, int] = {}
        self._pool: list[Frame] = []

    def preset(self, word: int, values: Sequence[int]) -> None:
        """Write `values` from `word` on into every block: what no call changes."""
        for position, value in enumerate(values, word):
            self._template[position] = value

    def take(self) -> Frame:
        """A block of one's own."""
        try:
            return self._pool.pop()
        except IndexError:
            return self._new()

    def give_back(self, frame: Frame) -> None:
        """Let the next call have `frame`."""
        self._pool.append(frame)

    def _new(self) -> Frame:
        frame = (ctypes.c_int64 * self._size)()
        base = ctypes.addressof(frame)
        for position, value in self._template.items():
            frame[position] = value
        values = self.slots if not self.results else [self.results[0], *self.slots]
        scalars = self._scalars if not self.results else [False, *self._scalars]
        count = len(values)
        for index, (value, is_scalar) in enumerate(zip(values, scalars, strict=True)):
            if is_scalar:
                frame[index] = base + value * WORD
            else:
                frame[index] = base + (count + index) * WORD
                frame[count + index] = base + value * WORD
        return frame
