"""Results: where they are written, and how what comes back becomes an array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.errors import (
    AliasingError,
    ArgumentError,
    ArityError,
    LayoutError,
    ShapeError,
    caller_location,
)
from linalg_ext.executable.argument import Array, Place, shape_text
from linalg_ext.executable.description.signature import Result, ScalarType, Shape, has_shape
from linalg_ext.executable.overlap import overlaps_itself, share_memory
from linalg_ext.runtime import dtypes
from linalg_ext.runtime.call_frame import Frame, FrameLayout
from linalg_ext.runtime.descriptors import address_of, contiguous_strides
from linalg_ext.runtime.poison import empty
from linalg_ext.runtime.pool import SMALLEST, memory


class ResultSlot(Place):
    """One result: a place to write it to, in the order and the dtype that the entry wants."""

    def __init__(self, result: Result, *, is_only: bool) -> None:
        """Plan for `result`; `is_only` where `out=` may be a single array."""
        name = "out" if is_only else f"out[{result.position}]"
        super().__init__(name, result.type, is_written=True)
        self.result = result
        self.position = result.position
        self.is_scalar = isinstance(result.type, ScalarType)
        self.vector = vector = result.type.vector
        self.rank = len(result.shape) - len(vector)
        # Only ever used where every dimension is known.
        self.shape = result.type.sizes
        nbytes = result.dtype.itemsize * math.prod(self.shape)
        self._is_large = nbytes >= SMALLEST or bool(vector)

    def lay_out(self, layout: FrameLayout, word: int) -> None:
        """Take `word` for the descriptor; sizes and strides are written once."""
        super().lay_out(layout, word)
        sizes = self.shape[: self.rank]
        layout.preset(word + 2, (0, *sizes, *contiguous_strides(sizes)))

    def prepare(self, value: Array | None) -> Array:
        """The memory that native code writes: `value` itself where it is laid out so."""
        if value is not None and self.is_row_major(value):
            return value
        if not self._is_large:
            return empty(self.shape, self.result.dtype)
        if not self.vector:
            return memory.empty(self.shape, self.result.dtype)
        return aligned_empty(self.shape, self.result.dtype, self.alignment)

    def write(self, frame: Frame, prepared: Array) -> None:
        """Write where the result goes."""
        frame[self.word] = frame[self.word + 1] = address_of(prepared)

    def check_out(self, out: Any) -> None:
        """Check what the caller gave as `out`, but for an open shape.

        Raises:
            ArgumentError: not an array.
            DTypeError, LayoutError, ShapeError: an array that the result cannot go to.
        """
        if isinstance(out, np.ma.MaskedArray):
            self.refuse_mask()
        if not isinstance(out, np.ndarray):
            raise self.error(ArgumentError, f"is a {type(out).__name__}", expected="an array")
        if out.dtype not in self.dtypes:
            self.refuse_dtype(out.dtype, self.dtypes, self.name)
        self.check_shape(out, self.result.shape)
        if not out.flags.writeable:
            raise self.error(LayoutError, "is read-only", hint="pass a writable array")
        if overlaps_itself(out):
            raise self.error(
                LayoutError,
                f"has elements that overlap one another (strides {out.strides})",
                hint="pass an array with memory of its own for each element",
            )

    def check_shape(self, out: Array, shape: Shape) -> None:
        """Raise a ShapeError unless `out` has `shape`."""
        if not has_shape(out.shape, shape):
            raise self.error(
                ShapeError,
                f"has shape {out.shape}",
                expected=f"shape {shape_text(shape)}, the shape of {self.result}",
            )

    def finish(self, array: Array, out: Array | None) -> Any:
        """Return the caller's result, given the `array` that holds it."""
        if out is None:
            return array[()] if self.is_scalar else array
        if out is not array:
            np.copyto(out, array.view(out.dtype))
        return out


def split_out(out: Any, slots: Sequence[ResultSlot], inputs: Sequence[Any]) -> list[Array | None]:
    """`out=` as one array, or None, for each result; checked.

    Raises:
        ArityError: not as many as there are results.
        AliasingError: one shares memory with an input or with another.
        ArgumentError: of the kinds that `ResultSlot.check_out` raises.
    """
    several = isinstance(out, tuple) or (isinstance(out, list) and len(slots) != 1)
    outs = list(out) if several else [out]
    if len(outs) != len(slots):
        raise ArityError(
            f"out has {len(outs)} arrays",
            where=caller_location(),
            expected=f"{len(slots)}, one for each result (None lets one be allocated)",
        )
    given = [(slot, array) for slot, array in zip(slots, outs, strict=True) if array is not None]
    for position, (slot, array) in enumerate(given):
        slot.check_out(array)
        for index, value in enumerate(inputs):
            if isinstance(value, np.ndarray) and share_memory(array, value):
                raise slot.error(
                    AliasingError,
                    f"shares memory with argument {index}",
                    expected="memory that no input uses",
                    hint=f"pass {slot.name}=np.empty_like(...), or a copy of the argument",
                )
        for other, earlier in given[:position]:
            if share_memory(array, earlier):
                raise slot.error(
                    AliasingError,
                    f"shares memory with {other.name}",
                    expected="memory of its own for each result",
                )
    return outs


def aligned_empty(shape: tuple[int, ...], dtype: dtypes.DType, alignment: int) -> Array:
    """An array that starts at a multiple of `alignment` bytes."""
    nbytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    room = memory.empty((nbytes + alignment,), np.uint8)
    start = -address_of(room) % alignment
    array: Array = room[start : start + nbytes].view(dtype).reshape(shape)
    return array
