"""The argument block of one native call, laid out once for each kernel.

The execution engine's packed calling convention takes one pointer to a table of pointers, one for
each argument, each to the argument's value; the value of a memref is, in the C interface, a pointer
to its descriptor. A `FrameLayout` puts table, pointers, descriptors and scalars into one block:

    status   table[0..n)   cells[0..n)   descriptors and scalars ...

Blocks are reused, never shared: a call takes one from the pool, or makes one, and puts it back, so
calls may overlap in any number of threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

from linalg_ext.runtime.descriptors import word_count

WORD = 8
SCALAR_WORDS = 2
"""Room for one scalar: complex<f64> is the widest."""

STATUS = 0
"""The word that the call's status is read from.

Before the call write 0, or for code that shares loops what `threads.context` gives.
"""

TABLE = 1
"""The word at which the table starts: its address is what a packed function takes."""

Frame = ctypes.Array[ctypes.c_int64]


class FrameTemplate(NamedTuple):
    """The common content of all blocks of a layout.

    Attributes:
        words: of a block. Those that hold addresses within it hold offsets in bytes.
        places: the indices of the words that hold addresses.
    """

    words: tuple[int, ...]
    places: tuple[int, ...]


class FrameLayout:
    """The position of each argument of a packed call in the block, in words.

    The last argument is the status, a memref<1xi64>: its one element is the block's first word.

    Attributes:
        slots: for each argument but the status the word at which its descriptor or scalar starts.
        size: words of a block.
        results: for each memref that the function returns, the word of its descriptor.
    """

    def __init__(self, arguments: Sequence[int | None], results: Sequence[int]) -> None:
        """Lay out the call.

        Args:
            arguments: for each argument but the status the rank of a memref, or None for a scalar.
            results: the rank of each memref that the function returns.
        """
        # All results come back through one struct, passed by pointer ahead of the arguments.
        pointers = bool(results) + len(arguments) + 1
        position = TABLE + 2 * pointers
        self.results: list[int] = []
        for rank in results:
            self.results.append(position)
            position += word_count(rank)
        self.slots: list[int] = []
        for argument in arguments:
            self.slots.append(position)
            position += SCALAR_WORDS if argument is None else word_count(argument)
        self._status = position
        self.size = position + word_count(1)
        values = [
            (word, argument is None) for word, argument in zip(self.slots, arguments, strict=True)
        ]
        self._values = [(self.results[0], False)] if results else []
        self._values += [*values, (self._status, False)]
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

    def template(self, spare: int = 0) -> FrameTemplate:
        """Return the common content of all blocks, with `spare` more words at the end."""
        words = [0] * (self.size + spare)
        for position, value in self._template.items():
            words[position] = value
        places = []
        for index, (word, is_scalar) in enumerate(self._values, TABLE):
            words[index] = word * WORD
            if not is_scalar:
                cell = index + len(self._values)
                words[index], words[cell] = cell * WORD, word * WORD
                places.append(cell)
            places.append(index)
        words[self._status : self._status + word_count(1)] = [0, 0, 0, 1, 1]
        return FrameTemplate(tuple(words), (*places, self._status, self._status + 1))

    def _new(self) -> Frame:
        template = self.template()
        frame = (ctypes.c_int64 * self.size)(*template.words)
        base = ctypes.addressof(frame)
        for place in template.places:
            frame[place] += base
        return frame
