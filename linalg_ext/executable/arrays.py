"""Array arguments: every check before native code runs, and the way into the call's frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from linalg_ext.errors import AliasingError, ArgumentError, LayoutError, ShapeError
from linalg_ext.executable.argument import Array, Place, shape_text
from linalg_ext.executable.conversion import PYTHON_NUMBERS, from_python, of_buffer
from linalg_ext.executable.description.signature import ArrayType, Parameter, has_shape
from linalg_ext.executable.overlap import overlaps_itself, share_memory
from linalg_ext.runtime import dtypes
from linalg_ext.runtime.call_frame import Frame, FrameLayout
from linalg_ext.runtime.descriptors import (
    Descriptor,
    address_of,
    contiguous_strides,
    describe,
)


class ArrayArgument(Place):
    """An input that is a tensor, or a memref in row-major order.

    An array that does not lie in memory as the entry reads it is copied, unless the entry may
    write it: the caller would never see what was written to a copy.
    """

    def __init__(self, parameter: Parameter, type_: ArrayType) -> None:
        super().__init__(str(parameter), type_, is_written=parameter.is_written)
        self.type: ArrayType = type_
        self.shape = type_.shape
        self.rank = len(type_.shape)
        self.is_plain = not type_.element.is_sub_byte and not type_.vector

    def lay_out(self, layout: FrameLayout, word: int) -> None:
        """Take `word` for the descriptor; what the type states is written once."""
        super().lay_out(layout, word)
        if self.type.is_static:
            sizes = self.type.sizes[: self.type.rank]
            layout.preset(word + 2, (0, *sizes, *contiguous_strides(sizes)))

    def prepare(self, value: Any) -> Array:
        """The array to pass for `value`: itself wherever it can be.

        Raises:
            ShapeError: the rank or a dimension is wrong.
            DTypeError: the element type or the byte order is.
            LayoutError: the array cannot be passed as it lies in memory, and not as a copy either.
            ArgumentError: `value` is not an array.
        """
        array = value if type(value) is np.ndarray else self._as_array(value)
        if array.dtype not in self.dtypes:
            self.refuse_dtype(array.dtype, self.dtypes)
        if array.shape != self.shape:
            self._check_shape(array)
        if self.is_written:
            self._check_writable(array)
        flags = array.flags
        if self.is_plain and flags.c_contiguous and flags.aligned:
            return array
        return self._arrange(array)

    def write(self, frame: Frame, prepared: Array) -> None:
        """Write the descriptor of a prepared array."""
        word = self.word
        frame[word] = frame[word + 1] = address_of(prepared)
        if not self.type.is_static:
            sizes = prepared.shape[: self.type.rank]
            frame[word + 2 : word + 3 + 2 * len(sizes)] = [0, *sizes, *contiguous_strides(sizes)]

    def _arrange(self, array: Array) -> Array:
        if self._fits(array):
            arranged = array
        elif self.is_written:
            self._refuse_layout(array)
        else:
            arranged = self._copy(array)
        if not self.type.element.is_sub_byte:
            return arranged
        clean = dtypes.to_machine(arranged, self.type.element)
        if clean is arranged:
            return arranged
        if self.is_written:
            np.copyto(array.view(np.uint8), clean.view(np.uint8))
            return array
        return clean if self._fits(clean) else self._copy(clean)

    def _fits(self, array: Array) -> bool:
        """Return whether the entry can read the array in place."""
        return self.is_row_major(array)

    def _copy(self, array: Array) -> Array:
        """A row-major copy, aligned as the entry wants it."""
        room = np.empty(array.nbytes + self.alignment, np.uint8)
        start = -address_of(room) % self.alignment
        copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        np.copyto(copy, array)
        return copy

    def _as_array(self, value: Any) -> Array:
        if isinstance(value, np.ma.MaskedArray):
            self.refuse_mask()
        if isinstance(value, np.ndarray | np.generic):
            return np.asarray(value)
        if (buffer := of_buffer(value)) is not None:
            return buffer
        if self.is_written:
            raise self.error(
                ArgumentError,
                f"got a {type(value).__name__}, and the entry may write this argument",
                expected="an array",
            )
        if isinstance(value, (*PYTHON_NUMBERS, list, tuple)):
            return from_python(value, self.type.element, self)
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            return np.asarray(value)
        raise self.error(
            ArgumentError,
            f"got a {type(value).__name__}",
            expected="a NumPy array",
            hint="convert it with numpy.asarray(...)",
        )

    def _check_shape(self, array: Array) -> None:
        if array.ndim != self.rank:
            raise self.error(
                ShapeError,
                f"got rank {array.ndim}, shape {array.shape}",
                expected=f"rank {self.rank}, shape {shape_text(self.shape)}",
            )
        if not has_shape(array.shape, self.shape):
            raise self.error(
                ShapeError,
                f"got shape {array.shape}",
                expected=f"shape {shape_text(self.shape)}",
            )

    def _check_writable(self, array: Array) -> None:
        if not array.flags.writeable:
            raise self.error(
                LayoutError,
                "got a read-only array, and the entry may write it",
                hint="pass a writable copy: array.copy()",
            )
        if overlaps_itself(array):
            raise self.error(
                LayoutError,
                f"got an array whose elements overlap (strides {array.strides}), "
                "and the entry may write it",
                hint="pass a copy: array.copy()",
            )

    def _refuse_layout(self, array: Array) -> NoReturn:
        if not self.is_aligned(array):
            raise self.error(
                LayoutError,
                f"got an array whose data is not aligned to {self.alignment} bytes, "
                "and the entry may write it",
                hint="pass np.require(array, requirements='CA') and copy the result back"
                if not self.type.vector
                else "allocate it with room to spare and pass an aligned slice",
            )
        raise self.error(
            LayoutError,
            f"got an array with strides {array.strides}",
            expected=f"{self._layout_text()}" + ", for the entry may write it" * self.is_written,
            hint=self._layout_cure(),
        )

    def _layout_text(self) -> str:
        return "row-major order without gaps"

    def _layout_cure(self) -> str:
        return "pass np.ascontiguousarray(array), and copy it back"


class StridedArgument(ArrayArgument):
    """A memref whose layout states its strides; any of them may be open."""

    def __init__(
        self, parameter: Parameter, type_: ArrayType, strides: tuple[int | None, ...]
    ) -> None:
        super().__init__(parameter, type_)
        self.strides = strides
        self.is_plain = False

    def lay_out(self, layout: FrameLayout, word: int) -> None:
        """Take `word` for the descriptor; each call writes it whole."""
        self.word = word

    def write(self, frame: Frame, prepared: Array) -> None:
        """Write the descriptor of a prepared array."""
        descriptor = self._descriptor(prepared)
        if descriptor is None:
            self._refuse_layout(prepared)
        words = descriptor.words()
        frame[self.word : self.word + len(words)] = list(words)

    def _fits(self, array: Array) -> bool:
        return self.is_aligned(array) and self._descriptor(array) is not None

    def _copy(self, array: Array) -> Array:
        copy = super()._copy(array)
        if self._descriptor(copy) is None:
            self._refuse_layout(array)
        return copy

    def _descriptor(self, array: Array) -> Descriptor | None:
        """The descriptor with the strides and the offset of the type, or None: they differ."""
        inner = array.shape[self.type.rank :]
        wanted = tuple(array.itemsize * stride for stride in contiguous_strides(inner))
        if array.strides[self.type.rank :] != wanted:
            return None
        descriptor = describe(array, inner_rank=len(inner), offset=self.type.offset or 0)
        if descriptor is None:
            return None
        strides = list(descriptor.strides)
        for axis, stride in enumerate(self.strides):
            if stride is None or strides[axis] == stride:
                continue
            # The stride of an axis without steps is free.
            if array.shape[axis] > 1 and array.size:
                return None
            strides[axis] = stride
        return descriptor._replace(strides=tuple(strides))

    def _layout_text(self) -> str:
        itemsize = self.type.itemsize
        strides = ", ".join("any" if s is None else str(s * itemsize) for s in self.strides)
        return f"strides ({strides}) in bytes, each a whole number of {itemsize}-byte elements"

    def _layout_cure(self) -> str:
        return f"copy it into an array that is laid out as {self.type} says"


def check_aliasing(written: Sequence[tuple[int, ArrayArgument]], values: Sequence[Any]) -> None:
    """Have each argument that the entry may write be alone in its memory.

    Args:
        written: those arguments, by position.
        values: of all arguments; what is no array has memory of its own.

    Raises:
        AliasingError: one shares it.
    """
    for index, argument in written:
        for other, value in enumerate(values):
            both = index != other and index < len(values)
            arrays = both and all(isinstance(v, np.ndarray) for v in (values[index], value))
            if arrays and share_memory(values[index], value):
                raise argument.error(
                    AliasingError,
                    f"shares memory with argument {other}, and the entry may write it",
                    expected="memory of its own for each argument that is written",
                    hint="pass a copy of one of them",
                )
