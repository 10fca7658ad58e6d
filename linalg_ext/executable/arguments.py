"""Arguments and results of a call: every check before native code runs, and the words of its frame.

Python's numbers have no dtype, so they get the parameter's if its kind can hold them. A bool goes
anywhere, an int to integers wide enough and to floats, a float to floats, a complex to complex. A
value with a dtype of its own must have the right one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from linalg_ext.errors import (
    AliasingError,
    ArgumentError,
    ArityError,
    DTypeError,
    LayoutError,
    LinalgExtError,
    ShapeError,
    caller_location,
    kind_of,
)
from linalg_ext.executable.signature import (
    ArrayType,
    Parameter,
    Result,
    ScalarType,
    Shape,
    Signature,
    ValueType,
    has_shape,
)
from linalg_ext.runtime import dtypes
from linalg_ext.runtime.calling_convention import (
    SCALAR_WORDS,
    WORD,
    Descriptor,
    Frame,
    FrameLayout,
    address_of,
    contiguous_strides,
    describe,
)
from linalg_ext.runtime.dlpack import from_dlpack, is_exported
from linalg_ext.runtime.dtypes import DType, ElementType, by_dtype, integer_range
from linalg_ext.runtime.poison import empty
from linalg_ext.runtime.pool import SMALLEST, memory
from linalg_ext.utils.hooks import is_dask

Array = np.ndarray[Any, Any]


class Argument(ABC):
    """A parameter of a kernel, or one of its results, as calls check and pass it.

    Subclasses compute in `__init__` all that is independent of the value.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def lay_out(self, layout: FrameLayout, word: int) -> None:
        """Take `word` as the first word in the frame, and write the words that no call changes."""
        self.word = word

    @abstractmethod
    def prepare(self, value: Any) -> Any:
        """Check `value`, and bring it into the form that `write` takes."""

    @abstractmethod
    def write(self, frame: Frame, prepared: Any) -> None:
        """Write the words that native code reads into the frame."""

    def error(
        self,
        kind: type[LinalgExtError],
        fault: str,
        *,
        expected: str | None = None,
        hint: str | None = None,
    ) -> LinalgExtError:
        """Return the error to raise, which names the argument and the caller's line."""
        return kind(f"{self.name} {fault}", where=caller_location(), expected=expected, hint=hint)

    def refuse_dtype(
        self, dtype: DType, accepted: Sequence[DType], name: str = "array"
    ) -> NoReturn:
        """Raise the error for a wrong dtype, with the hint for this one."""
        raise self.error(
            DTypeError,
            f"has dtype {dtypes.describe_dtype(dtype)}",
            expected=" or ".join(str(dtype_) for dtype_ in accepted),
            hint=dtypes.cure_for(dtype) or f"convert it with {name}.astype({str(accepted[0])!r})",
        )


class Place(Argument):
    """An argument or a result that accepts arrays of one type, written or not."""

    def __init__(self, name: str, type_: ValueType, *, is_written: bool) -> None:
        super().__init__(name)
        self.type = type_
        self.is_written = is_written
        self.dtypes = type_.element.dtypes
        self.alignment = type_.alignment

    def is_aligned(self, array: Array) -> bool:
        """Return whether the first element of an array is aligned for native code."""
        return array.flags.aligned and address_of(array) % self.alignment == 0

    def is_row_major(self, array: Array) -> bool:
        """Return whether an array lies in row-major order, and is aligned for native code."""
        return array.flags.c_contiguous and self.is_aligned(array)


def shape_text(shape: Sequence[int | None]) -> str:
    """Return a shape as NumPy prints it, with `any` for open sizes."""
    inner = ", ".join("any" if size is None else str(size) for size in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def refuse_keywords(signature: Signature, unknown: Iterable[str]) -> NoReturn:
    """Raise the error for keywords that no kernel has."""
    raise ArityError(
        f"`{signature.name}` has no argument {', '.join(map(repr, unknown))}",
        where=caller_location(),
        expected=f"arrays in the order of {signature}, out= and threads=",
    )


PYTHON_NUMBERS = (bool, int, float, complex)

_ACCEPTED = {
    "bool": "b",
    "integer": "bui",
    "index": "bui",
    "float": "buif",
    "complex": "buifc",
}
_PYTHON_NAMES = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


def is_python_number(value: Any) -> bool:
    """Return whether this is one of Python's own numbers, which have no dtype."""
    return isinstance(value, PYTHON_NUMBERS) and not isinstance(value, np.generic)


def from_python(value: Any, element: ElementType, argument: Argument) -> Array:
    """Return a Python number, or a (nested) list of them, as an array of an element type.

    Raises:
        ShapeError: a ragged list.
        DTypeError: numbers that the element type cannot hold.
    """
    if isinstance(value, int) and not isinstance(value, bool) and element.kind != "bool":
        return _from_int(value, element, argument)
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError) as error:
        fault = f"is {kind_of(value)} that makes no array: {error}"
        raise argument.error(ShapeError, fault) from None
    if array.size == 0:
        return array.astype(element.dtype)
    kind = array.dtype.kind
    if kind not in _ACCEPTED[element.kind]:
        shown = f"a Python {_PYTHON_NAMES[kind]}" if kind in _PYTHON_NAMES else _other(array)
        raise argument.error(
            DTypeError,
            f"is {shown}" + (" in a list" if isinstance(value, list | tuple) else ""),
            expected=" or ".join(str(dtype) for dtype in element.dtypes),
            hint=f"convert it first, with numpy.asarray(value).astype({str(element.dtype)!r})",
        )
    if element.kind in ("integer", "index") and kind != "b":
        low, high = int(array.min()), int(array.max())
        return array.astype(_wide_enough(low, high, element, argument))
    with np.errstate(over="ignore"):
        return array.astype(element.dtype)


def as_array(value: Any, name: str) -> Array:
    """Return an array, a number or nested numbers as an array of an element type of MLIR's.

    Raises:
        DTypeError: the dtype has no element type.
        ArgumentError: a masked array, one on a device, or no array at all.
    """
    # The check loads numpy.ma, which takes longer than most calls.
    if type(value) is not np.ndarray:
        refuse_mask(value, name)
    if is_dask(value):
        raise ArgumentError(
            f"{name} is a dask array, and its elements are wanted here",
            where=caller_location(),
            hint="compute it first: x.compute()",
        )
    try:
        array = from_dlpack(value, name) if is_exported(value) else np.asarray(value)
    except LinalgExtError:
        raise
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{name} is {kind_of(value)}, which makes no array",
            where=caller_location(),
            notes=[str(error)],
        ) from None
    if not isinstance(value, np.ndarray) and array.dtype.kind in "OSU":
        raise DTypeError(
            f"{name} is {_shown(value)}",
            where=caller_location(),
            expected="an array of numbers",
            hint="pass the arrays that it holds"
            if hasattr(value, "__dict__")
            else "convert it with np.asarray(value, dtype)",
        )
    try:
        by_dtype(array.dtype)
    except DTypeError as error:
        raise DTypeError(
            f"{name}: {error.what}",
            where=caller_location(),
            expected=error.expected,
            hint=error.hint,
        ) from None
    return array


def refuse_mask(value: Any, name: str) -> None:
    """Raise an ArgumentError for a masked array."""
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            f"{name} is a masked array, and compiled code reads no mask",
            where=caller_location(),
            hint="fill it first: array.filled(value)",
        )


def of_buffer(value: Any) -> Array | None:
    """Return the memory of an object with the buffer protocol; None for other objects."""
    try:
        return np.asarray(memoryview(value))
    except (TypeError, ValueError):
        return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else kind_of(value)


def _from_int(value: int, element: ElementType, argument: Argument) -> Array:
    if element.kind in ("integer", "index"):
        return np.array(value, _wide_enough(value, value, element, argument))
    try:
        number = float(value)
    except OverflowError:
        number = float("inf") if value > 0 else float("-inf")
    with np.errstate(over="ignore"):
        return np.array(number).astype(element.dtype)


def _other(array: Array) -> str:
    return "other objects than numbers" if array.dtype.kind == "O" else f"{array.dtype} values"


def _wide_enough(low: int, high: int, element: ElementType, argument: Argument) -> DType:
    for dtype in element.dtypes:
        least, most = integer_range(dtype)
        if least <= low and high <= most:
            return dtype
    ranges = [
        f"{dtype} ({least} to {most})"
        for dtype in element.dtypes
        for least, most in [integer_range(dtype)]
    ]
    raise argument.error(
        DTypeError,
        f"is the integer {high}, beyond its element type"
        if low == high
        else f"has integers from {low} to {high}, beyond its element type",
        expected=" or ".join(ranges),
    )


_MAX_WORK: Any = 100_000  # NumPy's stub knows the two special values only


def share_memory(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    """Return whether two arrays share a byte. Two interleaved views share none.

    The exact answer can be hard to find; then the answer is yes.
    """
    if not np.may_share_memory(first, second):
        return False
    try:
        return np.shares_memory(first, second, max_work=_MAX_WORK)
    except np.exceptions.TooHardError:
        return True


def overlaps_itself(array: np.ndarray[Any, Any]) -> bool:
    """Return whether two elements may share a byte, as in a broadcast array or a sliding window."""
    if array.size == 0:
        return False
    reach = array.itemsize
    axes = sorted(
        (abs(stride), size)
        for stride, size in zip(array.strides, array.shape, strict=True)
        if size > 1
    )
    for stride, size in axes:
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False


class ScalarArgument(Argument):
    """A number: Python's, NumPy's, or an array of rank 0."""

    def __init__(self, parameter: Parameter, type_: ScalarType) -> None:
        super().__init__(str(parameter))
        self.element = type_.element

    def prepare(self, value: Any) -> Array:
        """Return an array of rank 0 and the right dtype.

        Raises:
            ShapeError: an array with axes.
            DTypeError: a number of another type.
            ArgumentError: not a number.
        """
        if isinstance(value, np.ndarray | np.generic):
            array = self._checked(value)
        elif isinstance(value, PYTHON_NUMBERS):
            array = from_python(value, self.element, self)
        elif hasattr(value, "__array__"):
            array = self._checked(np.asarray(value))
        elif hasattr(value, "__index__"):
            array = from_python(value.__index__(), self.element, self)
        else:
            raise self.error(ArgumentError, f"is {kind_of(value)}", expected="a number")
        return dtypes.to_machine(array, self.element) if self.element.is_sub_byte else array

    def write(self, frame: Frame, prepared: Array) -> None:
        """Write the number as it lies in memory."""
        raw = prepared.tobytes().ljust(SCALAR_WORDS * WORD, b"\0")
        for index in range(SCALAR_WORDS):
            word = raw[index * WORD : (index + 1) * WORD]
            frame[self.word + index] = int.from_bytes(word, "little", signed=True)

    def _checked(self, value: Any) -> Array:
        refuse_mask(value, self.name)
        array = np.asarray(value)
        if array.ndim:
            raise self.error(
                ShapeError,
                f"is an array of shape {array.shape}",
                expected="a number, or an array of rank 0",
                hint="pass one element: array[0], or array.item()" if array.size == 1 else None,
            )
        if array.dtype not in self.element.dtypes:
            self.refuse_dtype(array.dtype, self.element.dtypes, "value")
        return array


class ArrayArgument(Place):
    """An input that is a tensor, or a memref in row-major order.

    An array that does not lie in memory as the entry reads it is copied, unless the entry may
    write it: the caller would not see writes to a copy.
    """

    def __init__(self, parameter: Parameter, type_: ArrayType) -> None:
        super().__init__(str(parameter), type_, is_written=parameter.is_written)
        self.type: ArrayType = type_
        self.shape = type_.shape
        self.rank = len(type_.shape)
        self.is_plain = not type_.element.is_sub_byte and not type_.vector

    def lay_out(self, layout: FrameLayout, word: int) -> None:
        """Take `word` for the descriptor; the constant words of the type are written once."""
        super().lay_out(layout, word)
        if self.type.is_static:
            sizes = self.type.sizes[: self.type.rank]
            layout.preset(word + 2, (0, *sizes, *contiguous_strides(sizes)))

    def prepare(self, value: Any) -> Array:
        """Return the array to pass for `value`: itself, if possible.

        Raises:
            ShapeError: the rank or a dimension is wrong.
            DTypeError: the element type or the byte order is wrong.
            LayoutError: the array cannot be passed as it lies in memory, nor as a copy.
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
        """Return a row-major copy, aligned for the entry."""
        copy = aligned_empty(array.shape, array.dtype, self.alignment)
        np.copyto(copy, array)
        return copy

    def _as_array(self, value: Any) -> Array:
        refuse_mask(value, self.name)
        if isinstance(value, np.ndarray | np.generic):
            return np.asarray(value)
        if (buffer := of_buffer(value)) is not None:
            return buffer
        if self.is_written:
            raise self.error(
                ArgumentError,
                f"is {kind_of(value)}, and the entry may write this argument",
                expected="an array",
            )
        if isinstance(value, (*PYTHON_NUMBERS, list, tuple)):
            return from_python(value, self.type.element, self)
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            return np.asarray(value)
        raise self.error(
            ArgumentError,
            f"is {kind_of(value)}",
            expected="a NumPy array",
            hint="convert it with numpy.asarray(...)",
        )

    def _check_shape(self, array: Array) -> None:
        if array.ndim != self.rank:
            raise self.error(
                ShapeError,
                f"has rank {array.ndim}, shape {array.shape}",
                expected=f"rank {self.rank}, shape {shape_text(self.shape)}",
            )
        if not has_shape(array.shape, self.shape):
            raise self.error(
                ShapeError,
                f"has shape {array.shape}",
                expected=f"shape {shape_text(self.shape)}",
            )

    def _check_writable(self, array: Array) -> None:
        if not array.flags.writeable:
            raise self.error(
                LayoutError,
                "is a read-only array, and the entry may write it",
                hint="pass a writable copy: array.copy()",
            )
        if overlaps_itself(array):
            raise self.error(
                LayoutError,
                f"is an array whose elements overlap (strides {array.strides}), "
                "and the entry may write it",
                hint="pass a copy: array.copy()",
            )

    def _refuse_layout(self, array: Array) -> NoReturn:
        if not self.is_aligned(array):
            raise self.error(
                LayoutError,
                f"is an array whose data is not aligned to {self.alignment} bytes, "
                "and the entry may write it",
                hint="pass np.require(array, requirements='CA') and copy the result back"
                if not self.type.vector
                else "allocate it with room to spare and pass an aligned slice",
            )
        raise self.error(
            LayoutError,
            f"is an array with strides {array.strides}",
            expected=f"{self._layout_text()}" + ", for the entry may write it" * self.is_written,
            hint=self._layout_hint(),
        )

    def _layout_text(self) -> str:
        return "row-major order without gaps"

    def _layout_hint(self) -> str:
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
        """Return the descriptor of an array with the strides and offset of the type, or None."""
        inner = array.shape[self.type.rank :]
        dense = tuple(array.itemsize * stride for stride in contiguous_strides(inner))
        if array.strides[self.type.rank :] != dense:
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

    def _layout_hint(self) -> str:
        return f"copy it into an array that is laid out as {self.type} says"


def check_aliasing(written: Sequence[tuple[int, ArrayArgument]], values: Sequence[Any]) -> None:
    """Raise an AliasingError where an argument that is written shares memory with another.

    Written arguments come with their positions. Values other than arrays have memory of their own.
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


class ResultSlot(Place):
    """A result of the entry: the memory that it is written to, of its order and dtype."""

    def __init__(self, result: Result, *, is_only: bool) -> None:
        """Accept arrays for `result`; `is_only` if `out=` may be a single array."""
        name = "out" if is_only else f"out[{result.position}]"
        super().__init__(name, result.type, is_written=True)
        self.result = result
        self.position = result.position
        self.is_scalar = isinstance(result.type, ScalarType)
        self.vector = vector = result.type.vector
        self.rank = len(result.shape) - len(vector)
        # It is used only if every dimension is known.
        self.shape = result.type.sizes
        nbytes = result.dtype.itemsize * math.prod(self.shape)
        self._is_large = nbytes >= SMALLEST or bool(vector)

    def lay_out(self, layout: FrameLayout, word: int) -> None:
        """Take `word` for the descriptor; sizes and strides are written once."""
        super().lay_out(layout, word)
        sizes = self.shape[: self.rank]
        layout.preset(word + 2, (0, *sizes, *contiguous_strides(sizes)))

    def prepare(self, value: Array | None) -> Array:
        """Return the memory that native code writes: `value` itself if it is row-major."""
        if value is not None and self.is_row_major(value):
            return value
        if not self._is_large:
            return empty(self.shape, self.result.dtype)
        if not self.vector:
            return memory.empty(self.shape, self.result.dtype)
        return aligned_empty(self.shape, self.result.dtype, self.alignment)

    def write(self, frame: Frame, prepared: Array) -> None:
        """Write the address of the result."""
        frame[self.word] = frame[self.word + 1] = address_of(prepared)

    def check_out(self, out: Any) -> None:
        """Raise an ArgumentError for an `out` that does not fit the result; sizes may be open."""
        refuse_mask(out, self.name)
        if not isinstance(out, np.ndarray):
            raise self.error(ArgumentError, f"is {kind_of(out)}", expected="an array")
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
    """Return `out=` as an array or None for each result, checked.

    Raises:
        ArityError: the number of arrays is not that of results.
        AliasingError: an array shares memory with an input or with another.
        ArgumentError: as of `ResultSlot.check_out`.
    """
    several = isinstance(out, tuple) or (isinstance(out, list) and len(slots) != 1)
    outs = list(out) if several else [out]
    if len(outs) != len(slots):
        raise ArityError(
            f"out has {len(outs)} arrays",
            where=caller_location(),
            expected=f"{len(slots)}, one for each result (None lets one be allocated)",
        )
    written = [(slot, array) for slot, array in zip(slots, outs, strict=True) if array is not None]
    for position, (slot, array) in enumerate(written):
        slot.check_out(array)
        for index, value in enumerate(inputs):
            if isinstance(value, np.ndarray) and share_memory(array, value):
                raise slot.error(
                    AliasingError,
                    f"shares memory with argument {index}",
                    expected="memory that no input uses",
                    hint=f"pass {slot.name}=np.empty_like(...), or a copy of the argument",
                )
        for other_slot, earlier in written[:position]:
            if share_memory(array, earlier):
                raise slot.error(
                    AliasingError,
                    f"shares memory with {other_slot.name}",
                    expected="memory of its own for each result",
                )
    return outs


def aligned_empty(shape: tuple[int, ...], dtype: dtypes.DType, alignment: int) -> Array:
    """Return an array that starts at a multiple of `alignment` bytes."""
    nbytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    room = memory.empty((nbytes + alignment,), np.uint8)
    start = -address_of(room) % alignment
    array: Array = room[start : start + nbytes].view(dtype).reshape(shape)
    return array
